"""The only module that writes: files and folders are complete or absent, and nothing else changes, after any failure.

It is killed at each of its calls of the system, each of them fails, the disk is full; and the syntax tree of every
other module is searched for other ways of writing.
"""

from __future__ import annotations

import ast
import errno
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import pytest

import softmachine
from softmachine.exports.folder import new_folder
from softmachine.exports.manifest import write_manifest
from softmachine.support import files
from softmachine.support.errors import UsageError
from softmachine.support.files import AppendOnlyFile, atomic_file, roll_back_interrupted, write_file

SOURCES = Path(softmachine.__file__).parent
SCRATCH = re.compile(r"\.softmachine\.\w{8}")


def write_late(path: Path) -> None:
    """Write a file after someone else has written one."""
    with atomic_file(path) as scratch:
        scratch.write_text("new")
        path.write_text("mine")


def write_half(path: Path) -> None:
    with atomic_file(path) as scratch:
        scratch.write_text("half")
        raise ZeroDivisionError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole_as_any_new_file_would(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    write_file(tmp_path / "file.txt", "new\n")
    assert (tmp_path / "file.txt").read_bytes() == b"new\n"
    assert names(tmp_path) == ["file.txt", "other"]
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file.txt", "other")}
    assert len(modes) == 1


def test_content_is_text_bytes_or_parts(tmp_path: Path) -> None:
    parts: list[str | bytes | memoryview] = ["n", b"\xc3", memoryview(b"\xa9")]
    contents: list[str | bytes | list[str | bytes | memoryview]] = ["né", b"n\xc3\xa9", parts]
    for number, content in enumerate(contents):
        write_file(tmp_path / str(number), content)
        assert (tmp_path / str(number)).read_text(encoding="utf-8") == "né"


def test_nothing_that_is_there_is_overwritten_not_even_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "folder", "link"):
        with pytest.raises(UsageError, match="exists already"):
            write_file(tmp_path / name, "new")
    assert names(tmp_path) == ["file", "folder", "link"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(UsageError, match=r"exists|denied|permitted"):
        write_late(tmp_path / "file")
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "mine"
    write_file(tmp_path / "another", "new")
    assert (tmp_path / "another").read_text() == "new"


def test_a_file_that_appears_at_the_last_moment_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "file", os.link

    def late(source: Path, target: Path) -> None:
        path.write_text("mine")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(UsageError, match="File exists"):
        write_file(path, "new")
    assert path.read_text() == "mine"
    assert names(tmp_path) == ["file"]


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write_half(tmp_path / "file")
    with pytest.raises(UsageError, match="No space left"), atomic_file(tmp_path / "file"):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(UsageError, match="there is no folder"):
        write_file(tmp_path / "nowhere" / "file", "new")
    assert names(tmp_path) == []


def test_a_file_and_nothing_else_is_replaced_by_force(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="--force to replace it"):
        write_file(tmp_path / "file", "new", force=False)
    with pytest.raises(UsageError, match="only files are replaced"):
        write_file(tmp_path / "folder", "new", force=True)
    assert (tmp_path / "file").read_text() == "mine"
    write_file(tmp_path / "file", "new", force=True)
    assert (tmp_path / "file").read_text() == "new"
    assert names(tmp_path) == ["file", "folder"]


def test_of_a_link_the_file_is_replaced_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_text("old")
    (tmp_path / "link").symlink_to("deep/file")
    write_file(tmp_path / "link", "new", force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "deep" / "file").read_text() == "new"
    assert names(tmp_path / "deep") == ["file"]


def test_an_error_inside_of_a_scratch_folder_is_reported_for_its_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError) as refused, files.atomic_folder(tmp_path / "model") as new:
        write_file(new / "file", "new")
    assert refused.value.message == f"cannot write {tmp_path / 'model'}: No space left on device"


# -- killed, failing, full ---------------------------------------------------------------------------------------------

CALLS = (
    "mkdir",
    "open",
    "close",
    "fsync",
    "link",
    "replace",
    "rename",
    "unlink",
    "rmdir",
    "ftruncate",
    "lseek",
    "write",
)
"""The calls of the system; ``io.open`` and ``fcntl.flock`` come on top."""
OLD, NEW = {"a.bin": "old", "deep/b.bin": "old"}, {"a.bin": "new", "other/c.bin": "new"}
THEIRS = {"thesis.tex": "mine", "deep/photo.png": "mine"}
BIG = "new" * 100_000


