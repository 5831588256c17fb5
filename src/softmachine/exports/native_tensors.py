"""Serialisation of transformers: names as JSON data, exact numbers as integer tensors, in both directions.

Reading validates everything: a damaged model fails on load.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.exports.manifest import WEIGHTS_FILE
from softmachine.support.errors import UsageError
from softmachine.support.stored_names import present_head
from softmachine.transformer.attention import AttentionKind, Mask, Weighting
from softmachine.transformer.features import Feature, Relation
from softmachine.transformer.saved_features import feature_from_json, feature_to_json
from softmachine.transformer.weights import AffineMap, Block, FeedForward, Head, Layer, Matrix, Transformer

Array = NDArray[np.integer]
Json = dict[str, Any]
"""A JSON object."""


def serialize_transformer(transformer: Transformer) -> tuple[Json, dict[str, Array]]:
    """Serialise a transformer: the names as JSON data, and the tensors.

    Raises:
        UsageError: If a number does not fit in 64 bits.
    """
    writer = _Writer()
    return writer.transformer(transformer), writer.tensors


class _Writer:
    """Serialiser of a transformer."""

    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}

    def transformer(self, transformer: Transformer) -> Json:
        self.matrix("embedding", transformer.embedding)
        self.matrix("position_embedding", transformer.position_embedding)
        self.affine("unembedding", transformer.unembedding)
        return {
            "name": transformer.name,
            "vocabulary": transformer.vocabulary,
            "coordinates": transformer.coordinates,
            "features": [feature_to_json(feature) for feature in transformer.features],
            "blocks": [self.block(f"blocks.{b}", block) for b, block in enumerate(transformer.blocks)],
            "outputs": transformer.outputs,
        }

    def block(self, at: str, block: Block) -> Json:
        repeats = feature_to_json(block.repeats) if isinstance(block.repeats, Feature) else block.repeats
        layers = [self.layer(f"{at}.layers.{d}", layer) for d, layer in enumerate(block.layers)]
        return {"name": block.name, "repeats": repeats, "layers": layers}

    def layer(self, at: str, layer: Layer) -> Json:
        heads, forward = [self.head(f"{at}.heads.{h}", head) for h, head in enumerate(layer.heads)], layer.feed_forward
        self.affine(f"{at}.first", forward.first)
        self.affine(f"{at}.second", forward.second)
        norms = {"norms": forward.norms} if forward.norms else {}
        return {"heads": heads, "units": forward.units, "activations": forward.activations, **norms}

    def head(self, at: str, head: Head) -> Json:
        for name, part in (("query", head.query), ("key", head.key), ("value", head.value)):
            self.affine(f"{at}.{name}", part)
        self.matrix(f"{at}.output", head.output)
        scale = head.weighting.scale
        return {
            "name": head.name,
            "mask": str(head.mask),
            "weighting": str(head.weighting.kind),
            "scale": feature_to_json(scale) if isinstance(scale, Feature) else str(scale),
            "bias": feature_to_json(head.bias) if head.bias else None,
        }

    def affine(self, name: str, affine: AffineMap) -> None:
        self.matrix(f"{name}.weight", affine.weight)
        self.numbers(f"{name}.bias", affine.bias)

    def matrix(self, name: str, matrix: Matrix) -> None:
        entries = list(matrix.entries())
        self.tensors[f"{name}.shape"] = np.array(matrix.shape, dtype=np.int64)
        self.tensors[f"{name}.index"] = np.array([(r, c) for r, c, _ in entries], dtype=np.int32).reshape(-1, 2)
        self.numbers(name, [value for _, _, value in entries])

    def numbers(self, name: str, numbers: Sequence[Fraction]) -> None:
        try:
            self.tensors[f"{name}.numerator"] = np.array([number.numerator for number in numbers], dtype=np.int64)
            self.tensors[f"{name}.denominator"] = np.array([number.denominator for number in numbers], dtype=np.int64)
        except OverflowError:
            message = f"a weight of {name} does not fit in 64 bits, so the model cannot be saved exactly"
            raise UsageError(message) from None


def deserialize_transformer(
    data: Json, tensors: Mapping[str, Array], features: tuple[type[Feature | Relation], ...]
) -> Transformer:
    """Build a transformer from data and tensors, with features of these classes; every tensor must be used.

    Raises:
        LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError: If they are inconsistent.
    """
    reader = _Reader(tensors, features)
    transformer = reader.transformer(data)
    if reader.tensors:
        raise ValueError(f"{WEIGHTS_FILE} has an unexpected tensor {min(reader.tensors)}")
    return transformer


class _Reader:
    """Deserialiser of a transformer; checks every shape before allocating anything of that size."""

    def __init__(self, tensors: Mapping[str, Array], features: tuple[type[Feature | Relation], ...]) -> None:
        self.tensors = dict(tensors)
        self.features = features
        self.width = 0

    def transformer(self, data: Json) -> Transformer:
        vocabulary, coordinates, outputs = map(_strings, (data["vocabulary"], data["coordinates"], data["outputs"]))
        if len(set(vocabulary)) != len(vocabulary):
            raise ValueError("a token occurs twice in the vocabulary")
        features = tuple(self.feature(item) for item in data["features"])
        self.width = len(coordinates)
        return Transformer(
            name=_string(data["name"]),
            vocabulary=vocabulary,
            coordinates=coordinates,
            embedding=self.matrix("embedding", len(vocabulary), self.width),
            features=features,
            position_embedding=self.matrix("position_embedding", len(features), self.width),
            blocks=tuple(self.block(f"blocks.{b}", item) for b, item in enumerate(data["blocks"])),
            outputs=outputs,
            unembedding=self.affine("unembedding", len(outputs), self.width),
        )

    def block(self, at: str, data: Json) -> Block:
        repeats = data["repeats"] if type(data["repeats"]) is int else self.feature(data["repeats"])
        if isinstance(repeats, int) and repeats < 0:
            raise ValueError(f"a block cannot have {repeats} iterations")
        layers = tuple(self.layer(f"{at}.layers.{d}", item) for d, item in enumerate(data["layers"]))
        return Block(layers, repeats, _string(data["name"]))

    def layer(self, at: str, data: Json) -> Layer:
        heads = tuple(self.head(f"{at}.heads.{h}", item) for h, item in enumerate(data["heads"]))
        units, activations = _strings(data["units"]), _strings(data["activations"])
        if len(activations) != len(units) or not set(activations) <= {"relu", "step", "norm"}:
            raise ValueError(f"the activations of {at} are not one of relu, step and norm per unit")
        norms = tuple(tuple(group) for group in data.get("norms", []))
        normalised = [u for u, activation in enumerate(activations) if activation == "norm"]
        if sorted(u for group in norms for u in group) != normalised or not all(norms):
            raise ValueError(f"the norms of {at} do not partition its norm units")
        first = self.affine(f"{at}.first", len(units), self.width)
        second = self.affine(f"{at}.second", self.width, len(units))
        return Layer(heads, FeedForward(first, activations, second, units, norms))

    def head(self, at: str, data: Json) -> Head:
        query = self.affine(f"{at}.query", None, self.width)
        value = self.affine(f"{at}.value", None, self.width)
        return Head(
            name=present_head(_string(data["name"])),
            query=query,
            key=self.affine(f"{at}.key", len(query.bias), self.width),
            value=value,
            output=self.matrix(f"{at}.output", self.width, len(value.bias)),
            mask=Mask(data["mask"]),
            weighting=Weighting(AttentionKind(data["weighting"]), self.scale(data["scale"])),
            bias=None if data["bias"] is None else self.relation(data["bias"]),
        )

    def affine(self, name: str, rows: int | None, columns: int) -> AffineMap:
        """An affine map; by default, its number of rows is the length of its bias."""
        bias = tuple(self.numbers(f"{name}.bias"))
        if rows not in (None, len(bias)):
            raise ValueError(f"{WEIGHTS_FILE}: {name}.bias has {len(bias)} numbers, not {rows}")
        return AffineMap(self.matrix(f"{name}.weight", len(bias), columns), bias)

    def matrix(self, name: str, rows: int, columns: int) -> Matrix:
        shape = tuple(self.integers(f"{name}.shape"))
        if shape != (rows, columns):
            raise ValueError(f"{WEIGHTS_FILE}: {name} has shape {shape}, not {(rows, columns)}")
        index = self.take(f"{name}.index", 2)
        if (index < 0).any() or (index >= [rows, columns]).any():
            raise ValueError(f"{WEIGHTS_FILE}: {name} has entries outside of its shape")
        filled: list[dict[int, Fraction]] = [{} for _ in range(rows)]
        values = self.numbers(name)
        if len(index) != len(values):
            raise ValueError(f"{WEIGHTS_FILE}: {name} has {len(index)} indices for {len(values)} numbers")
        for (r, c), value in zip(index.tolist(), values, strict=True):
            filled[r][c] = value
        if sum(map(len, filled)) != len(index):
            raise ValueError(f"{WEIGHTS_FILE}: {name} has two entries at one index")
        return Matrix.of(filled, columns)

    def numbers(self, name: str) -> list[Fraction]:
        above, below = self.integers(f"{name}.numerator"), self.integers(f"{name}.denominator")
        if len(above) != len(below) or 0 in below:
            raise ValueError(f"{WEIGHTS_FILE}: the numerators and denominators of {name} are not those of fractions")
        return list(map(Fraction, above, below))

    def integers(self, name: str) -> list[int]:
        return [int(number) for number in self.take(name, 1).tolist()]

    def take(self, name: str, dimensions: int) -> Array:
        """Remove and return an integer tensor: a list of integers, or of pairs."""
        if name not in self.tensors:
            raise ValueError(f"{WEIGHTS_FILE} has no {name}")
        array = self.tensors.pop(name)
        if array.ndim != dimensions or array.dtype.kind not in "iu" or (dimensions == 2 and array.shape[1] != 2):
            raise ValueError(
                f"{WEIGHTS_FILE}: {name} is not a list of {'pairs of ' if dimensions == 2 else ''}integers"
            )
        return array

    def feature(self, data: object) -> Feature:
        found = feature_from_json(data, self.features)
        if not isinstance(found, Feature):
            raise TypeError(f"{found} is not a position feature")
        _ = found.at(1, 1), found.name  # raises if the parameters are invalid
        return found

    def relation(self, data: object) -> Relation:
        found = feature_from_json(data, self.features)
        if not isinstance(found, Relation):
            raise TypeError(f"{found} is not a relation between positions")
        _ = found.at(0, 1), found.name
        return found

    def scale(self, data: object) -> Fraction | Feature:
        if not isinstance(data, str):
            return self.feature(data)
        if not re.fullmatch(r"-?\d{1,999}(/\d{1,999})?", data):
            raise ValueError(f"the scale {data[:40]!r} is not a fraction")
        return Fraction(data)


def _strings(items: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(items, list):
        raise TypeError("a list of names is not a list")
    return tuple(map(_string, items))


def _string(item: object) -> str:
    if not isinstance(item, str):
        raise TypeError(f"{item!r} is not a name")
    return item
