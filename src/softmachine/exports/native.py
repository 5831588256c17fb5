"""Our own format: a folder with the exact weights (safetensors) and everything that has a name (JSON).

Weights are sparse and exact: for each matrix the positions of its non-zeros, their numerators and their denominators as
64-bit integers. The source is kept as text, and the name of the theorem, so that the codec is made anew; a digest of
each part tells whether it is what was written. The same model always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from softmachine.errors import Place, SoftmachineError, SourceError, UsageError
from softmachine.exports import version1
from softmachine.exports.folder import MARK, WEIGHTS, new_folder
from softmachine.exports.native_data import Array, Json, to_data, transformer_from
from softmachine.languages.formats import source_from, source_text
from softmachine.languages.source import Source
from softmachine.model import Model
from softmachine.theorems import Theorem, theorem_named
from softmachine.transformer.saved_features import FEATURES

FORMAT = "softmachine-transformer"
VERSION = 2
MOST_BYTES = 1 << 30
"""Larger files are not read."""


def save(model: Model, folder: Path, *, force: bool = False) -> None:
    """Write a model to a folder, all or nothing.

    Raises:
        UsageError: If the folder exists and ``force`` is not given, or is not one of ours, or cannot be written; or if
            the model could not be made again from what is written.
    """
    from safetensors.numpy import save as to_bytes

    theorem = model.theorem
    if theorem.codec_for(model.source, model.length) != model.codec:
        raise UsageError(f"{model.name!r} cannot be saved: {theorem.name} would talk to it in another way")
    names, tensors = to_data(model.weights)
    weights = to_bytes(tensors)
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "theorem": theorem.name,
        "length": model.length,
        **({} if model.certified is None else {"certified": model.certified}),
        "source": _written(model.source, theorem),
        "weights": names,
    }
    digests = {WEIGHTS: hashlib.sha256(weights).hexdigest(), MARK: _digest(facts)}
    text = json.dumps({**facts, "digests": digests}, ensure_ascii=False, indent=1) + "\n"
    try:
        files = {WEIGHTS: weights, MARK: text.encode("utf-8")}
    except UnicodeEncodeError as error:
        raise UsageError(f"a name has half a character, {text[error.start]!r}, which no file can hold") from None
    with new_folder(folder, force=force) as new:
        for name, content in files.items():
            (new / name).write_bytes(content)


def _written(source: Source, theorem: Theorem) -> dict[str, str] | None:
    """The source as text; nothing if the theorem is about this one object."""
    if source == theorem.source:
        return None
    return {"language": source.language, "name": source.name, "text": source_text(source)}


def _digest(facts: Mapping[str, object]) -> str:
    """What everything but the digests themselves comes to."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def load(folder: Path) -> Model:
    """Read a model from a folder.

    Raises:
        SourceError: If the folder does not hold a whole model of a version that is known.
    """
    place = Place(str(folder))
    try:
        data, tensors = _read(folder, place)
        return _model(data, tensors)
    except SoftmachineError as error:
        at = replace(error.place, source=str(folder)) if error.place else place
        raise SourceError(error.message, place=at, hint=error.hint) from None
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", place=place) from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise SourceError(f"the saved model is damaged: {type(error).__name__}: {error}", place=place) from None


def _model(data: Json, tensors: Mapping[str, Array]) -> Model:
    """The model that the data and all of the tensors make up."""
    theorem = theorem_named(str(data["theorem"]))
    if theorem is None:
        raise SourceError(f"the theorem {data['theorem']!r}, which made the model, is not known here")
    if data["source"] is None:
        if isinstance(theorem.source, type):
            raise ValueError("there is no source")
        source: Source = theorem.source
    else:
        source = source_from(*(str(data["source"][key]) for key in ("language", "name", "text")))
    if not theorem.applies_to(source):
        raise ValueError(f"{theorem.name} is not about {source.name!r}")
    length, certified = _length(data["length"]), _length(data.get("certified"))
    weights = transformer_from(data["weights"], tensors, (*FEATURES, *theorem.features))
    return Model(weights, theorem.codec_for(source, length), theorem, length, certified)


def _length(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ValueError(f"{value!r} is not a length")
    return value


def _read(folder: Path, place: Place) -> tuple[Json, Mapping[str, Array]]:
    """The data as the present version has them, and the tensors."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    for name in (WEIGHTS, MARK):
        if not (folder / name).is_file():
            raise SourceError(
                f"the folder has no {name}; it is not a model that `softmachine compile` wrote", place=place
            )
        if (folder / name).stat().st_size > MOST_BYTES:
            raise SourceError(f"{name} is larger than {MOST_BYTES >> 20} MiB", place=place)
    data = json.loads((folder / MARK).read_text(encoding="utf-8"))
    if data["format"] in ("softmachine-map", "softmachine-set"):
        raise SourceError(
            "this was written by `softmachine export`; it is not a model that softmachine runs",
            place=place,
            hint="its README.md says how to use it",
        )
    if data["format"] != FORMAT or data["version"] not in (1, VERSION):
        raise SourceError(f"format {data['format']!r} version {data['version']!r} is not known here", place=place)
    weights = (folder / WEIGHTS).read_bytes()
    if data["version"] == VERSION:
        digests = data.pop("digests")
        for name, found in ((WEIGHTS, hashlib.sha256(weights).hexdigest()), (MARK, _digest(data))):
            if digests[name] != found:
                raise SourceError(f"{name} is not what was written: its digest is another", place=place)
    try:
        return version1.upgraded(data) if data["version"] == 1 else data, from_bytes(weights)
    except SafetensorError as error:
        raise ValueError(error) from None
