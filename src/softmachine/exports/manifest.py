"""Manifest of a folder, ``softmachine.json``: facts about its content, and a digest of every file, its own included.

Reading a folder compares the digests first. They detect damage, not tampering: anyone who edits a file can recompute
its digest. The digest of the manifest is that of its facts without the digests, as JSON with sorted keys; that of any
other file is its SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from softmachine.support import files
from softmachine.support.errors import Place, SourceError, UsageError
from softmachine.support.stored_names import MANIFEST_KEYS

MARK = files.MARK
WEIGHTS = "model.safetensors"
MOST_BYTES = 1 << 30
"""The largest file that is read."""
_EXPORTED = (
    "README.md",
    "config.json",
    "generation_config.json",
    "model.gguf",
    "model.onnx",
    WEIGHTS,
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
)
"""The files of an exported folder of the first version, which has neither digests nor a list of files."""

Facts = dict[str, Any]
"""The content of a manifest: a JSON object."""


def is_saved(folder: Path) -> bool:
    """Whether a folder holds a saved model, possibly incomplete; loading reports missing files."""
    files.recover(folder)
    return (folder / MARK).is_file() or (folder / WEIGHTS).is_file()


def present(facts: Facts) -> Facts:
    """The facts of a manifest under the present keys; digests are those of the facts as they were written."""
    return {MANIFEST_KEYS.get(key, key): value for key, value in facts.items()}


def seal(folder: Path, facts: Mapping[str, object]) -> None:
    """Write the manifest of a folder, with digests of all its other files; it must be the last file.

    Raises:
        UsageError: If a name cannot be encoded in UTF-8.
    """
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    digests = {**{name: _of_file(folder / name) for name in names}, MARK: digest(facts)}
    text = json.dumps({**facts, "digests": digests}, ensure_ascii=False, indent=1) + "\n"
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"a name has half a character, the lone surrogate {text[error.start]!r}") from None
    files.write(folder / MARK, content)


def digest(facts: Mapping[str, object]) -> str:
    """The digest of a manifest, without its digests."""
    rest = {key: value for key, value in facts.items() if key != "digests"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_mark(folder: Path) -> Facts:
    """Read the manifest of a folder, without verifying digests.

    Raises:
        SourceError: If there is none, or it is not strict JSON (see :func:`strict_json`).
    """
    files.recover(folder)
    place = Place(str(folder / MARK))
    try:
        data = strict_json(content(folder, MARK).decode("utf-8"))
    except ValueError as error:
        raise SourceError(f"{MARK} is damaged: {error}", place=place) from None
    if not isinstance(data, dict) or not isinstance(data.get("format"), str):
        raise SourceError(f"{MARK} is damaged: it has no format", place=place)
    return data


def content(folder: Path, name: str) -> bytes:
    """The bytes of a file in a folder.

    Raises:
        SourceError: If it is missing, too large, or cannot be read.
    """
    path = folder / name
    try:
        if not path.is_file():
            hint = "softmachine did not write this folder, or files are missing"
            raise SourceError(f"the folder has no {name}", place=Place(str(folder)), hint=hint)
        if path.stat().st_size > MOST_BYTES:
            raise SourceError(f"{name} is larger than {MOST_BYTES >> 20} MiB", place=Place(str(path)))
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{name} cannot be read: {error.strerror or error}", place=Place(str(path))) from None


def strict_json(text: str) -> object:
    """Parse strict JSON: unique keys, finite numbers, 64-bit integers.

    Raises:
        ValueError: If it is not strict JSON, or is nested too deeply; the message is one sentence.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_once, parse_constant=_no_number, parse_int=_integer, parse_float=_finite
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {next(name for name in names if names.count(name) > 1)!r}")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _integer(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
        raise ValueError(f"{text[:20]}{'…' if len(text) > 20 else ''} does not fit in 64 bits")
    return int(text)


def _finite(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _no_number(text)


def require_digests(folder: Path, facts: Facts, found: Mapping[str, str]) -> None:
    """Compare the digests listed in the manifest with the actual ones, file by file.

    Raises:
        SourceError: If one is missing or differs; the message names the file.
    """
    listed = facts.get("digests")
    if not isinstance(listed, dict):
        raise SourceError(f"{MARK} has no digests", place=Place(str(folder / MARK)), hint=_REMEDY)
    for name in sorted({*listed, *found}):
        place = Place(str(folder / name))
        if name not in listed:
            raise SourceError(f"{name} is not verified: {MARK} has no digest of it", place=place, hint=_REMEDY)
        if name not in found:
            raise SourceError(f"{name} is missing, but {MARK} has a digest of it", place=place, hint=_REMEDY)
        if listed[name] != found[name]:
            raise SourceError(f"{name} was changed after it was written: its digest differs", place=place, hint=_REMEDY)


_REMEDY = "restore the original files, or write the folder again"


def verify(folder: Path, facts: Facts) -> None:
    """Verify the digest of every file listed in the manifest. Other files are ignored.

    Raises:
        SourceError: If a file is missing or was changed; the message names it.
    """
    found = {MARK: digest(facts)}
    try:
        for name in listed_files(facts):
            if name != MARK and lies_in(folder, name):
                found[name] = _of_file(folder / name)
    except OSError as error:
        raise SourceError(f"{name} cannot be read: {error.strerror or error}", place=Place(str(folder))) from None
    require_digests(folder, facts, found)


def lies_in(folder: Path, name: str) -> bool:
    """Whether a name is that of a file in a folder or below it, not reached through a symbolic link."""
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts:
        return False
    linked = any((folder / part).is_symlink() for part in (parts, *parts.parents[:-1]))
    return (folder / parts).is_file() and not linked


def listed_files(facts: Facts) -> list[str]:
    """The files of a folder according to its manifest: by digests, or as in earlier versions."""
    for names in (facts.get("digests"), facts.get("files")):
        if isinstance(names, dict | list):
            return sorted({MARK, *map(str, names)})
    if facts["format"] == "softmachine-map":
        return sorted([MARK, *_EXPORTED])
    if facts["format"] == "softmachine-set" and isinstance(models := facts.get("models"), list):
        folders = [str(model.get("folder")) for model in models if isinstance(model, dict)]
        return sorted([MARK, *(f"{name}/{file}" for name in folders for file in (MARK, *_EXPORTED))])
    return [WEIGHTS, MARK]
