"""Atomic writing of files and folders, without overwriting; the only module that writes.

``tests/test_files.py`` reads the syntax tree of every other module and rejects any other way of writing.

**Atomicity.** Content is written to a scratch folder beside its target (``.softmachine.`` and eight random
characters), flushed to disk, and moved into place by one system call: a hard link where nothing may be replaced, a
rename otherwise. Libraries that write files themselves write into the scratch folder (:func:`atomic_file`,
:func:`atomic_folder`). A process that is killed leaves the old file or the complete new one, and possibly its scratch
folder.

**Existing folders** keep their inode, links to them and files that softmachine did not write, so replacing
softmachine's files in them takes several moves. The moves are listed in the scratch folder before the first one is
made. A list that belongs to no running process is rolled back (:func:`roll_back_interrupted`), as SQLite does with a
hot journal.

**Append-only files** (:class:`AppendOnlyFile`) do not use scratch folders: every line is flushed before the next one is
written. Data after the last line feed is an incomplete write; it is ignored, and overwritten by the next line.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path, PurePosixPath

from softmachine.support.errors import FixHint, UsageError

MANIFEST_FILE = "softmachine.json"
"""The file that identifies a folder written by softmachine: the first to be moved out, and the last to be moved in."""
MOVE_AWAY_HINT = "move it away, or choose another folder"
SCRATCH_PREFIX, _NEW, _OLD, _MOVES = ".softmachine.", "new", "old", "moves.json"
"""Prefix of scratch folders, and their contents: new files, old files, and the list of moves."""


def require_creatable(path: Path, *, force: bool | None = None) -> None:
    """Check, before the work starts, that a file can be created: the path is free and its folder exists.

    Args:
        path: The file.
        force: Whether an existing file may be replaced; None if the command has no such option.

    Raises:
        UsageError: If it cannot.
    """
    if os.path.lexists(path) and not (force and path.is_file()):  # dangling links count as existing
        hints = {None: "choose another name", True: "only files are replaced"}
        hint = FixHint("choose another name, or {} to replace it", force=True) if force is False else hints[force]
        raise UsageError(f"{path} exists already", hint=hint)
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}")


def write_file(
    path: Path, content: str | bytes | Iterable[str | bytes | memoryview], *, force: bool | None = None
) -> None:
    """Write a file: text in UTF-8, bytes, or parts of either.

    Args:
        path: The file.
        content: The content.
        force: Whether an existing file is replaced.

    Raises:
        UsageError: If the path exists, or the file cannot be written.
    """
    with atomic_file(path, force=force) as scratch, scratch.open("wb") as file:
        for part in (content,) if isinstance(content, str | bytes) else content:
            file.write(part.encode() if isinstance(part, str) else part)


def require_suffix(path: Path, *suffixes: str) -> None:
    """Require one of some suffixes, in lower or upper case.

    Raises:
        UsageError: If the path has none of them; the message names the first.
    """
    if path.suffix.lower() not in suffixes:
        raise UsageError(f"{path} should end in {suffixes[0]}")


@contextmanager
def atomic_file(path: Path, *, force: bool | None = None) -> Iterator[Path]:
    """A scratch path to write to; the file is moved to its target on exit, if the target is still free.

    Args:
        path: The target.
        force: Whether an existing file is replaced; of a link, the file that it refers to.

    Raises:
        UsageError: If the target exists, or the file cannot be written.
    """
    place = Path(os.path.realpath(path)) if force else path
    with convert_os_errors(path):
        require_creatable(path, force=force)
        with _scratch_folder(place.parent) as scratch:
            made = scratch / _NEW / path.name
            yield made
            _sync(made)
            require_creatable(path, force=force)
            try:
                made.replace(place) if force else place.hardlink_to(made)  # a hard link fails if the target exists
            except OSError as error:
                if force or isinstance(error, FileExistsError):
                    raise
                made.replace(place)  # file systems without hard links
            _sync(place.parent)


@contextmanager
def atomic_folder(folder: Path, owned_files: Callable[[], Iterable[str]] = tuple) -> Iterator[Path]:
    """An empty scratch folder to fill; its files are moved to the target on exit, or removed if an error occurs.

    Args:
        folder: The target; missing parents are created.
        owned_files: Called before files of an existing folder are replaced; returns those that may be removed, or
            raises.

    Raises:
        UsageError: If a file that may not be removed is in the way, or the folder cannot be written.
    """
    place = Path(os.path.realpath(folder))
    made = [parent for parent in place.parents if not parent.exists()]
    with convert_os_errors(folder):
        try:
            exists = place.is_dir()
            for parent in reversed(made):
                make_folder(parent)
            with _scratch_folder(place if exists else place.parent) as scratch:
                new = scratch / _NEW
                yield new
                for path in (*new.rglob("*"), new):
                    _sync(path)
                if exists:
                    _replace_files(folder, scratch, list(owned_files()))
                else:
                    new.rename(place)  # fails if the target is not an empty folder by now
                    _sync(place.parent)
            made.clear()
        finally:
            _remove_empty_folders(made)


temporary_folder = tempfile.TemporaryDirectory
"""A temporary folder, removed on exit."""


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Create a folder and its parents, unless it exists.

    Raises:
        UsageError: If that is not possible.
    """
    with convert_os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=mode)