def fill(folder: Path, contents: dict[str, str]) -> None:
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def everything(folder: Path) -> dict[str, str]:
    """All files, without those of scratch folders."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_text() for name, path in paths.items() if not SCRATCH.search(name)}


def replace_folder(folder: Path) -> None:
    with new_folder(folder, force=True) as new:
        fill(new, NEW)
        write_manifest(new, {"format": "softmachine-map", "version": 2, "of": "new"})


class Case:
    """A write over existing content: the states allowed afterwards, besides the previous one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        fill(folder, {"thesis.tex": "mine"})
        self.prepare()
        self.before = everything(folder)

    def prepare(self) -> None:
        """Write what is replaced."""

    def write(self) -> None:
        raise NotImplementedError

    def restored(self) -> dict[str, str]:
        """The state that the next process finds."""
        return everything(self.folder)


class NewFile(Case):
    def write(self) -> None:
        write_file(self.folder / "file", BIG)


class ReplacedFile(Case):
    def prepare(self) -> None:
        fill(self.folder, {"file": "old"})

    def write(self) -> None:
        write_file(self.folder / "file", BIG, force=True)


class NewFolder(Case):
    def write(self) -> None:
        replace_folder(self.folder / "deep" / "model")


class EmptyFolder(Case):
    def prepare(self) -> None:
        (self.folder / "model").mkdir()

    def write(self) -> None:
        replace_folder(self.folder / "model")

    def restored(self) -> dict[str, str]:
        roll_back_interrupted(self.folder / "model")
        return everything(self.folder)


class ReplacedFolder(EmptyFolder):
    def prepare(self) -> None:
        fill(self.folder / "model", OLD)
        write_manifest(self.folder / "model", {"format": "softmachine-map", "version": 2, "of": "old"})
        fill(self.folder / "model", THEIRS)


class AppendedLine(Case):
    def prepare(self) -> None:
        AppendOnlyFile(self.folder / "log", b"first\n").close()

    def write(self) -> None:
        with closing(AppendOnlyFile(self.folder / "log", b"another\n")) as log:
            assert list(log.lines()) == [b"first\n"]
            log.append(b"second\n")

    def restored(self) -> dict[str, str]:
        with closing(AppendOnlyFile(self.folder / "log", b"another\n")) as log:
            return everything(self.folder) | {"log": b"".join(log.lines()).decode()}


class NewLog(AppendedLine):
    def prepare(self) -> None:
        """There is none."""

    def write(self) -> None:
        AppendOnlyFile(self.folder / "log", b"first\n").close()

    def restored(self) -> dict[str, str]:
        return everything(self.folder)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where the system has one: hundreds of files that are flushed to disk take minutes."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


CASES = [NewFile, ReplacedFile, NewFolder, EmptyFolder, ReplacedFolder, AppendedLine, NewLog]


def counting(
    patch: Callable[[object, str, Any], None], at: Callable[[int], None], calls: tuple[str, ...] = CALLS
) -> None:
    """Run a function before each system call, with its number, counted from 1."""
    import fcntl

    numbers = count(1)

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            at(next(numbers))
            return call(*arguments, **options)

        return counting

    for module, name in [*((os, name) for name in calls), (io, "open"), (fcntl, "flock")]:
        patch(module, name, counted(getattr(module, name)))


def killed(case: Case, number: int) -> bool:
    """Whether the process was killed at the system call of this number; otherwise it succeeded."""

    def kill(at: int) -> None:
        if at == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> NoReturn:
        try:
            counting(setattr, kill)
            case.write()
            os._exit(0)
        finally:
            os._exit(1)

    child = os.fork()
    if not child:
        work()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status != 0


