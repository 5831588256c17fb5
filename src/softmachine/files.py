"""A file that appears whole or not at all, and never takes the place of another by mistake."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from softmachine.errors import UsageError


@contextmanager
def new_file(file: Path, *, force: bool | None = None) -> Iterator[Path]:
    """A name to write to; if all goes well, what was written there becomes the file at the end.

    Args:
        file: The file.
        force: Whether a file that is there is replaced; None if nobody can ask for that.

    Raises:
        UsageError: If the file exists and ``force`` is not given, or cannot be written.
    """
    require_free(file, force=force)
    scratch: Path | None = None
    try:
        scratch = Path(tempfile.mkdtemp(prefix=".softmachine.", dir=file.absolute().parent))
        yield scratch / file.name
        require_free(file, force=force)
        (scratch / file.name).replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from None
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def write_text(file: Path, text: str, *, force: bool | None = None) -> None:
    """Write a text in UTF-8, in the same way."""
    with new_file(file, force=force) as scratch:
        scratch.write_text(text, encoding="utf-8", newline="\n")


def require_free(file: Path, *, force: bool | None = None) -> None:
    """Complain if the file cannot be written, before the work is done that it is for.

    Raises:
        UsageError: If something is there that may not be replaced, or there is no such folder.
    """
    if not file.absolute().parent.is_dir():
        raise UsageError(f"cannot write {file}: there is no folder {file.parent}")
    if not os.path.lexists(file):
        return
    if not file.is_file():
        raise UsageError(f"{file} exists already, and is not a file", hint="choose another name")
    if not force:
        more = "" if force is None else ", or --force to replace it"
        raise UsageError(f"{file} exists already", hint=f"choose another name{more}")
