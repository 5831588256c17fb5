"""Our own format: a folder with the exact weights (safetensors) and everything that has a name (JSON).

Weights are sparse and exact: for each matrix the positions of its non-zeros, their numerators and their denominators as
64-bit integers. The same model always gives the same bytes.
"""

from __future__ import annotations

import json
import os
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
from softmachine.positions import Feature, Relation
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
    from safetensors.numpy import save_file

    if folder.exists() and not (force and folder.is_dir() and (is_saved(folder) or not any(folder.iterdir()))):
        hint = (
            "choose another name, or --force to replace a saved model"
            if not force
            else "only saved models are replaced"
        )
        raise UsageError(f"{folder} exists already", hint=hint)
    tensors: Tensors = {}
    names = json.dumps(_names(transformer, tensors), ensure_ascii=False, indent=1) + "\n"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise UsageError(f"cannot write to {folder.parent}: {error.strerror}") from None
    try:
        save_file(tensors, scratch / WEIGHTS)
        (scratch / NAMES).write_text(names, encoding="utf-8")
        scratch.chmod(0o777 & ~_umask())
        if folder.exists():
            shutil.rmtree(folder)
        scratch.replace(folder)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def load(folder: Path, codec_from_json: Any) -> Transformer:
    """Read a model from a folder; ``codec_from_json`` makes the codec.

    Raises:
        SourceError: If the folder does not hold a whole model of this version.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    place = Place(str(folder))
    for name in (WEIGHTS, NAMES):
        if not (folder / name).is_file():
            raise SourceError(
                f"the folder has no {name}; it is not a model that `softmachine compile` wrote", place=place
            )
        if (folder / name).stat().st_size > MOST_BYTES:
            raise SourceError(f"{name} is larger than {MOST_BYTES >> 20} MiB", place=place)
    try:
        data = json.loads((folder / NAMES).read_text(encoding="utf-8"))
        tensors = load_file(folder / WEIGHTS)
        if data["format"] != FORMAT or data["version"] != VERSION:
            raise SourceError(f"format {data['format']!r} version {data['version']!r} is not known here", place=place)
        return _Reader(tensors).transformer(data, codec_from_json)
    except SoftmachineError as error:
        raise SourceError(error.message, place=error.place or place, hint=error.hint) from None
    except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError, RecursionError, SafetensorError) as error:
        raise SourceError(f"the saved model is damaged: {type(error).__name__}: {error}", place=place) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self.tensors = tensors

    def transformer(self, data: dict[str, Any], codec_from_json: Any) -> Transformer:
        codec: Codec | None = codec_from_json(data["codec"]) if data["codec"] else None
        transformer = Transformer(
            name=str(data["name"]),
            vocabulary=_strings(data["vocabulary"]),
            coordinates=_strings(data["coordinates"]),
            embedding=self.matrix("embedding"),
            features=tuple(_feature_from(item) for item in data["features"]),
            position_embedding=self.matrix("position_embedding"),
            blocks=tuple(self.block(b, item) for b, item in enumerate(data["blocks"])),
            outputs=_strings(data["outputs"]),
            unembedding=self.affine("unembedding"),
            codec=codec,
            construction=str(data["construction"]),
        )
        _check_shapes(transformer)
        return transformer

    def block(self, b: int, data: dict[str, Any]) -> Block:
        repeats = data["repeats"]
        layers = tuple(self.layer(f"blocks.{b}.layers.{d}", item) for d, item in enumerate(data["layers"]))
        return Block(layers, repeats if isinstance(repeats, int) else _feature_from(repeats), str(data["name"]))

    def layer(self, at: str, data: dict[str, Any]) -> Layer:
        heads = tuple(self.head(f"{at}.heads.{h}", item) for h, item in enumerate(data["heads"]))
        forward = FeedForward(
            self.affine(f"{at}.first"),
            _strings(data["activations"]),
            self.affine(f"{at}.second"),
            _strings(data["units"]),
        )
        return Layer(heads, forward)

    def head(self, at: str, data: dict[str, Any]) -> Head:
        scale = Fraction(data["scale"]) if isinstance(data["scale"], str) else _feature_from(data["scale"])
        return Head(
            name=str(data["name"]),
            query=self.affine(f"{at}.query"),
            key=self.affine(f"{at}.key"),
            value=self.affine(f"{at}.value"),
            output=self.matrix(f"{at}.output"),
            mask=Mask(data["mask"]),
            weighting=Weighting(Choice(data["weighting"]), scale),
            bias=Relation(data["bias"]["kind"], _parameters(data["bias"])) if data["bias"] else None,
        )

    def affine(self, name: str) -> AffineMap:
        return AffineMap(self.matrix(f"{name}.weight"), tuple(self.numbers(f"{name}.bias")))

    def matrix(self, name: str) -> Matrix:
        rows, columns = (int(size) for size in self.tensors[f"{name}.shape"])
        index = self.tensors[f"{name}.index"].reshape(-1, 2)
        if rows < 0 or columns < 0 or (index < 0).any() or (index >= [rows, columns]).any():
            raise ValueError(f"{name} has entries outside of its shape")
        filled: list[dict[int, Fraction]] = [{} for _ in range(rows)]
        for (r, c), value in zip(index.tolist(), self.numbers(name), strict=True):
            filled[r][c] = value
        return Matrix.of(filled, columns)

    def numbers(self, name: str) -> Iterator[Fraction]:
        above, below = self.tensors[f"{name}.numerator"].tolist(), self.tensors[f"{name}.denominator"].tolist()
        return (Fraction(numerator, denominator) for numerator, denominator in zip(above, below, strict=True))


def _check_shapes(transformer: Transformer) -> None:
    """Complain about a file whose parts do not fit together, before an engine trips over it."""
    width = transformer.width

    def expect(what: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
        if found != wanted:
            raise ValueError(f"{what} has shape {found}, not {wanted}")

    expect("embedding", transformer.embedding.shape, (len(transformer.vocabulary), width))
    expect("position_embedding", transformer.position_embedding.shape, (len(transformer.features), width))
    expect("unembedding", transformer.unembedding.weight.shape, (len(transformer.outputs), width))
    for layer in transformer.layers:
        for head in layer.heads:
            keys, values = len(head.query.bias), len(head.value.bias)
            expect(f"query of {head.name}", head.query.weight.shape, (keys, width))
            expect(f"key of {head.name}", head.key.weight.shape, (keys, width))
            expect(f"value of {head.name}", head.value.weight.shape, (values, width))
            expect(f"output of {head.name}", head.output.shape, (width, values))
        forward = layer.feed_forward
        expect("first", forward.first.weight.shape, (len(forward.units), width))
        expect("second", forward.second.weight.shape, (width, len(forward.units)))


def _feature_from(data: dict[str, Any]) -> Feature:
    return Feature(str(data["kind"]), _parameters(data))


def _parameters(data: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(tuple(item) if isinstance(item, list) else item for item in data["parameters"])


def _strings(items: Any) -> tuple[str, ...]:
    if isinstance(items, str) or not all(isinstance(item, str) for item in items):
        raise TypeError("a list of names has something else in it")
    return tuple(items)
