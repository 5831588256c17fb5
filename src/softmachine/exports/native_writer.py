"""From a transformer to data: names that JSON holds, and exact numbers in arrays of integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.errors import UsageError
from softmachine.transformer.features import Feature, to_json
from softmachine.transformer.weights import AffineMap, Head, Matrix, Transformer

Array = NDArray[np.integer]
Tensors = dict[str, Array]


def to_data(transformer: Transformer) -> tuple[dict[str, Any], Tensors]:
    """Everything that has a name, and the numbers.

    Raises:
        UsageError: If a number does not fit in 64 bits.
    """
    tensors: Tensors = {}

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
        repeats = to_json(block.repeats) if isinstance(block.repeats, Feature) else block.repeats
        blocks.append({"name": block.name, "repeats": repeats, "layers": layers})
    names = {
        "name": transformer.name,
        "vocabulary": transformer.vocabulary,
        "coordinates": transformer.coordinates,
        "features": [to_json(feature) for feature in transformer.features],
        "blocks": blocks,
        "outputs": transformer.outputs,
    }
    return names, tensors


def _head_names(head: Head) -> dict[str, Any]:
    scale = head.weighting.scale
    return {
        "name": head.name,
        "mask": str(head.mask),
        "weighting": str(head.weighting.choice),
        "scale": to_json(scale) if isinstance(scale, Feature) else str(scale),
        "bias": to_json(head.bias) if head.bias else None,
    }


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
