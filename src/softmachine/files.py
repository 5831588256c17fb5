"""Single files that are written: whole or not at all, and never in the place of something else."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from softmachine.errors import UsageError


def require_new(path: Path) -> None:
    """Complain before the work, not after it, if there is something already, or no folder for it.

    Raises:
        UsageError: If so.
    """
    if os.path.lexists(path):  # a link that leads nowhere is something too
        raise UsageError(f"{path} exists already", hint="choose another name")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}")


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A name to write to; what was written there gets its own name at the end, if nothing has it by then.

    Raises:
        UsageError: If something has, or it cannot be written.
    """
    scratch: Path | None = None
    try:
        require_new(path)
        scratch = Path(tempfile.mkdtemp(prefix=".softmachine.", dir=path.parent))
        yield scratch / path.name
        _place(scratch / path.name, path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _place(scratch: Path, path: Path) -> None:
    """Give a file its name, without a moment in which it could take that of another."""
    try:
        path.hardlink_to(scratch)
    except FileExistsError:
        raise
    except OSError:  # there are file systems without links
        require_new(path)
        scratch.replace(path)