def remove_file(path: Path) -> None:
    """Remove a file that softmachine wrote, if it exists."""
    path.unlink(missing_ok=True)


def roll_back_interrupted(folder: Path) -> None:
    """Roll back the replacement of files in a folder that was interrupted because its process was killed.

    Does nothing where the system cannot tell whether the process is still running.

    Raises:
        UsageError: If that is not possible; the message gives the path of the files.
    """
    if not os.path.isdir(folder):  # noqa: PTH112  unlike Path.is_dir, it takes any text for a path
        return
    with convert_os_errors(folder):
        for scratch in Path(os.path.realpath(folder)).glob(f"{SCRATCH_PREFIX}????????"):
            if not scratch.is_symlink() and os.access(scratch, os.X_OK) and (scratch / _NEW).is_dir():
                with suppress(FileNotFoundError), _open_descriptor(scratch) as handle:
                    if _lock(handle):
                        _roll_back(scratch)


class AppendOnlyFile:
    """An append-only file of lines.

    Args:
        path: The file.
        first: Its first line, if it does not exist.

    Raises:
        UsageError: If it cannot be written, or another process writes to it.
    """

    def __init__(self, path: Path, first: bytes) -> None:
        if not os.path.lexists(path):
            write_file(path, first)
        self.path = path
        with convert_os_errors(path):
            self._file = path.open("r+b", buffering=0)
        try:
            if _lock(self._file.fileno()) is False:
                raise UsageError(f"another process is writing {path}")
            self._end = sum(map(len, self.lines()))
        except BaseException:
            self._file.close()
            raise

    def lines(self) -> Iterator[bytes]:
        """The complete lines, each with its line feed; an incomplete last line is ignored."""
        with convert_os_errors(self.path), self.path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    return
                yield line

    def append(self, line: bytes) -> None:
        """Append a line that ends in a line feed, after the last complete line; on return, it is on disk.

        Raises:
            UsageError: If it cannot be written; then it is missing from the file, or incomplete.
        """
        with convert_os_errors(self.path):
            handle, left = self._file.fileno(), memoryview(line)
            os.ftruncate(handle, self._end)
            os.lseek(handle, self._end, os.SEEK_SET)
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        self._end += len(line)

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()


@contextmanager
def convert_os_errors(path: Path) -> Iterator[None]:
    """Convert `OSError` to `UsageError`; errors in a scratch folder are reported for its target."""
    try:
        yield
    except OSError as error:
        if any(part.startswith(SCRATCH_PREFIX) and len(part) == len(SCRATCH_PREFIX) + 8 for part in path.parts):
            raise
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def _scratch_folder(parent: Path) -> Iterator[Path]:
    """A locked scratch folder with an empty folder ``new`` in it; it is removed on exit."""
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=parent))
    with _open_descriptor(scratch) as handle:
        _lock(handle)
        try:
            (scratch / _NEW).mkdir()
            yield scratch
        finally:
            _roll_back(scratch)


