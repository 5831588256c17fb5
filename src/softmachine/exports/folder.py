"""Which folders may be replaced: those that softmachine wrote, as far as nobody has changed their files.

A model that is replaced takes only its own files with it: those that its mark lists (:mod:`.manifest`), as they were
written. Whatever else is in the folder stays where it is. :mod:`softmachine.support.files` does the writing.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from softmachine.exports.manifest import Facts, lies_in, listed_files, read_mark, verify
from softmachine.support import files
from softmachine.support.errors import Remedy, SourceError, UsageError


def new_folder(folder: Path, *, force: bool) -> AbstractContextManager[Path]:
    """An empty folder to fill, for a new model or, with ``force``, in the place of one; see :func:`.files.new_folder`.

    Raises:
        UsageError: If the folder exists and ``force`` is not given, or is not one of ours, or cannot be written; or if
            a file of ours was changed, or one of someone else has a name that is needed.
    """
    require_free(folder, force=force)
    return files.new_folder(folder, lambda: _unchanged(folder))


def require_free(folder: Path, *, force: bool) -> None:
    """Complain if the folder is there and may not be replaced.

    Raises:
        UsageError: If so.
    """
    with files.reporting(folder):
        if not folder.exists():
            return
        if not folder.is_dir():
            raise UsageError(f"{folder} exists already, and is not a folder", hint="choose another name")
        if not force:
            hint = Remedy("choose another name, or {} to replace it", force=True)
            raise UsageError(f"{folder} exists already", hint=hint)
        files.recover(folder)
        if any(not path.name.startswith(files.SCRATCH) for path in folder.iterdir()) and _marked(folder) is None:
            raise UsageError(f"{folder} exists already", hint="only models that softmachine wrote are replaced")
        _unchanged(folder)


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


def _unchanged(folder: Path) -> list[str]:
    """The names of our files in a folder, all as they were written; earlier versions have no digests to tell.

    Raises:
        UsageError: If one was changed; it names the file.
    """
    facts, own = _marked(folder), _own(folder)
    if facts is not None and "digests" in facts:
        listed = facts["digests"]
        known = {name: listed[name] for name in listed if name in own} if isinstance(listed, dict) else None
        try:
            verify(folder, {**facts, "digests": known})
        except SourceError as error:
            raise UsageError(f"{folder} is not replaced: {error.message}", hint=files.AWAY) from None
    return own
