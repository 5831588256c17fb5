"""GPT-2 export: a lowered transformer as the weights of a ``GPT2LMHeadModel``.

Layer norm, which subtracts the mean and divides by the standard deviation, must be neutralised. Every coordinate x is
stored twice, as x and -x: the mean is 0, and reading half of the difference cancels rounding errors of the mean. The
deviation is made a power of two, which the norm's weight undoes: by a huge ``layer_norm_epsilon`` (neutral norms) or,
in the default configuration, by a pair of constants ±C so large that the other coordinates do not matter. The default
configuration also has GELU instead of ReLU (pre-activations are multiplied until the difference is negligible) and tied
embeddings (see :func:`tied`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from softmachine.exports import hf_checkpoint
from softmachine.exports.formats import WIDE, StockFormat
from softmachine.exports.lowered_model import (
    Affine,
    Array,
    Lowered,
    LoweredLayer,
    head_width,
    most_heads,
    most_units,
    relieved,
)
from softmachine.exports.tensors import SAMPLING_GAIN, Mirrored, Placed, neutral_norms
from softmachine.support.errors import ConstructionError

LARGE = 2.0**20
"""C: in float32, coordinates within ±1 do not change a mean of squares that contains C²."""
NARROW = 2.0**14
"""The largest weight that units read with in float16."""
GELU_GAIN = 2.0**20
"""GELU(2²⁰ x) / 2²⁰ is ReLU(x), except for |x| < 2⁻¹⁷, where the error is below 2⁻²²."""


def gpt2(model: Lowered, dtype: str) -> Placed:
    """The checkpoint with neutral norms, ReLU and a separate unembedding."""
    if dtype == "float16":
        model = relieved(model, NARROW)
    head, inner = head_width(model), most_units(model)
    norm, epsilon = neutral_norms(dtype)
    place = _Place(model, head * max(most_heads(model), -(-2 * (model.width + 1) // head)))
    tensors = place.tensors(inner, norm=norm)
    tensors["lm_head.weight"] = place.unbiased(model.unembedding.times(SAMPLING_GAIN))
    config = {
        "activation_function": "relu",
        "layer_norm_epsilon": epsilon,
        "n_inner": inner,
        "tie_word_embeddings": False,
    }
    return place.placed(config, tensors, SAMPLING_GAIN)


def gpt2_default(model: Lowered, dtype: str) -> Placed:
    """The checkpoint whose configuration sets only sizes: default norms, GELU, tied embeddings."""
    if dtype == "float16":
        raise ConstructionError(
            f"the default configuration cannot be made for float16: the constants ±{LARGE:.0f} are out of range",
            hint="export to gpt2, whose norms are neutral",
        )
    model, gain = tied(model)
    width = 2
    while width < max(2 * (model.width + 1), head_width(model) * most_heads(model)) or 4 * width < most_units(model):
        width *= 4
    place = _Place(model, width, constant=LARGE, activation_gain=GELU_GAIN)
    tensors = place.tensors(4 * width, norm=LARGE * (2 / width) ** 0.5)
    return place.placed({}, tensors, 2 * gain)


class _Place(Mirrored):
    """Layout of the stream of a GPT-2; the constant of its norms is the coordinate after all others."""

    def __init__(self, model: Lowered, width: int, *, constant: float = 1.0, activation_gain: float = 1.0) -> None:
        super().__init__(model, width)
        self.constant, self.activation_gain = constant, activation_gain

    def unbiased(self, affine: Affine) -> Array:
        """The matrix of a map in a layer without biases: its bias is a multiple of the constant."""
        rows = self.reading(affine)
        rows[:, self.model.width] = affine.bias / (2 * self.constant)
        rows[:, self.half + self.model.width] = -rows[:, self.model.width]
        return rows

    def tensors(self, inner: int, norm: float) -> dict[str, Array]:
        """All tensors but the unembedding."""
        model = self.model
        positions = self.stored(model.positions)
        positions[:, model.width], positions[:, self.half + model.width] = self.constant, -self.constant
        tensors = {"wte.weight": self.stored(model.embedding), "wpe.weight": positions}
        maps = {"ln_f": Affine(np.full(self.width, norm), np.zeros(self.width))}
        for k, layer in enumerate(model.layers):
            attention = self.attention(layer)
            first, second = self.feed_forward(layer, inner, self.activation_gain)
            three = [attention[part] for part in ("query", "key", "value")]
            maps |= {
                f"h.{k}.ln_1": maps["ln_f"],
                f"h.{k}.ln_2": maps["ln_f"],
                f"h.{k}.attn.c_attn": Affine(
                    np.vstack([part.weight for part in three]), np.concatenate([part.bias for part in three])
                ),
                f"h.{k}.attn.c_proj": attention["output"],
                f"h.{k}.mlp.c_fc": first,
                f"h.{k}.mlp.c_proj": second,
            }
        for name, affine in maps.items():  # GPT-2 stores them transposed
            tensors[f"{name}.weight"], tensors[f"{name}.bias"] = affine.weight.T, affine.bias
        return {f"transformer.{name}": tensor for name, tensor in tensors.items()}

    def placed(self, config: dict[str, object], tensors: dict[str, Array], gain: float) -> Placed:
        sizes = {
            "n_embd": self.width,
            "n_head": self.width // self.head,
            "n_layer": len(self.model.layers),
            "n_positions": len(self.model.positions),
        }
        config = {"model_type": "gpt2", **sizes, **config}
        blocks = "[*model.transformer.h, model.lm_head]"
        found = (self.half, gain, self.activation_gain, self.width, self.width // self.head)
        return Placed("GPT2LMHeadModel", config, tensors, self.model, *found, blocks)


def tied(model: Lowered) -> tuple[Lowered, float]:
    """The model with tied embedding and unembedding, and the gain of its logits.

    The coordinates that the unembedding reads are copied, multiplied by the gain, to new ones. A token's row then holds
    both its embedding and its unembedding; their interference is small compared with the gain.
    """
    logits = model.unembedding
    read = np.flatnonzero(np.any(logits.weight != 0, axis=0))
    rows = np.hstack([logits.weight[:, read], logits.bias[:, None]])
    noise = float(np.abs(model.embedding).sum(axis=1).max() + np.abs(rows @ rows.T).max())
    gain = 2.0 ** math.ceil(math.log2(SAMPLING_GAIN + 4 * noise))
    *before, last = model.layers or (LoweredLayer.of((), (), np.zeros(model.width)),)
    wide = [layer.widened(len(read) + 1) for layer in (*before, last)]
    embedding = np.hstack([model.embedding, rows])
    names = (*(f"for the logits: {model.coordinates[c]}" for c in read), "for the logits: 1")
    tied_model = replace(
        model,
        coordinates=(*model.coordinates, *names),
        scales=np.concatenate([model.scales, model.scales[read] * gain, [gain]]),
        embedding=embedding,
        positions=np.pad(model.positions, ((0, 0), (0, len(read) + 1))),
        layers=(*wide[:-1], _copying(wide[-1], last, read, gain)),
        unembedding=Affine(embedding / gain, np.zeros(len(embedding))),
    )
    return tied_model, gain


def _copying(layer: LoweredLayer, narrow: LoweredLayer, read: NDArray[np.intp], gain: float) -> LoweredLayer:
    """The last layer, which also copies the coordinates that the unembedding reads, with the sum of its own units."""
    width, count = narrow.second.weight.shape[0], len(read)
    copies = np.zeros((2 * count, width + count + 1))
    writes = np.zeros((width + count + 1, 2 * count))
    for k, coordinate in enumerate(read):
        for side, sign in enumerate((1.0, -1.0)):  # x = ReLU(x) - ReLU(-x)
            copies[2 * k + side, coordinate] = sign
            writes[width + k, 2 * k + side] = sign * gain
    weight, bias = layer.second.weight.copy(), layer.second.bias.copy()
    weight[width : width + count] = gain * narrow.second.weight[read]
    bias[width : width + count] = gain * narrow.second.bias[read]
    bias[-1] = gain
    first = Affine(np.vstack([layer.first.weight, copies]), np.concatenate([layer.first.bias, np.zeros(2 * count)]))
    names = tuple(f"copy coordinate {c} {sign}" for c in read for sign in "+-")
    return LoweredLayer(layer.heads, first, Affine(np.hstack([weight, writes]), bias), (*layer.units, *names))


EXPORT_FORMAT = (
    StockFormat(
        "gpt2", "Hugging Face, GPT2LMHeadModel, neutral norms", partial(hf_checkpoint.fill, place=gpt2), rank=1
    ),
    StockFormat(
        "gpt2-default",
        "Hugging Face, GPT2LMHeadModel, default configuration",
        partial(hf_checkpoint.fill, place=gpt2_default),
        WIDE,
        rank=2,
    ),
)
