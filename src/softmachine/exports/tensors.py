"""Tensors of a checkpoint in the layout of an architecture, before they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softmachine.exports.lowered_model import Array, DenseAffine, LoweredLayer, LoweredTransformer, head_width
from softmachine.support.errors import ConstructionError

SAMPLING_GAIN = 64.0
"""The factor of logits, which makes sampling at temperature 1 agree with greedy decoding."""
MAX_WIDTH = 1 << 14
"""The largest width: a wider matrix would take gigabytes."""


@dataclass(frozen=True)
class ArchitectureTensors:
    """Tensors in the layout of an architecture.

    Args:
        architecture: The name of the class in transformers, e.g. "GPT2LMHeadModel".
        config: The configuration, without the parts that all architectures share.
        tensors: The weights by name, in float64; writing casts them.
        model: The lowered model.
        mirror_offset: Coordinate c is also stored, negated, at index ``mirror + c``; None if there are no copies.
        gain: The factor of the logits.
        activation_gain: The factor of the pre-activations of the feed-forward units.
        width: The width of the architecture's residual stream.
        heads: The number of heads in every layer, idle ones included.
        blocks: Python code for the list of layers of the loaded ``model``, followed by the module that computes logits.
        tokenizer: The class in transformers that loads the tokenizer unchanged.
    """

    architecture: str
    config: Mapping[str, object]
    tensors: Mapping[str, Array]
    model: LoweredTransformer
    mirror_offset: int | None
    gain: float
    activation_gain: float
    width: int
    heads: int
    blocks: str = "[]"
    tokenizer: str = "AutoTokenizer"

    def idle_heads(self, layer: int) -> range:
        """The indices of the idle heads of a layer."""
        return range(len(self.model.layers[layer].heads), self.heads)

    @property
    def auto_class(self) -> str:
        """The auto class in transformers that loads the model."""
        return "AutoModelForCausalLM" if self.model.causal else "AutoModelForTokenClassification"

    @property
    def pipeline_tag(self) -> str:
        """The pipeline tag of the model on the Hugging Face hub."""
        return "text-generation" if self.model.causal else "token-classification"


class StreamLayout:
    """Layout of an architecture's residual stream: coordinate c is at index c, followed by padding.

    Args:
        model: The lowered model.
        width: The width of the architecture's residual stream.
    """

    def __init__(self, model: LoweredTransformer, width: int) -> None:
        self.model, self.width, self.head = model, width, head_width(model)

    def to_layout(self, rows: Array) -> Array:
        """Vectors over the coordinates, in the layout of the stream."""
        return np.pad(rows, ((0, 0), (0, self.width - self.model.width)))

    def read_matrix(self, affine: DenseAffine) -> Array:
        """The matrix of a map that reads the stream."""
        return self.to_layout(affine.weight)

    def stack_heads(self, layer: LoweredLayer) -> dict[str, DenseAffine]:
        """Queries, keys, values and outputs of all heads, stacked; queries undo the division of scores by a root."""
        names = ("query", "key", "value")
        parts = {
            name: DenseAffine(np.zeros((self.width, self.width)), np.zeros(self.width)) for name in (*names, "output")
        }
        for h, head in enumerate(layer.heads):
            first = h * self.head
            for name, affine in zip(names, (head.query.scaled_by(self.head**0.5), head.key, head.value), strict=True):
                end = first + len(affine.bias)
                parts[name].weight[first:end], parts[name].bias[first:end] = self.read_matrix(affine), affine.bias
            parts["output"].weight[:, first : first + head.output.shape[1]] = self.to_layout(head.output.T).T
        return parts

    def stack_units(self, layer: LoweredLayer, inner: int, gain: float = 1.0) -> tuple[DenseAffine, DenseAffine]:
        """The maps that units read, multiplied by a gain, and write, divided by it."""
        units = len(layer.units)
        first = DenseAffine(np.zeros((inner, self.width)), np.zeros(inner))
        first.weight[:units], first.bias[:units] = self.read_matrix(layer.first) * gain, layer.first.bias * gain
        second = DenseAffine(np.zeros((self.width, inner)), self.to_layout(layer.second.bias[None])[0])
        second.weight[:, :units] = self.to_layout(layer.second.weight.T).T / gain
        return first, second


class MirroredLayout(StreamLayout):
    """Layout in which every coordinate is stored twice, as x and -x, so that the mean in layer norms is 0.

    Coordinate c is at c and, negated, at half the width plus c.
    """

    def __init__(self, model: LoweredTransformer, width: int) -> None:
        super().__init__(model, width)
        if width > MAX_WIDTH:
            raise ConstructionError(
                f"{model.name!r} needs a model of width {width:,}; the maximum is {MAX_WIDTH:,} "
                f"(its residual stream has {model.width:,} coordinates, its widest head {self.head:,}, its vocabulary "
                f"{len(model.vocabulary):,} tokens)",
                hint="export it for a smaller context",
            )
        self.half = width // 2

    def to_layout(self, rows: Array) -> Array:
        """Vectors over the coordinates, in the layout of the stream."""
        stored = np.zeros((len(rows), self.width))
        stored[:, : self.model.width] = rows
        stored[:, self.half : self.half + self.model.width] = -rows
        return stored

    def read_matrix(self, affine: DenseAffine) -> Array:
        """The matrix of a map that reads half of the difference, so that an error common to both copies cancels."""
        return self.to_layout(affine.weight / 2)


def neutral_norm(dtype: str) -> tuple[float, float]:
    """Weight and ε of a layer norm that cancel: the deviation is √ε, the weight; in float16, 2¹⁶ is infinite."""
    return (2.0**15, 2.0**30) if dtype == "float16" else (2.0**40, 2.0**80)
