"""Rules for replacing folders: only those written by softmachine whose files are unchanged.

Replacing a model removes only its own files: those listed in its manifest (:mod:`.manifest`), if they are unchanged.
Other files in the folder stay. :mod:`softmachine.support.files` does the writing.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from softmachine.exports.manifest import Facts, is_inside, listed_files, read_manifest, verify_digests
from softmachine.support import files
from softmachine.support.errors import FixHint, SourceError, UsageError


def new_folder(folder: Path, *, force: bool) -> AbstractContextManager[Path]:
    """Context with an empty folder for a new model or, with ``force``, replacing one; see :func:`.files.atomic_folder`.

    Raises:
        UsageError: If the folder exists and ``force`` is not given, or was not written by softmachine, or cannot be
            written; or if one of its files was changed, or another file has a name that is needed.
    """
    require_replaceable(folder, force=force)
    return files.atomic_folder(folder, lambda: _verified_files(folder))


def require_replaceable(folder: Path, *, force: bool) -> None:
    """Check that a folder does not exist or may be replaced.

    Raises:
        UsageError: If it may not be replaced.
    """
    with files.convert_os_errors(folder):
        if not folder.exists():
            return
        if not folder.is_dir():
            raise UsageError(f"{folder} exists already, and is not a folder", hint="choose another name")
        if not force:
            hint = FixHint("choose another name, or {} to replace it", force=True)
            raise UsageError(f"{folder} exists already", hint=hint)
        files.roll_back_interrupted(folder)
        if (
            any(not path.name.startswith(files.SCRATCH_PREFIX) for path in folder.iterdir())
            and _own_manifest(folder) is None
        ):
            raise UsageError(f"{folder} exists already", hint="only models written by softmachine are replaced")
        _verified_files(folder)


def list_written_files(folder: Path) -> list[Path]:
    """The files at the top level of a folder that softmachine wrote there."""
    return [folder / name for name in _own_files(folder) if "/" not in name]


def _own_manifest(folder: Path) -> Facts | None:
    """The facts of the manifest of a folder; None if softmachine did not write it."""
    try:
        facts = read_manifest(folder)
    except SourceError:
        return None
    return facts if facts["format"].startswith("softmachine-") else None


def _own_files(folder: Path) -> list[str]:
    """The names of the files in a folder that its manifest lists."""
    facts = _own_manifest(folder)
    return [] if facts is None else [name for name in listed_files(facts) if is_inside(folder, name)]


def _verified_files(folder: Path) -> list[str]:
    """The names of the listed files in a folder, after verifying their digests, if the manifest has some.

    Raises:
        UsageError: If a file was changed; the message names it.
    """
    facts, own = _own_manifest(folder), _own_files(folder)
    if facts is not None and "digests" in facts:
        listed = facts["digests"]
        known = {name: listed[name] for name in listed if name in own} if isinstance(listed, dict) else None
        try:
            verify_digests(folder, {**facts, "digests": known})
        except SourceError as error:
            raise UsageError(f"{folder} is not replaced: {error.message}", hint=files.MOVE_AWAY_HINT) from None
    return own
