"""Folders that appear whole or not at all, and that never take the place of something else by mistake.

A model that is replaced takes only its own files with it: those that its ``softmachine.json`` lists, or, if it lists
none, those that are always written. Whatever else is in the folder stays there.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from softmachine.errors import UsageError

MARK = "softmachine.json"
"""The file that tells that a folder is ours."""
WEIGHTS = "model.safetensors"
NATIVE_FILES = frozenset({MARK, WEIGHTS})
EXPORTED_FILES = NATIVE_FILES | {
    "README.md",
    "config.json",
    "generation_config.json",
    "model.gguf",
    "model.onnx",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
}
"""What is in a folder of ours that does not list its files."""


def is_saved(folder: Path) -> bool:
    """Whether a folder looks like one of ours."""
    return (folder / MARK).is_file() and (folder / WEIGHTS).is_file()


@contextmanager
def new_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """An empty folder to fill; if all goes well, it takes its place at the end, else nothing is left of it.

    With ``force`` the files of a model that is there go; other files stay, and a link to a folder stays a link.

    Raises:
        UsageError: If the folder exists and ``force`` is not given, or is not one of ours, or cannot be written; or if
            a file of someone else has a name that is needed.
    """
    place = folder
    missing: list[Path] = []
    scratch: Path | None = None
    try:
        require_free(folder, force=force)
        if folder.is_symlink():
            place = Path(os.path.realpath(folder))
        missing += _missing_parents(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".softmachine.", dir=place.parent))
        new, old = scratch / "new", scratch / "old"
        new.mkdir()
        yield new
        if place.exists():
            _require_room(folder, new)
            place.replace(old)
        new.replace(place)
        missing.clear()
        _take_back(old, place)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from None
    finally:
        if scratch is not None:
            _tidy(scratch, place)
        for parent in missing:
            with contextlib.suppress(OSError):
                parent.rmdir()


def _require_room(folder: Path, new: Path) -> None:
    """Complain if something that is not ours would be in the way of the new files."""
    for other in _others(folder):
        for part in (other, *other.parents[:-1]):
            found = new / part
            if os.path.lexists(found) and (part == other or not found.is_dir()):
                raise UsageError(
                    f"{folder / part} was not written by softmachine, and is in the way",
                    hint="move it away, or choose another folder",
                )


def _tidy(scratch: Path, place: Path) -> None:
    """Take back the old folder if there is no new one, else what was not ours in it; remove the rest.

    Raises:
        UsageError: If something cannot be taken back; then nothing is removed.
    """
    old = scratch / "old"
    try:
        if old.exists() and not place.exists():
            old.replace(place)
        _take_back(old, place)
    except OSError as error:
        raise UsageError(
            f"cannot write {place}: {error.strerror or error}", hint=f"what was there before is in {old}"
        ) from None
    shutil.rmtree(scratch, ignore_errors=True)


def _take_back(old: Path, place: Path) -> None:
    """Move what was not ours from the old folder to the new one."""
    for other in _others(old) if old.exists() else ():
        (place / other).parent.mkdir(parents=True, exist_ok=True)
        (old / other).replace(place / other)


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
    return not any(folder.iterdir()) or bool(_marked(folder))


def _marked(folder: Path) -> dict[str, object]:
    """What the mark of a folder of ours says; nothing if it is not one."""
    try:
        data = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) and str(data.get("format", "")).startswith("softmachine-") else {}


def listing(folder: Path) -> list[str]:
    """The files that a new folder has, and its mark, for the mark to list."""
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    return sorted(found | {MARK})


def written(folder: Path) -> list[Path]:
    """The files of ours that are at the top of a folder of ours."""
    return sorted(folder / name for name in _own(folder) if "/" not in name and (folder / name).is_file())


def _own(folder: Path) -> frozenset[str]:
    """The names of our files in a folder of ours."""
    data = _marked(folder)
    names, models = data.get("files"), data.get("models")
    if isinstance(names, list):
        return frozenset({MARK, *map(str, names)})
    if data.get("format") == "softmachine-set" and isinstance(models, list):
        folders = [str(model.get("folder")) for model in models if isinstance(model, dict)]
        return frozenset({MARK, *(f"{name}/{file}" for name in folders for file in EXPORTED_FILES)})
    return EXPORTED_FILES if data.get("format") == "softmachine-map" else NATIVE_FILES


def _others(folder: Path) -> list[PurePosixPath]:
    """What is not ours in a folder of ours: files, and folders that have nothing of ours in them."""
    own = _own(folder)
    shared = {parent for name in own for parent in PurePosixPath(name).parents}
    found: list[PurePosixPath] = []
    waiting = [PurePosixPath()]
    while waiting:
        here = waiting.pop()
        for entry in (folder / here).iterdir():
            name = here / entry.name
            is_folder = entry.is_dir() and not entry.is_symlink()
            if is_folder and name in shared:
                waiting.append(name)
            elif is_folder or str(name) not in own:
                found.append(name)
    return found
