"""Our own format: a folder with the exact weights (safetensors) and everything that has a name (JSON).

Weights are sparse and exact: for each matrix the positions of its non-zeros, their numerators and their denominators as
64-bit integers. The same model always gives the same bytes.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.attention import Choice, Mask, Weighting
from softmachine.errors import Place, SoftmachineError, SourceError, UsageError
from softmachine.exports.folder import missing_parents
from softmachine.positions import Feature, Parameter, Relation
from softmachine.transformer import AffineMap, Block, Codec, FeedForward, Head, Layer, Matrix, Transformer

FORMAT = "softmachine-transformer"
VERSION = 1
WEIGHTS, NAMES = "model.safetensors", "softmachine.json"
MOST_BYTES = 1 << 30
"""Larger files are not read."""

Tensors = dict[str, NDArray[Any]]


def is_saved(folder: Path) -> bool:
    """Whether a folder looks like one of ours."""
    return (folder / NAMES).is_file() and (folder / WEIGHTS).is_file()


def save(transformer: Transformer, folder: Path, *, force: bool = False) -> None:
    """Write a model to a folder, all or nothing.

    Raises:
        UsageError: If the folder exists and ``force`` is not given, or is not one of ours, or cannot be written.
    """
    from safetensors.numpy import save as to_bytes

    tensors: Tensors = {}
    names = json.dumps(_names(transformer, tensors), ensure_ascii=False, indent=1) + "\n"
    try:
        files = {WEIGHTS: to_bytes(tensors), NAMES: names.encode("utf-8")}
    except UnicodeEncodeError as error:
        raise UsageError(f"a name has half a character, {names[error.start]!r}, which no file can hold") from None
    missing: list[Path] = []
    try:
        if folder.exists() and not (force and _replaceable(folder)):
            hint = "only saved models are replaced" if force else "choose another name, or --force to replace it"
            raise UsageError(f"{folder} exists already", hint=hint)
        missing += missing_parents(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _replace(folder, files)
    except OSError as error:
        for parent in missing:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from None


def _replaceable(folder: Path) -> bool:
    """Whether a folder is empty or one of ours."""
    return folder.is_dir() and (is_saved(folder) or not any(folder.iterdir()))


def _replace(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put a folder with these files in the place of what is there; if that fails, leave what is there."""
    scratch = Path(tempfile.mkdtemp(prefix=".softmachine.", dir=folder.parent))
    new, old = scratch / "new", scratch / "old"
    try:
        new.mkdir()
        for name, content in files.items():
            (new / name).write_bytes(content)
        if folder.exists():
            folder.replace(old)
        new.replace(folder)
    finally:
        if old.exists() and not folder.exists():
            old.replace(folder)
        shutil.rmtree(scratch, ignore_errors=True)


def load(folder: Path, codec_from_json: Any) -> Transformer:
    """Read a model from a folder; ``codec_from_json`` makes the codec.

    Raises:
        SourceError: If the folder does not hold a whole model of this version.
    """
    place = Place(str(folder))
    try:
        data, tensors = _read(folder, place)
        return _Reader(tensors).whole(data, codec_from_json)
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


def _names(transformer: Transformer, tensors: Tensors) -> dict[str, Any]:
    """Everything but the numbers, which go to ``tensors`` on the way."""

    def affine(name: str, mapping: AffineMap) -> None:
        _matrix(tensors, f"{name}.weight", mapping.weight)
        _vector(tensors, f"{name}.bias", mapping.bias)

    _matrix(tensors, "embedding", transformer.embedding)
    _matrix(tensors, "position_embedding", transformer.position_embedding)
    affine("unembedding", transformer.unembedding)
    blocks = []
    for b, block in enumerate(transformer.blocks):
        layers = []
        for d, layer in enumerate(block.layers):
            at = f"blocks.{b}.layers.{d}"
            for h, head in enumerate(layer.heads):
                for part in ("query", "key", "value"):
                    affine(f"{at}.heads.{h}.{part}", getattr(head, part))
                _matrix(tensors, f"{at}.heads.{h}.output", head.output)
            forward = layer.feed_forward
            affine(f"{at}.first", forward.first)
            affine(f"{at}.second", forward.second)
            heads = [_head_names(head) for head in layer.heads]
            layers.append({"heads": heads, "units": forward.units, "activations": forward.activations})
        repeats = _feature(block.repeats) if isinstance(block.repeats, Feature) else block.repeats
        blocks.append({"name": block.name, "repeats": repeats, "layers": layers})
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": transformer.name,
        "construction": transformer.construction,
        "length": transformer.length,
        "vocabulary": transformer.vocabulary,
        "coordinates": transformer.coordinates,
        "features": [_feature(feature) for feature in transformer.features],
        "blocks": blocks,
        "outputs": transformer.outputs,
        "codec": transformer.codec.to_json() if transformer.codec else None,
    }


