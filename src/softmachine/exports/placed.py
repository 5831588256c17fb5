"""What a checkpoint is before it is written: tensors in the places of an architecture, and where everything went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softmachine.exports.lowered import Affine, Array, Lowered, LoweredLayer, head_width
from softmachine.support.errors import ConstructionError

SAMPLING_GAIN = 64.0
"""Logits are multiplied by this, so that sampling at temperature 1 decides as greedy decoding does."""
WIDEST = 1 << 14
"""Wider models are refused: a matrix would take gigabytes."""


@dataclass(frozen=True)
class Placed:
    """Tensors in the places of an architecture.

    Args:
        architecture: The name of the class in transformers, e.g. "GPT2LMHeadModel".
        config: The configuration, without what all architectures share.
        tensors: The weights by name; they are cast to the wanted format when written.
        model: What was placed.
        mirror: Coordinate c is also stored, negated, at this index plus c; None if it is not.
        gain: What a margin of 1 between logits of the original has become.
        activation_gain: Pre-activations of the feed-forward units are multiplied by this.
        width: The width of the architecture's stream.
        heads: The heads that the architecture has in every layer, idle ones too.
        blocks: In code, the layers of the loaded ``model``, and after them what computes logits: each reads the stream.
        tokenizer: The class in transformers that loads the tokenizer as it was written.
    """

    architecture: str
    config: Mapping[str, object]
    tensors: Mapping[str, Array]
    model: Lowered
    mirror: int | None
    gain: float
    activation_gain: float
    width: int
    heads: int
    blocks: str = "[]"
    tokenizer: str = "AutoTokenizer"

    def idle(self, layer: int) -> range:
        """The heads of a layer that do nothing."""
        return range(len(self.model.layers[layer].heads), self.heads)

    @property
    def auto_class(self) -> str:
        """The class in transformers that loads the model without knowing its architecture."""
        return "AutoModelForCausalLM" if self.model.causal else "AutoModelForTokenClassification"

    @property
    def task(self) -> str:
        """What transformers calls what the model does."""
        return "text-generation" if self.model.causal else "token-classification"


class Stream:
    """The wider stream of an architecture: coordinate c is at c.

    Args:
        model: What is placed.
        width: The width of the architecture's stream.
    """

    def __init__(self, model: Lowered, width: int) -> None:
        self.model, self.width, self.head = model, width, head_width(model)

    def stored(self, rows: Array) -> Array:
        """Vectors over the coordinates, as they are stored."""
        return np.pad(rows, ((0, 0), (0, self.width - self.model.width)))

    def reading(self, affine: Affine) -> Array:
        """The matrix of a map that reads the stream."""
        return self.stored(affine.weight)

    def attention(self, layer: LoweredLayer) -> dict[str, Affine]:
        """Queries, keys, values and outputs of all heads side by side; the architectures divide scores by a root."""
        names = ("query", "key", "value")
        parts = {name: Affine(np.zeros((self.width, self.width)), np.zeros(self.width)) for name in (*names, "output")}
        for h, head in enumerate(layer.heads):
            first = h * self.head
            for name, affine in zip(names, (head.query.times(self.head**0.5), head.key, head.value), strict=True):
                end = first + len(affine.bias)
                parts[name].weight[first:end], parts[name].bias[first:end] = self.reading(affine), affine.bias
            parts["output"].weight[:, first : first + head.output.shape[1]] = self.stored(head.output.T).T
        return parts

    def feed_forward(self, layer: LoweredLayer, inner: int, gain: float = 1.0) -> tuple[Affine, Affine]:
        """What units read, multiplied by a gain, and what they write, divided by it."""
        units = len(layer.units)
        first = Affine(np.zeros((inner, self.width)), np.zeros(inner))
        first.weight[:units], first.bias[:units] = self.reading(layer.first) * gain, layer.first.bias * gain
        second = Affine(np.zeros((self.width, inner)), self.stored(layer.second.bias[None])[0])
        second.weight[:, :units] = self.stored(layer.second.weight.T).T / gain
        return first, second


class Mirrored(Stream):
    """A stream in which every coordinate is stored twice, as x and -x, so that layer norms find a mean of 0.

    Coordinate c is at c and, negated, at half the width plus c.
    """

    def __init__(self, model: Lowered, width: int) -> None:
        super().__init__(model, width)
        if width > WIDEST:
            raise ConstructionError(
                f"{model.name!r} would need a model of width {width:,}; at most {WIDEST:,} is written "
                f"(its residual stream has {model.width:,} coordinates, its widest head {self.head:,}, its vocabulary "
                f"{len(model.vocabulary):,} tokens)",
                hint="export it for a smaller context",
            )
        self.half = width // 2

    def stored(self, rows: Array) -> Array:
        """Vectors over the coordinates, as they are stored."""
        stored = np.zeros((len(rows), self.width))
        stored[:, : self.model.width] = rows
        stored[:, self.half : self.half + self.model.width] = -rows
        return stored

    def reading(self, affine: Affine) -> Array:
        """The matrix of a map that reads the stream: half of the difference, so that what is added to both cancels."""
        return self.stored(affine.weight / 2)


def neutral_norms(dtype: str) -> tuple[float, float]:
    """The weight of a layer norm and the ε that makes its deviation the same number; in float16, 2¹⁶ is infinite."""
    return (2.0**15, 2.0**30) if dtype == "float16" else (2.0**40, 2.0**80)