def after(kind: type[Case], folder: Path) -> dict[str, str]:
    """The state after success."""
    case = kind(folder)
    case.write()
    assert not [path for path in folder.rglob("*") if SCRATCH.fullmatch(path.name)]
    assert everything(folder) != case.before
    return everything(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed by forking")
@pytest.mark.parametrize("kind", CASES)
def test_a_process_that_is_killed_at_any_call_leaves_the_old_or_the_new(kind: type[Case], memory: Path) -> None:
    whole, found = after(kind, memory / "whole"), set()
    for number in count(1):
        case = kind(memory / str(number))
        if not killed(case, number):
            break
        left = case.restored()
        assert left in (case.before, whole), number
        found.add(left == whole)
        if left == case.before:  # the next process is not in the way of itself
            case.write()
            assert everything(case.folder) == whole, number
    assert number > 5
    assert found == {False, True}


def succeeds(case: Case) -> bool:
    try:
        case.write()
    except UsageError:
        return False
    return True


@pytest.mark.parametrize("forever", [False, True])
@pytest.mark.parametrize("kind", CASES)
def test_a_call_that_fails_leaves_the_old_or_the_new(
    kind: type[Case], memory: Path, monkeypatch: pytest.MonkeyPatch, forever: bool
) -> None:
    """Once, or from then on: while the disk fails, scratch folders cannot be removed."""
    whole, failures = after(kind, memory / "whole"), 0
    for number in count(1):
        case, made = kind(memory / str(number)), 0

        def fail(at: int, number: int = number) -> None:
            nonlocal made
            made = at
            if at == number or (forever and at > number):
                raise OSError(errno.EIO, "Input/output error")

        with monkeypatch.context() as patch:
            counting(patch.setattr, fail, tuple(name for name in CALLS if name != "close"))  # it closes all the same
            failures += not succeeds(case)
        if made < number:
            break
        assert case.restored() in (case.before, whole), number
    assert failures > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits are set for a process of its own")
@pytest.mark.parametrize("kind", [NewFile, ReplacedFile, ReplacedFolder])
def test_a_file_that_does_not_fit_leaves_the_old(kind: type[Case], tmp_path: Path, monkeypatch: Any) -> None:
    import resource

    monkeypatch.setitem(NEW, "a.bin", BIG)
    case = kind(tmp_path)
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        with suppress(UsageError):
            case.write()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert everything(tmp_path) == case.before
    assert not [path for path in tmp_path.rglob("*") if SCRATCH.fullmatch(path.name)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting needs the rights of root")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("kind", [NewFile, ReplacedFile, ReplacedFolder])
def test_a_full_disk_leaves_the_old(kind: type[Case], small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEW, "a.bin", BIG)
    case = kind(small_disk)
    with pytest.raises(UsageError, match=r"cannot write .*: No space left on device"):
        case.write()
    assert everything(small_disk) == case.before
    assert not [path for path in small_disk.rglob("*") if SCRATCH.fullmatch(path.name)]


def test_a_line_that_does_not_fit_on_the_disk_is_torn_and_ignored(small_disk: Path) -> None:
    log = AppendOnlyFile(small_disk / "log", b"first\n")
    assert list(log.lines()) == [b"first\n"]
    with pytest.raises(UsageError, match="No space left on device"):
        log.append(BIG.encode() + b"\n")
    assert (small_disk / "log").stat().st_size > 10_000
    assert list(log.lines()) == [b"first\n"]
    log.append(b"second\n")
    log.close()
    assert (small_disk / "log").read_bytes() == b"first\nsecond\n"


@pytest.mark.parametrize("kind", CASES)
def test_what_is_moved_into_place_is_on_disk_before(
    kind: type[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash of the system must not leave the name of a new file without its content."""
    case, flushed, moved = kind(tmp_path), set(), []
    calls = {name: getattr(os, name) for name in ("fsync", "link", "replace", "rename")}

    def fsync(handle: int) -> None:
        flushed.add(os.fstat(handle).st_ino)
        calls["fsync"](handle)

    def moving(name: str) -> Callable[..., None]:
        def move(source: Path, target: Path) -> None:
            moved.append((source, source.stat().st_ino in flushed))
            calls[name](source, target)

        return move

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        for name in ("link", "replace", "rename"):
            patch.setattr(os, name, moving(name))
        case.write()
    assert not [source for source, known in moved if "new" in source.parts and not known]
    assert flushed >= {
        path.stat().st_ino for path in tmp_path.rglob("*") if path.is_file() and path.name in ("file", "log")
    }
    assert moved or kind is AppendedLine


def test_a_file_of_ours_may_become_a_folder_and_is_back_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, {"one": "old"})
    replace, calls = Path.replace, count(1)

    def failing(self: Path, target: Path) -> Path:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(KeyboardInterrupt), files.atomic_folder(tmp_path, lambda: ["one"]) as new:
        fill(new, {"one/x": "new", "two/y": "new"})
    assert everything(tmp_path) == {"one": "old"}
    assert names(tmp_path) == ["one"]


def scratch_folder(folder: Path, moves: object) -> Path:
    scratch = folder / ".softmachine.abcdefgh"
    fill(scratch, {"new/a.bin": "new", "old/a.bin": "old", "moves.json": json.dumps(moves)})
    return scratch


def test_a_folder_that_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    import fcntl

    scratch = scratch_folder(tmp_path, [["a.bin"], ["a.bin"], []])
    handle = os.open(scratch, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    roll_back_interrupted(tmp_path)
    assert everything(tmp_path) == {}
    os.close(handle)
    roll_back_interrupted(tmp_path)
    assert everything(tmp_path) == {"a.bin": "old"}
    assert names(tmp_path) == ["a.bin"]


@pytest.mark.parametrize(
    "moves",
    [
        [["../secret"], [], []],
        [[], ["../secret"], []],
        [["/etc/hostname"], [], []],
        [["link/secret"], [], []],
        [[], [], ["../empty"]],
        [[1], [], []],
        {"a": 1},
        7,
    ],
)
def test_a_list_of_moves_that_somebody_else_wrote_moves_nothing_elsewhere(tmp_path: Path, moves: object) -> None:
    (tmp_path / "empty").mkdir()
    fill(tmp_path, {"secret": "mine", "other/secret": "mine"})
    scratch = scratch_folder(tmp_path / "model", moves)
    fill(scratch, {"old/link/secret": "theirs", "old/secret": "theirs"})
    (tmp_path / "model" / "link").symlink_to(tmp_path / "other")
    with pytest.raises(UsageError, match="is damaged"):
        roll_back_interrupted(tmp_path / "model")
    assert (tmp_path / "secret").read_text() == (tmp_path / "other" / "secret").read_text() == "mine"
    assert (tmp_path / "empty").is_dir()


def test_a_file_that_cannot_be_moved_back_is_kept(tmp_path: Path) -> None:
    scratch = scratch_folder(tmp_path, [["a.bin"], [], []])
    fill(tmp_path, {"a.bin": "mine"})
    with pytest.raises(UsageError, match="the previous files are in"):
        roll_back_interrupted(tmp_path)
    assert (tmp_path / "a.bin").read_text() == "mine"
    assert (scratch / "old" / "a.bin").read_text() == "old"


# -- no other way of writing -------------------------------------------------------------------------------------------

METHODS = {
    "write_text",
    "write_bytes",
    "touch",
    "mkdir",
    "rmdir",
    "unlink",
    "symlink_to",
    "hardlink_to",
    "lchmod",
    "chmod",
    "tofile",
    "to_file",
    "savefig",
    "imsave",
    "save_file",
    "save_model",
    "save_pretrained",
    "savez",
    "savez_compressed",
    "savetxt",
    "to_parquet",
    "to_pickle",
    "to_hdf",
    "to_excel",
    "write_table",
    "write_dataset",
    "write_image",
    "write_html",
    "extractall",
    "write_header_to_file",
    "write_kv_data_to_file",
    "write_tensors_to_file",
}
"""What writes whatever it is a method of."""
MAKERS = {
    "ParquetWriter",
    "GGUFWriter",
    "FileHandler",
    "RotatingFileHandler",
    "memmap",
    "open_memmap",
    "ZipFile",
    "TarFile",
    "FileIO",
    "SummaryWriter",
}
"""What opens files to write to."""
FUNCTIONS = {
    "numpy.save",
    "torch.save",
    "torch.onnx.export",
    "onnx.save",
    "onnx.save_model",
    "json.dump",
    "pickle.dump",
    "marshal.dump",
    "yaml.dump",
    "plistlib.dump",
    "joblib.dump",
    "matplotlib.pyplot.savefig",
}
MODULES = {"tempfile": "", "shutil": "which get_terminal_size disk_usage", "sqlite3": "", "shelve": "", "dbm": ""}
"""Modules that write, and what of them does not."""
SYSTEM = {
    "replace",
    "rename",
    "renames",
    "link",
    "symlink",
    "remove",
    "unlink",
    "rmdir",
    "removedirs",
    "mkdir",
    "makedirs",
    "open",
    "fdopen",
    "write",
    "pwrite",
    "writev",
    "truncate",
    "ftruncate",
    "mkfifo",
    "mknod",
    "chmod",
    "chown",
    "utime",
    "fsync",
    "fdatasync",
    "sendfile",
    "copy_file_range",
}
"""Functions of ``os`` that write."""
ALLOWED = Counter(
    {
        # Libraries that write themselves: into a scratch folder of files.py, as is tested below.
        ("exports/hf_checkpoint.py", "save_pretrained"): 3,
        ("exports/gguf.py", "GGUFWriter"): 1,
        ("exports/gguf.py", "write_header_to_file"): 1,
        ("exports/gguf.py", "write_kv_data_to_file"): 1,
        ("exports/gguf.py", "write_tensors_to_file"): 1,
        ("studies/datasets/writers.py", "ParquetWriter"): 1,
        ("studies/datasets/writers.py", "write_table"): 1,
        ("support/figures.py", "savefig"): 1,
        # numba has a cache of its own: each file is written in one piece, and a damaged one is compiled anew.
        ("engines/fast/code_cache.py", "cache=True"): 1,
        ("support/jit.py", "cache=True"): 1,
        # Standard streams that are closed go to the null device.
        ("cli/errors.py", "open"): 1,
        ("cli/errors.py", "os.open"): 1,
    }
)


def dotted(node: ast.expr, imported: dict[str, str]) -> str:
    """The qualified name of a function or class, as far as it follows from the syntax."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, imported)}.{node.attr}"
    return imported.get(node.id, node.id) if isinstance(node, ast.Name) else "?"


def writes(text: str) -> Iterator[str]:
    """The ways of writing files that a module uses."""
    tree, imported = ast.parse(text), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imported[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for name in imported.values():
        module, _, item = name.partition(".")
        if module in MODULES and item and item not in MODULES[module].split():
            yield name
        if module == "os" and item in SYSTEM:
            yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):  # also where it is not called: a function may be passed on
            name = dotted(node, imported)
            module, _, item = name.partition(".")
            outside = module in MODULES and item not in MODULES[module].split()
            if outside or (module == "os" and item in SYSTEM) or name in FUNCTIONS:
                yield name
        if isinstance(node, ast.Call):
            yield from written_by(node, imported)


def written_by(call: ast.Call, imported: dict[str, str]) -> Iterator[str]:
    """The way of writing that a call is."""
    name, simple = dotted(call.func, imported), isinstance(call.func, ast.Name)
    last = name.rpartition(".")[2]
    if (last in METHODS and "." in name) or last in MAKERS or (simple and name in FUNCTIONS):
        yield last
    elif last in ("replace", "rename") and not simple and len(call.args) == 1 and not call.keywords:
        yield last  # of paths: that of texts has two arguments
    elif last == "open" and not name.startswith("os.") and opens_to_write(call):
        yield last
    if any(option.arg == "cache" and ast.unparse(option.value) == "True" for option in call.keywords):
        yield "cache=True"


def opens_to_write(call: ast.Call) -> bool:
    """Whether a mode is given that lets one write, or might."""
    method = isinstance(call.func, ast.Attribute)
    modes = [option.value for option in call.keywords if option.arg == "mode"]
    for place in (0, 1) if method else (1,):
        modes += call.args[place : place + 1]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    unknown = len(texts) < len(modes) and not any(re.fullmatch("r[bt]?", text) for text in texts)
    return unknown or any(re.fullmatch(r"[rwaxbtU+]+", text) and re.search("[wax+]", text) for text in texts)


def test_no_other_module_writes() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name != "support/files.py":
            found.update((name, way) for way in writes(path.read_text(encoding="utf-8")))
    assert found == ALLOWED


@pytest.mark.parametrize(
    "text",
    [
        "open(p, 'w')",
        "open(p, mode='ab')",
        "open(p, mode)",
        "p.open('x')",
        "p.open('r+b')",
        "p.open(mode=m)",
        "import gzip\ngzip.open(p, 'wb')",
        "import io\nio.open(p, 'w')",
        "p.write_text(t)",
        "p.write_bytes(t)",
        "Path(p).touch()",
        "p.replace(q)",
        "p.rename(q)",
        "p.unlink()",
        "p.mkdir()",
        "import os\nos.replace(p, q)",
        "import os\nmove = os.rename",
        "from os import replace\nreplace(p, q)",
        "import os\nos.open(p, flags)",
        "import os as system\nsystem.makedirs(p)",
        "import shutil\nshutil.copy(p, q)",
        "from shutil import move",
        "def f():\n    import tempfile\n    tempfile.mkdtemp()",
        "from tempfile import TemporaryDirectory",
        "import numpy as np\nnp.save(p, a)",
        "import numpy as np\nnp.savez(p, a)",
        "import numpy as np\nnp.memmap(p)",
        "a.tofile(p)",
        "from safetensors.numpy import save_file\nsave_file(t, p)",
        "from numpy import save\nsave(p, a)",
        "import torch\ntorch.save(t, p)",
        "import torch\ntorch.onnx.export(m, p)",
        "import onnx\nonnx.save(m, p)",
        "import json\njson.dump(x, f)",
        "from json import dump\ndump(x, f)",
        "figure.savefig(p)",
        "model.save_pretrained(p)",
        "import pyarrow.parquet as pq\npq.ParquetWriter(p, s)",
        "import pyarrow.parquet as pq\npq.write_table(t, p)",
        "import zipfile\nzipfile.ZipFile(p, 'w')",
        "import logging\nlogging.FileHandler(p)",
        "numba.njit(cache=True)(f)",
    ],
)
def test_every_way_of_writing_is_found(text: str) -> None:
    assert list(writes(text))


@pytest.mark.parametrize(
    "text",
    [
        "open(p)",
        "open(p, 'rb')",
        "p.open('rb')",
        "p.open(encoding='utf-8')",
        "crew.open()",
        "text.replace('a', 'b')",
        "from dataclasses import replace\nreplace(model, weights=w)",
        "from softmachine.support.files import write_file\nwrite(p, t)",
        "from safetensors.numpy import save\nsave(t)",
        "import shutil\nshutil.which('cc')",
        "import os\nos.path.join(p, q)",
        "json.dumps(x)",
    ],
)
def test_reading_is_not_writing(text: str) -> None:
    assert not list(writes(text))


WITNESS = """
import os, sys
opened = []
def witness(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        if arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            opened.append(os.path.realpath(os.fsdecode(arguments[0])))
import softmachine as sm
from pathlib import Path
here = Path(sys.argv[1])
sys.addaudithook(witness)
model = sm.compile("flip-flop-formula")
{actions}
print(*opened, sep="\\n")
"""
ACTIONS = {
    "save": "sm.save(model, here / 'model'); sm.save(model, here / 'model', force=True)",
    "onnx": "sm.export(model, here / 'onnx', to='onnx', context=16)",
    "gguf": "sm.export('parity', here / 'gguf', to='gguf', context=32)",
    "gpt2": "sm.export('parity', here / 'gpt2', to='gpt2', context=32)",
    "dataset": "for name in ('d.jsonl', 'd.csv', 'd.parquet'): sm.dataset('parity', up_to=3).save(here / name)",
    "page": "sm.page(sm.run('parity', '01'), here / 'page.html')",
    "figure": "from softmachine.support.figures import open_figure\nwith open_figure(here / 'f.png', 2, 2): pass",
}


@pytest.mark.parametrize("action", ACTIONS)
def test_whatever_a_library_writes_is_in_a_scratch_folder(action: str, tmp_path: Path) -> None:
    """Python's audit events show that no other module opens files for writing, except caches and the null device."""
    for needed in {"onnx": ["onnx", "onnxruntime"], "gguf": ["torch", "gguf"], "gpt2": ["torch", "transformers"],
                   "dataset": ["pyarrow"], "figure": ["matplotlib"]}.get(action, []):  # fmt: skip
        pytest.importorskip(needed)
    (tmp_path / "here").mkdir()
    elsewhere = {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "MPLCONFIGDIR": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    called = subprocess.run(
        [sys.executable, "-c", WITNESS.format(actions=ACTIONS[action]), str(tmp_path / "here")],
        capture_output=True, text=True, check=False, env={**os.environ, **elsewhere},
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    opened = [Path(line) for line in called.stdout.splitlines() if line.startswith(str(tmp_path / "here"))]
    assert opened or action == "dataset"
    outside = [path for path in opened if not any(SCRATCH.fullmatch(part) for part in path.parts)]
    assert not outside
    assert [path for path in (tmp_path / "here").rglob("*") if path.is_file()]


def test_a_line_is_appended_after_the_last_whole_one_whether_or_not_the_lines_were_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\nsecond\ntorn")
    log = files.AppendOnlyFile(path, b"first\n")
    log.append(b"third\n")
    assert next(iter(log.lines())) == b"first\n"
    log.append(b"fourth\n")
    log.close()
    assert path.read_bytes() == b"first\nsecond\nthird\nfourth\n"