def _head_names(head: Head) -> dict[str, Any]:
    scale = head.weighting.scale
    return {
        "name": head.name,
        "mask": str(head.mask),
        "weighting": str(head.weighting.choice),
        "scale": _feature(scale) if isinstance(scale, Feature) else str(scale),
        "bias": _feature(head.bias) if head.bias else None,
    }


def _feature(item: Feature | Relation) -> dict[str, Any]:
    return {"kind": item.kind, "parameters": list(item.parameters)}


def _matrix(tensors: Tensors, name: str, matrix: Matrix) -> None:
    entries = list(matrix.entries())
    tensors[f"{name}.shape"] = np.array(matrix.shape, dtype=np.int64)
    tensors[f"{name}.index"] = np.array([(r, c) for r, c, _ in entries], dtype=np.int32).reshape(-1, 2)
    _numbers(tensors, name, [value for _, _, value in entries])


def _vector(tensors: Tensors, name: str, vector: tuple[Fraction, ...]) -> None:
    _numbers(tensors, name, list(vector))


def _numbers(tensors: Tensors, name: str, numbers: list[Fraction]) -> None:
    try:
        tensors[f"{name}.numerator"] = np.array([number.numerator for number in numbers], dtype=np.int64)
        tensors[f"{name}.denominator"] = np.array([number.denominator for number in numbers], dtype=np.int64)
    except OverflowError:
        raise UsageError(f"a weight of {name} does not fit in 64 bits, so the model cannot be saved exactly") from None