@contextmanager
def _open_descriptor(path: Path) -> Iterator[int]:
    """The descriptor of a file or folder; Windows has no descriptors of folders."""
    folder = path.is_dir()
    handle = os.open(os.devnull if folder and os.name == "nt" else path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Whether the lock of a file was acquired; None where the system or the file system has no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def _sync(path: Path) -> None:
    """Flush a file or the entries of a folder to disk; not every system supports the latter."""
    with suppress(OSError) if path.is_dir() else nullcontext(), _open_descriptor(path) as handle:
        os.fsync(handle)


def _replace_files(folder: Path, scratch: Path, own: list[str]) -> None:
    """Move softmachine's files out of a folder, and the new ones in.

    Raises:
        UsageError: If another file is in the way.
    """
    place = scratch.parent
    gone = sorted(own, key=lambda name: not name.endswith(MANIFEST_FILE))
    come = sorted(_list_files(scratch / _NEW), key=lambda name: name.endswith(MANIFEST_FILE))
    _require_unobstructed(folder, come, gone)
    missing = sorted({str(part) for part in _parent_folders(come) if not (place / part).is_dir()}, reverse=True)
    write_file(scratch / _MOVES, json.dumps([gone, come, missing]))
    _sync(place)
    moves = _plan_moves(scratch, gone, come, missing)
    for source, target in moves:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)
    _commit(scratch, moves)
    _remove_empty_folders(place / part for part in sorted(_parent_folders(gone), reverse=True))


def _roll_back(scratch: Path) -> None:
    """Remove a scratch folder, after undoing the moves that it lists, each of which may or may not have happened.

    Raises:
        UsageError: If a previous file cannot be moved back.
    """
    place, listed = scratch.parent, scratch / _MOVES
    if listed.exists():
        try:
            gone, come, missing = json.loads(listed.read_bytes())
            moves = _plan_moves(scratch, gone, come, missing)
        except (ValueError, TypeError) as error:
            raise UsageError(f"{listed} is damaged: {error}", hint=MOVE_AWAY_HINT) from None
        for part in (moves[len(gone) :], moves[: len(gone)]):
            for source, target in reversed(part):
                if os.path.lexists(target) and not os.path.lexists(source):
                    target.replace(source)
            _remove_empty_folders(place / name for name in missing)
        if (scratch / _OLD).exists() and _list_files(scratch / _OLD):
            raise UsageError(f"cannot write {place}", hint=f"the previous files are in {scratch / _OLD}")
        _commit(scratch, moves)
    shutil.rmtree(scratch, ignore_errors=True)


def _plan_moves(scratch: Path, gone: list[str], come: list[str], missing: list[str]) -> list[tuple[Path, Path]]:
    """The moves (source, target), after the missing folders are created.

    Raises:
        ValueError: If a path is outside the folder, so that a forged list cannot move files elsewhere.
    """
    place, new, old = scratch.parent, scratch / _NEW, scratch / _OLD
    moves = [(place / name, old / name) for name in gone] + [(new / name, place / name) for name in come]
    for path in (*(path for move in moves for path in move), *(place / name for name in missing)):
        if not path.is_relative_to(place) or os.path.realpath(path.parent) != str(path.parent):
            raise ValueError(f"{path} is not in {place}")
    return moves


def _commit(scratch: Path, moves: Iterable[tuple[Path, Path]]) -> None:
    """Commit the moves: flush them to disk, then remove their list."""
    for parent in {path.parent for move in moves for path in move if path.parent.is_dir()}:
        _sync(parent)
    (scratch / _MOVES).unlink()
    _sync(scratch)


def _list_files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()]


def _parent_folders(names: Iterable[str]) -> set[PurePosixPath]:
    """The parent folders of files, without the root."""
    return {part for name in names for part in PurePosixPath(name).parents[:-1]}


def _require_unobstructed(folder: Path, come: Iterable[str], gone: Collection[str]) -> None:
    """Check that no file that softmachine did not write is in the way of the new files."""
    for name in map(PurePosixPath, come):
        for part in (*name.parents[:-1], name):
            blocked = part == name or (folder / part).is_symlink() or not (folder / part).is_dir()
            if blocked and os.path.lexists(folder / part) and str(part) not in gone:
                raise UsageError(
                    f"{folder / part} was not written by softmachine, and is in the way", hint=MOVE_AWAY_HINT
                )


def _remove_empty_folders(folders: Iterable[Path]) -> None:
    """Remove the folders that are empty; the deepest come first."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
