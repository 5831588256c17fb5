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
from softmachine.support.errors import SourceError, SourceLocation, UsageError
from softmachine.support.stored_names import MANIFEST_KEYS

MANIFEST_FILE = files.MANIFEST_FILE
WEIGHTS_FILE = "model.safetensors"
MAX_FILE_BYTES = 1 << 30
"""The largest file that is read."""
_VERSION_1_FILES = (
    "README.md",
    "config.json",
    "generation_config.json",
    "model.gguf",
    "model.onnx",
    WEIGHTS_FILE,
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
)
"""The files of an exported folder of the first version, which has neither digests nor a list of files."""

Facts = dict[str, Any]
"""The content of a manifest: a JSON object."""


def is_saved(folder: Path) -> bool:
    """Whether a folder holds a saved model, possibly incomplete; loading reports missing files."""
    files.roll_back_interrupted(folder)
    return (folder / MANIFEST_FILE).is_file() or (folder / WEIGHTS_FILE).is_file()


def present(facts: Facts) -> Facts:
    """The facts of a manifest under the present keys; digests are those of the facts as they were written."""
    return {MANIFEST_KEYS.get(key, key): value for key, value in facts.items()}


def write_manifest(folder: Path, facts: Mapping[str, object]) -> None:
    """Write the manifest of a folder, with digests of all its other files; it must be the last file.

    Raises:
        UsageError: If a name cannot be encoded in UTF-8.
    """
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    digests = {**{name: _digest_of_file(folder / name) for name in names}, MANIFEST_FILE: compute_digest(facts)}
    text = json.dumps({**facts, "digests": digests}, ensure_ascii=False, indent=1) + "\n"
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"a name has half a character, the lone surrogate {text[error.start]!r}") from None
    files.write_file(folder / MANIFEST_FILE, content)


def compute_digest(facts: Mapping[str, object]) -> str:
    """The digest of a manifest, without its digests."""
    rest = {key: value for key, value in facts.items() if key != "digests"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_manifest(folder: Path) -> Facts:
    """Read the manifest of a folder, without verifying digests.

    Raises:
        SourceError: If there is none, or it is not strict JSON (see :func:`parse_strict_json`).
    """
    files.roll_back_interrupted(folder)
    place = SourceLocation(str(folder / MANIFEST_FILE))
    try:
        data = parse_strict_json(read_bytes(folder, MANIFEST_FILE).decode("utf-8"))
    except ValueError as error:
        raise SourceError(f"{MANIFEST_FILE} is damaged: {error}", place=place) from None
    if not isinstance(data, dict) or not isinstance(data.get("format"), str):
        raise SourceError(f"{MANIFEST_FILE} is damaged: it has no format", place=place)
    return data


def read_bytes(folder: Path, name: str) -> bytes:
    """The bytes of a file in a folder.

    Raises:
        SourceError: If it is missing, too large, or cannot be read.
    """
    path = folder / name
    try:
        if not path.is_file():
            hint = "softmachine did not write this folder, or files are missing"
            raise SourceError(f"the folder has no {name}", place=SourceLocation(str(folder)), hint=hint)
        if path.stat().st_size > MAX_FILE_BYTES:
            raise SourceError(f"{name} is larger than {MAX_FILE_BYTES >> 20} MiB", place=SourceLocation(str(path)))
        return path.read_bytes()
    except OSError as error:
        raise SourceError(
            f"{name} cannot be read: {error.strerror or error}", place=SourceLocation(str(path))
        ) from None


def parse_strict_json(text: str) -> object:
    """Parse strict JSON: unique keys, finite numbers, 64-bit integers.

    Raises:
        ValueError: If it is not strict JSON, or is nested too deeply; the message is one sentence.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_require_unique_keys,
            parse_constant=_reject_constant,
            parse_int=_parse_integer,
            parse_float=_parse_float,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _require_unique_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {next(name for name in names if names.count(name) > 1)!r}")
    return found


def _reject_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _parse_integer(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
        raise ValueError(f"{text[:20]}{'…' if len(text) > 20 else ''} does not fit in 64 bits")
    return int(text)


def _parse_float(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _reject_constant(text)


def require_digests(folder: Path, facts: Facts, found: Mapping[str, str]) -> None:
    """Compare the digests listed in the manifest with the actual ones, file by file.

    Raises:
        SourceError: If one is missing or differs; the message names the file.
    """
    listed = facts.get("digests")
    if not isinstance(listed, dict):
        raise SourceError(
            f"{MANIFEST_FILE} has no digests", place=SourceLocation(str(folder / MANIFEST_FILE)), hint=_RESTORE_HINT
        )
    for name in sorted({*listed, *found}):
        place = SourceLocation(str(folder / name))
        if name not in listed:
            raise SourceError(
                f"{name} is not verified: {MANIFEST_FILE} has no digest of it", place=place, hint=_RESTORE_HINT
            )
        if name not in found:
            raise SourceError(
                f"{name} is missing, but {MANIFEST_FILE} has a digest of it", place=place, hint=_RESTORE_HINT
            )
        if listed[name] != found[name]:
            raise SourceError(
                f"{name} was changed after it was written: its digest differs", place=place, hint=_RESTORE_HINT
            )


_RESTORE_HINT = "restore the original files, or write the folder again"


def verify_digests(folder: Path, facts: Facts) -> None:
    """Verify the digest of every file listed in the manifest. Other files are ignored.

    Raises:
        SourceError: If a file is missing or was changed; the message names it.
    """
    found = {MANIFEST_FILE: compute_digest(facts)}
    try:
        for name in listed_files(facts):
            if name != MANIFEST_FILE and is_inside(folder, name):
                found[name] = _digest_of_file(folder / name)
    except OSError as error:
        raise SourceError(
            f"{name} cannot be read: {error.strerror or error}", place=SourceLocation(str(folder))
        ) from None
    require_digests(folder, facts, found)


def is_inside(folder: Path, name: str) -> bool:
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
            return sorted({MANIFEST_FILE, *map(str, names)})
    if facts["format"] == "softmachine-map":
        return sorted([MANIFEST_FILE, *_VERSION_1_FILES])
    if facts["format"] == "softmachine-set" and isinstance(models := facts.get("models"), list):
        folders = [str(model.get("folder")) for model in models if isinstance(model, dict)]
        return sorted(
            [MANIFEST_FILE, *(f"{name}/{file}" for name in folders for file in (MANIFEST_FILE, *_VERSION_1_FILES))]
        )
    return [WEIGHTS_FILE, MANIFEST_FILE]
