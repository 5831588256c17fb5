"""Single files that are written: whole or not at all, and never in the place of something else."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from softmachine.errors import Remedy, UsageError


def require_new(path: Path, *, force: bool | None = None) -> None:
    """Complain before the work, not after it, if there is something already, or no folder for it.

    Args:
        path: The file.
        force: Whether a file that is there may be replaced; None if nobody can ask for that.

    Raises:
        UsageError: If so.
    """
    if os.path.lexists(path) and not (force and path.is_file()):  # a link that leads nowhere is something too
        hints = {None: "choose another name", True: "only files are replaced"}
        hint = Remedy("choose another name, or {} to replace it", force=True) if force is False else hints[force]
        raise UsageError(f"{path} exists already", hint=hint)
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}")


@contextmanager
def new_file(path: Path, *, force: bool | None = None) -> Iterator[Path]:
    """A name to write to; what was written there gets its own name at the end, if nothing has it by then.

    Args:
        path: The file.
        force: Whether a file that is there is replaced.

    Raises:
        UsageError: If something has, or it cannot be written.
    """
    scratch: Path | None = None
    try:
        require_new(path, force=force)
        scratch = Path(tempfile.mkdtemp(prefix=".softmachine.", dir=path.parent))
        yield scratch / path.name
        if force:
            require_new(path, force=force)
            (scratch / path.name).replace(path)
        else:
            _place(scratch / path.name, path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8, in the same way."""
    with new_file(path) as scratch:
        scratch.write_text(text, encoding="utf-8", newline="\n")


def _place(scratch: Path, path: Path) -> None:
    """Give a file its name, without a moment in which it could take that of another."""
    try:
        path.hardlink_to(scratch)
    except FileExistsError:
        raise
    except OSError:  # there are file systems without links
        require_new(path)
        scratch.replace(path)


def require_suffix(path: Path, *suffixes: str) -> None:
    """Require one of some suffixes, in lower or upper case.

    Raises:
        UsageError: If the path has none of them; the message names the first.
    """
    if path.suffix.lower() not in suffixes:
        raise UsageError(f"{path} should end in {suffixes[0]}")
