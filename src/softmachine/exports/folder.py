"""Folders that appear whole or not at all, and that never take the place of something else by mistake."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from softmachine.errors import UsageError

MARK = "softmachine.json"
"""The file that tells that a folder is ours."""


@contextmanager
def new_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """An empty folder to fill; if all goes well, it takes its place at the end, else nothing is left of it.

    Raises:
        UsageError: If the folder exists and ``force`` is not given, or is not one of ours, or cannot be written.
    """
    missing: list[Path] = []
    scratch: Path | None = None
    try:
        require_free(folder, force=force)
        missing += _missing_parents(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".softmachine.", dir=folder.parent))
        new, old = scratch / "new", scratch / "old"
        new.mkdir()
        yield new
        if folder.exists():
            folder.replace(old)
        new.replace(folder)
        missing.clear()
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from None
    finally:
        if scratch is not None:
            if (scratch / "old").exists() and not folder.exists():
                (scratch / "old").replace(folder)
            shutil.rmtree(scratch, ignore_errors=True)
        for parent in missing:
            with contextlib.suppress(OSError):
                parent.rmdir()


def _missing_parents(folder: Path) -> list[Path]:
    """The folders above that have to be made first.

    Raises:
        UsageError: If something above is not a folder.
    """
    for parent in folder.parents:
        if parent.exists() and not parent.is_dir():
            raise UsageError(f"cannot write {folder}: {parent} is not a folder")
    return [parent for parent in folder.parents if not parent.exists()]


def require_free(folder: Path, *, force: bool) -> None:
    """Complain if the folder is there and may not be replaced."""
    if folder.exists() and not (force and _ours(folder)):
        hint = (
            "only models that softmachine wrote are replaced"
            if force
            else "choose another name, or --force to replace it"
        )
        raise UsageError(f"{folder} exists already", hint=hint)


def _ours(folder: Path) -> bool:
    """Whether a folder is empty or one of ours."""
    if not folder.is_dir():
        return False
    if not any(folder.iterdir()):
        return True
    try:
        data = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and str(data.get("format", "")).startswith("softmachine-")
