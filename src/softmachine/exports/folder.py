"""Folders that appear whole or not at all, and that never take the place of something else by mistake.

A model that is replaced takes only its own files with it: those that its mark lists (:mod:`.manifest`), as they were
written. Whatever else is in the folder stays where it is, and so does the folder, and a link to it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from softmachine.errors import Remedy, SourceError, UsageError
from softmachine.exports.manifest import MARK, Facts, lies_in, listed_files, read_mark, verify

_AWAY = "move it away, or choose another folder"


@contextmanager
def new_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """An empty folder to fill; if all goes well, its files take their place at the end, else nothing is left of them.

    With ``force`` the files of a model that is there go, if nobody has changed them. They are moved one by one, the
    mark first, and the new ones in their place, the mark last: whatever happens in between, no half of a model loads.

    Raises:
        UsageError: If the folder exists and ``force`` is not given, or is not one of ours, or cannot be written; or if
            a file of ours was changed, or one of someone else has a name that is needed.
    """
    place = Path(os.path.realpath(folder))
    made: list[Path] = []
    try:
        require_free(folder, force=force)
        exists = place.is_dir()
        if not exists:
            _make(place.parent, made)
        scratch = Path(tempfile.mkdtemp(prefix=".softmachine.", dir=place if exists else place.parent))
        try:
            new = scratch / "new"
            new.mkdir()
            yield new
            if exists:
                _exchange(folder, scratch)
            else:
                new.replace(place)
            made.clear()
        finally:
            _tidy(scratch)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from None
    finally:
        _unmake(made)


def require_free(folder: Path, *, force: bool) -> None:
    """Complain if the folder is there and may not be replaced.

    Raises:
        UsageError: If so.
    """
    try:
        _require_free(folder, force)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from None


def _require_free(folder: Path, force: bool) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} exists already, and is not a folder", hint="choose another name")
    if not force:
        raise UsageError(
            f"{folder} exists already", hint=Remedy("choose another name, or {} to replace it", force=True)
        )
    if any(folder.iterdir()) and _marked(folder) is None:
        raise UsageError(f"{folder} exists already", hint="only models that softmachine wrote are replaced")
    _require_unchanged(folder)


def written(folder: Path) -> list[Path]:
    """The files of ours that are at the top of a folder of ours."""
    return [folder / name for name in _own(folder) if "/" not in name]


def _marked(folder: Path) -> Facts | None:
    """What the mark of a folder of ours says; None if it is not one."""
    try:
        facts = read_mark(folder)
    except SourceError:
        return None
    return facts if facts["format"].startswith("softmachine-") else None


def _own(folder: Path) -> list[str]:
    """The names of our files that are in a folder."""
    facts = _marked(folder)
    return [] if facts is None else [name for name in listed_files(facts) if lies_in(folder, name)]


def _require_unchanged(folder: Path) -> None:
    """Complain if a file of ours is not what was written; those of earlier versions have no digests to tell.

    Raises:
        UsageError: If so; it names the file.
    """
    facts = _marked(folder)
    if facts is None or "digests" not in facts:
        return
    try:
        own = set(_own(folder))
        listed = facts["digests"]
        known = {name: listed[name] for name in listed if name in own} if isinstance(listed, dict) else None
        verify(folder, {**facts, "digests": known})
    except SourceError as error:
        raise UsageError(f"{folder} is not replaced: {error.message}", hint=_AWAY) from None


def _exchange(folder: Path, scratch: Path) -> None:
    """Move our files out of the folder and the new ones in; or leave everything as it was.

    Raises:
        UsageError: If something is in the way.
    """
    place, new, old = scratch.parent, scratch / "new", scratch / "old"
    _require_unchanged(folder)
    gone = sorted(_own(place), key=_is_mark, reverse=True)
    come = sorted(_files(new), key=_is_mark)
    _require_room(folder, come, gone)
    made: list[Path] = []
    moves: list[tuple[Path, Path]] = []
    try:
        for source, target, names in ((place, old, gone), (new, place, come)):
            for name in names:
                _make((target / name).parent, made)
                moves.append((source / name, target / name))
                (source / name).replace(target / name)
        if gone:
            old.replace(scratch / "replaced")  # from here on nothing is moved back
    except BaseException:
        _undo(moves)
        _unmake(made)
        raise
    _unmake(sorted({place / parent for name in gone for parent in PurePosixPath(name).parents[:-1]}, reverse=True))


def _is_mark(name: str) -> bool:
    return PurePosixPath(name).name == MARK


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()]


def _require_room(folder: Path, come: Iterable[str], gone: Iterable[str]) -> None:
    """Complain if something that is not ours would be in the way of the new files."""
    ours = set(gone)
    for name in map(PurePosixPath, come):
        above = [part for part in name.parents[:-1] if os.path.lexists(folder / part) and not _is_folder(folder / part)]
        itself = [name] if os.path.lexists(folder / name) else []
        for part in (*above, *itself):
            if str(part) not in ours:
                raise UsageError(f"{folder / part} was not written by softmachine, and is in the way", hint=_AWAY)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _undo(moves: list[tuple[Path, Path]]) -> None:
    """Move everything back, the last first; the last move of all may not have been made."""
    for source, target in reversed(moves):
        if os.path.lexists(target) and not os.path.lexists(source):
            target.replace(source)


def _tidy(scratch: Path) -> None:
    """Remove what is left; but never a file that was there before, and could not be moved back.

    Raises:
        UsageError: If there is one.
    """
    old = scratch / "old"
    if old.exists() and _files(old):
        raise UsageError(f"cannot write {scratch.parent}", hint=f"what was there before is in {old}")
    shutil.rmtree(scratch, ignore_errors=True)


def _make(folder: Path, made: list[Path]) -> None:
    """Make a folder, and those above it that are missing; and note which, the deepest first.

    Raises:
        UsageError: If something above is not a folder.
    """
    for parent in (folder, *folder.parents):
        if parent.exists() and not parent.is_dir():
            raise UsageError(f"cannot write {folder}: {parent} is not a folder")
    made[:0] = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)


def _unmake(folders: Iterable[Path]) -> None:
    """Remove folders that are empty, the deepest first."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
