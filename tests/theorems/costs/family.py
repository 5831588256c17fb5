"""A family of sources of growing size, and what their models cost, measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.engines.dense.weight_names import min_fixed_point_bits
from softmachine.languages.source import Source
from softmachine.transformer.weights import Transformer

Made = tuple[Source | str, int | None]
SIX = (1, 2, 3, 4, 5, 6)
SOFTMAX = " with softmax"


@dataclass(frozen=True)
class Family:
    """Sources of growing size.

    Args:
        theorem: The theorem.
        of: What they are.
        sizes: The sizes.
        make: The source of a size, and the length that the weights are made for.
        tight: Quantities whose bounds are attained at every size.
        attentions: With which attentions; all of them cost the same.
    """

    theorem: str
    of: str
    sizes: tuple[int, ...]
    make: Callable[[int], Made]
    tight: tuple[str, ...] = ()
    attentions: tuple[str, ...] = ("hard",)

    def __str__(self) -> str:
        return f"{self.theorem}: {self.of}"


def measured(model: Model, quantity: str) -> int:
    """The cost of a model."""
    codec: Any = model.codec
    if quantity.endswith(SOFTMAX):
        program = model.theorem.signals(codec, model.theorem.certified_variant)
        return _of_weights(compile_program(program), quantity.removesuffix(SOFTMAX))
    match quantity:
        case "positions":
            words = (word for length in count() for word in codec.words(length))
            return len(codec.prompt(next(words)).tokens)  # the same for all words that the model takes
        case "N":
            return int(codec.configurations.vertices)
    return _of_weights(model.weights, quantity)


def _of_weights(weights: Transformer, quantity: str) -> int:
    heads, layers = weights.heads, weights.layers
    match quantity:
        case "layers":
            return weights.depth(None)
        case "stored layers":
            return len(layers)
        case "heads":
            return len(heads)
        case "heads per layer":
            return max(len(layer.heads) for layer in layers)
        case "key width":
            return max(len(head.query.bias) for head in heads)
        case "value width":
            return max(len(head.value.bias) for head in heads)
        case "units per layer":
            return max(len(layer.feed_forward.units) for layer in layers)
        case "width":
            return weights.width
        case "precision":
            bits = min_fixed_point_bits(weights)
            assert bits is not None
            return bits
    raise ValueError(quantity)
