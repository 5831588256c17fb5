"""On-disk cache of compiled code: the second start of a model needs no compilation.

The folder is private to the user (``~/.cache/softmachine``, or below ``XDG_CACHE_HOME``). A file is named by a hash of
its text and of everything it is compiled with, is written atomically, and its text is compared before use. If the
folder cannot be created, or is writable by others, the code is compiled in memory.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from softmachine.support.errors import UsageError
from softmachine.support.files import make_folder, remove_file, write_file

CACHE_FOLDER_NAME = "softmachine"
KERNEL_SOURCES = ("store.py", "status.py", "codegen/tail.py", "indexes/*.py", "tables/*.py")
"""The source files that compiled code depends on: this module, and the modules generated code calls."""
RECURSION_LIMIT = 20_000
"""Recursion limit during compilation."""


def compile_code(text: str) -> Callable[..., None]:
    """The function ``advance`` of a module's text, as machine code."""
    import numba

    path = _write_source(text)

    def anew() -> Callable[..., None]:
        return numba.njit(nogil=True)(_define(text, "<softmachine>"))  # type: ignore[no-any-return]

    if path:
        with suppress(RuntimeError):  # numba finds no folder for its files
            return _CompiledFunction(numba.njit(cache=True, nogil=True)(_define(text, str(path))), path, anew)
    return _CompiledFunction(anew(), None, anew)


def is_compiled(text: str) -> bool:
    """Whether the machine code of a text is on disk."""
    folder = cache_folder()
    return folder is not None and any(_machine_code(folder, f"{_file_stem(text)}.advance-*.nbi"))


def _machine_code(folder: Path, pattern: str) -> Iterator[Path]:
    """The files in which numba caches generated code: next to it, or below ``NUMBA_CACHE_DIR`` if that is set."""
    from numba.core import config

    yield from (folder / "__pycache__").glob(pattern)
    if config.CACHE_DIR:
        yield from Path(config.CACHE_DIR).glob(f"*/{pattern}")


class _CompiledFunction:
    """Machine code, compiled at the first call; recompiled in memory if the files on disk are damaged.

    Args:
        function: The numba dispatcher, with cache files if it has any.
        path: The file of the generated text; numba's files are named after it.
        again: Creates a dispatcher without cache files.
    """

    def __init__(
        self, function: Callable[..., None], path: Path | None, again: Callable[[], Callable[..., None]]
    ) -> None:
        self._function, self._path, self._again = function, path, again
        self._works = False

    def __call__(self, *arguments: object) -> None:
        if self._works:
            self._function(*arguments)
            return
        with _compiler_settings():
            try:
                self._function(*arguments)  # compiled code raises nothing itself: an error comes from loading
            except MemoryError:
                raise
            except Exception:
                if self._path is None:
                    raise
                with suppress(OSError):
                    for file in _machine_code(self._path.parent, f"{self._path.stem}.*"):
                        remove_file(file)
                self._function = self._again()
                self._function(*arguments)
        self._works = True


@contextmanager
def _compiler_settings() -> Iterator[None]:
    """Raise the recursion limit, which numba needs for long functions, and disable loop vectorisation.

    Most loops have few iterations, for which the vector prologue costs more than the loop.
    """
    from numba.core import config

    before = sys.getrecursionlimit(), config.LOOP_VECTORIZE
    sys.setrecursionlimit(max(before[0], RECURSION_LIMIT))
    config.LOOP_VECTORIZE = 0
    try:
        yield
    finally:
        sys.setrecursionlimit(before[0])
        config.LOOP_VECTORIZE = before[1]


def define_plain(text: str) -> Callable[..., None]:
    """The function ``advance`` as plain Python: slow, but available without compiling."""
    names: dict[str, Any] = {}
    exec(compile(text, "<softmachine>", "exec"), names)
    function: Callable[..., None] = without_numba(names)["advance"]
    return function


def without_numba(names: dict[str, Any]) -> dict[str, Any]:
    """The names of a module with every numba function replaced by plain Python, also where called indirectly."""
    copies: dict[int, dict[str, Any]] = {}

    def copied(names: dict[str, Any]) -> dict[str, Any]:
        if id(names) not in copies:
            copy = copies[id(names)] = dict(names)
            for name, item in names.items():
                function = getattr(item, "py_func", item)
                if isinstance(function, FunctionType) and (function is not item or function.__globals__ is names):
                    own = copied(function.__globals__)
                    copy[name] = FunctionType(function.__code__, own, function.__name__, function.__defaults__)
        return copies[id(names)]

    return copied(names)


def _define(text: str, filename: str) -> Any:
    module = ModuleType(f"softmachine_generated_{_digest(text)[:32]}")
    sys.modules[module.__name__] = module  # where numba looks up the function's globals
    exec(compile(text, filename, "exec"), module.__dict__)  # text generated by `code`, never read from a file
    return module.__dict__["advance"]


def _file_stem(text: str) -> str:
    return f"decoder_{_digest(text)[:32]}"


def _digest(text: str) -> str:
    return hashlib.sha256(f"{_compilation_inputs()}\0{text}".encode()).hexdigest()


@cache
def _compilation_inputs() -> str:
    """The other inputs of compilation: versions, and the source of the functions that compiled code calls."""
    import numba
    import numpy as np

    here = Path(__file__).parent
    sources = [path.read_text(encoding="utf-8") for name in KERNEL_SOURCES for path in sorted(here.glob(name))]
    return "\0".join([numba.__version__, np.__version__, str(here), *sources])


def _write_source(text: str) -> Path | None:
    """The file of a text, written if it is missing; None if there is no safe folder for it."""
    try:
        folder = cache_folder()
        if folder is None:
            return None
        path = folder / f"{_file_stem(text)}.py"
        if not path.is_file() or path.is_symlink() or path.read_text(encoding="utf-8") != text:
            write_file(path, text, force=True)
    except (OSError, UsageError):
        return None
    return path


def cache_folder() -> Path | None:
    """The folder for generated code; None if others can write to it."""
    root = os.environ.get("XDG_CACHE_HOME")
    base = Path(root) if root and Path(root).is_absolute() else Path.home() / ".cache"
    folder = base / CACHE_FOLDER_NAME / "code"
    make_folder(folder, mode=0o700)
    for place in (folder, folder / "__pycache__"):
        if place.is_symlink() or (place.exists() and not _is_private(place)):
            return None
    return folder


def _is_private(folder: Path) -> bool:
    """Whether only this user can write to a folder."""
    if os.name == "nt":
        return True
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