class _Reader:
    """Builds a transformer; every shape is checked before anything of that size is built."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self.tensors = dict(tensors)
        self.width = 0

    def whole(self, data: dict[str, Any], codec_from_json: Any) -> Transformer:
        """The transformer that the data and all of the tensors make up."""
        transformer = self.transformer(data, codec_from_json)
        if self.tensors:
            raise ValueError(f"nothing is known of the weights {min(self.tensors)}")
        return transformer

    def transformer(self, data: dict[str, Any], codec_from_json: Any) -> Transformer:
        codec: Codec | None = codec_from_json(data["codec"]) if data["codec"] else None
        vocabulary, coordinates, outputs = (_strings(data[what]) for what in ("vocabulary", "coordinates", "outputs"))
        if len(set(vocabulary)) != len(vocabulary):
            raise ValueError("a token occurs twice in the vocabulary")
        features = tuple(_feature_from(item) for item in data["features"])
        self.width = len(coordinates)
        return Transformer(
            name=str(data["name"]),
            vocabulary=vocabulary,
            coordinates=coordinates,
            embedding=self.matrix("embedding", len(vocabulary), self.width),
            features=features,
            position_embedding=self.matrix("position_embedding", len(features), self.width),
            blocks=tuple(self.block(b, item) for b, item in enumerate(data["blocks"])),
            outputs=outputs,
            unembedding=self.affine("unembedding", len(outputs), self.width),
            codec=codec,
            construction=str(data["construction"]),
            length=_length(data["length"]),
        )

    def block(self, b: int, data: dict[str, Any]) -> Block:
        repeats = data["repeats"] if isinstance(data["repeats"], int) else _feature_from(data["repeats"])
        if isinstance(repeats, int) and repeats < 0:
            raise ValueError(f"a block cannot run {repeats} times")
        layers = tuple(self.layer(f"blocks.{b}.layers.{d}", item) for d, item in enumerate(data["layers"]))
        return Block(layers, repeats, str(data["name"]))

    def layer(self, at: str, data: dict[str, Any]) -> Layer:
        heads = tuple(self.head(f"{at}.heads.{h}", item) for h, item in enumerate(data["heads"]))
        units, activations = _strings(data["units"]), _strings(data["activations"])
        if len(activations) != len(units) or not set(activations) <= {"relu", "step"}:
            raise ValueError(f"the activations of {at} are not one relu or step a unit")
        first = self.affine(f"{at}.first", len(units), self.width)
        return Layer(heads, FeedForward(first, activations, self.affine(f"{at}.second", self.width, len(units)), units))

    def head(self, at: str, data: dict[str, Any]) -> Head:
        query = self.affine(f"{at}.query", None, self.width)
        value = self.affine(f"{at}.value", None, self.width)
        return Head(
            name=str(data["name"]),
            query=query,
            key=self.affine(f"{at}.key", len(query.bias), self.width),
            value=value,
            output=self.matrix(f"{at}.output", self.width, len(value.bias)),
            mask=Mask(data["mask"]),
            weighting=Weighting(Choice(data["weighting"]), _scale_from(data["scale"])),
            bias=_relation_from(data["bias"]) if data["bias"] else None,
        )

    def affine(self, name: str, rows: int | None, columns: int) -> AffineMap:
        """A map; its number of rows is that of its constants if nothing else says it."""
        bias = tuple(self.numbers(f"{name}.bias"))
        if rows not in (None, len(bias)):
            raise ValueError(f"{name}.bias has {len(bias)} numbers, not {rows}")
        return AffineMap(self.matrix(f"{name}.weight", len(bias), columns), bias)

    def matrix(self, name: str, rows: int, columns: int) -> Matrix:
        shape = tuple(self.integers(f"{name}.shape"))
        if shape != (rows, columns):
            raise ValueError(f"{name} has shape {shape}, not {(rows, columns)}")
        index = self.tensors.pop(f"{name}.index").reshape(-1, 2)
        if (index < 0).any() or (index >= [rows, columns]).any():
            raise ValueError(f"{name} has entries outside of its shape")
        filled: list[dict[int, Fraction]] = [{} for _ in range(rows)]
        for (r, c), value in zip(index.tolist(), self.numbers(name), strict=True):
            filled[r][c] = value
        if sum(map(len, filled)) != len(index):
            raise ValueError(f"{name} has two entries at one place")
        return Matrix.of(filled, columns)

    def numbers(self, name: str) -> Iterator[Fraction]:
        above, below = self.integers(f"{name}.numerator"), self.integers(f"{name}.denominator")
        return (Fraction(numerator, denominator) for numerator, denominator in zip(above, below, strict=True))

    def integers(self, name: str) -> list[int]:
        array = self.tensors.pop(name)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(f"{name} is not a list of integers")
        return [int(number) for number in array.tolist()]


def _length(data: Any) -> int | None:
    if data is not None and (not isinstance(data, int) or isinstance(data, bool) or data < 0):
        raise ValueError(f"{data!r} is not a length")
    return data


def _scale_from(data: Any) -> Fraction | Feature:
    if not isinstance(data, str):
        return _feature_from(data)
    if not re.fullmatch(r"-?\d{1,999}(/\d{1,999})?", data):
        raise ValueError(f"the scale {data[:40]!r} is not a fraction")
    return Fraction(data)


def _feature_from(data: dict[str, Any]) -> Feature:
    feature = Feature(str(data["kind"]), _parameters(data))
    _ = feature.at(1, 1), feature.name  # parameters that do not fit the kind show here
    return feature


def _relation_from(data: dict[str, Any]) -> Relation:
    relation = Relation(str(data["kind"]), _parameters(data))
    _ = relation.at(0, 1), relation.name
    return relation


def _parameters(data: dict[str, Any]) -> tuple[Parameter, ...]:
    def parameter(item: Any) -> Parameter:
        if isinstance(item, int | str):
            return item
        if isinstance(item, list) and all(isinstance(number, int) for number in item):
            return tuple(item)
        raise TypeError(f"{item!r} is not a parameter")

    return tuple(parameter(item) for item in data["parameters"])


def _strings(items: Any) -> tuple[str, ...]:
    if isinstance(items, str) or not all(isinstance(item, str) for item in items):
        raise TypeError("a list of names has something else in it")
    return tuple(items)
