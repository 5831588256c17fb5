"""Our own format: a folder with the exact weights (safetensors) and everything that has a name (JSON).

Weights are sparse and exact: for each matrix the positions of its non-zeros, their numerators and their denominators as
64-bit integers. The same model always gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from softmachine.errors import Place, SoftmachineError, SourceError, UsageError
from softmachine.exports.folder import MARK, new_folder
from softmachine.exports.native_reader import from_data
from softmachine.exports.native_writer import to_data
from softmachine.transformer.weights import Transformer

FORMAT = "softmachine-transformer"
VERSION = 1
WEIGHTS, NAMES = "model.safetensors", MARK
MOST_BYTES = 1 << 30
"""Larger files are not read."""


def is_saved(folder: Path) -> bool:
    """Whether a folder looks like one of ours."""
    return (folder / NAMES).is_file() and (folder / WEIGHTS).is_file()


def save(transformer: Transformer, folder: Path, *, force: bool = False) -> None:
    """Write a model to a folder, all or nothing.

    Raises:
        UsageError: If the folder exists and ``force`` is not given, or is not one of ours, or cannot be written.
    """
    from safetensors.numpy import save as to_bytes

    names, tensors = to_data(transformer)
    text = json.dumps({"format": FORMAT, "version": VERSION, **names}, ensure_ascii=False, indent=1) + "\n"
    try:
        files = {WEIGHTS: to_bytes(tensors), NAMES: text.encode("utf-8")}
    except UnicodeEncodeError as error:
        raise UsageError(f"a name has half a character, {text[error.start]!r}, which no file can hold") from None
    with new_folder(folder, force=force) as new:
        for name, content in files.items():
            (new / name).write_bytes(content)


def load(folder: Path, codec_from_json: Any) -> Transformer:
    """Read a model from a folder; ``codec_from_json`` makes the codec.

    Raises:
        SourceError: If the folder does not hold a whole model of this version.
    """
    place = Place(str(folder))
    try:
        data, tensors = _read(folder, place)
        return from_data(data, tensors, codec_from_json)
    except SoftmachineError as error:
        raise SourceError(error.message, place=error.place or place, hint=error.hint) from None
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", place=place) from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise SourceError(f"the saved model is damaged: {type(error).__name__}: {error}", place=place) from None


def _read(folder: Path, place: Place) -> tuple[dict[str, Any], Mapping[str, NDArray[Any]]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    for name in (WEIGHTS, NAMES):
        if not (folder / name).is_file():
            raise SourceError(
                f"the folder has no {name}; it is not a model that `softmachine compile` wrote", place=place
            )
        if (folder / name).stat().st_size > MOST_BYTES:
            raise SourceError(f"{name} is larger than {MOST_BYTES >> 20} MiB", place=place)
    data = json.loads((folder / NAMES).read_text(encoding="utf-8"))
    if data["format"] in ("softmachine-map", "softmachine-set"):
        raise SourceError(
            "this was written by `softmachine export`; it is not a model that softmachine runs",
            place=place,
            hint="its README.md says how to use it",
        )
    if data["format"] != FORMAT or data["version"] != VERSION:
        raise SourceError(f"format {data['format']!r} version {data['version']!r} is not known here", place=place)
    try:
        return data, load_file(folder / WEIGHTS)
    except SafetensorError as error:
        raise ValueError(error) from None
