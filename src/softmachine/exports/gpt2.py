"""GPT-2: a lowered transformer in the weights of a stock ``GPT2LMHeadModel``.

Layer norm subtracts the mean and divides by the deviation; neither may happen. Every coordinate x is stored twice, as x
and -x, so that the mean is 0, and read as half of the difference, so that what rounding makes of the mean cancels. The
deviation is made a power of two, which the norm's own weight undoes: with a huge ``layer_norm_epsilon`` (neutral), or,
if the configuration is to be the default one, by a pair of constants ±C so large that nothing else counts. The default
configuration also has GELU in place of ReLU (pre-activations are multiplied until that makes no difference) and ties
the unembedding to the embedding (see :mod:`.tied`).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from softmachine.errors import ConstructionError
from softmachine.exports import checkpoint
from softmachine.exports.conditioning import relieved
from softmachine.exports.formats import WIDE, StockFormat
from softmachine.exports.lowered import Affine, Array, Lowered, LoweredLayer, head_width, most_heads, most_units
from softmachine.exports.mirrored import Mirrored
from softmachine.exports.placed import SAMPLING_GAIN, Placed
from softmachine.exports.tied import tied

LARGE = 2.0**20
"""C: coordinates within ±1 change a mean of squares of C² by less than float32 can see."""
NARROW = 2.0**14
"""In float16, units do not read with larger weights than this."""
GELU_GAIN = 2.0**20
"""GELU(2²⁰ x) / 2²⁰ is ReLU(x), except for |x| < 2⁻¹⁷, where the error is below 2⁻²²."""


def gpt2(model: Lowered, dtype: str) -> Placed:
    """With neutral norms, ReLU and an unembedding of its own."""
    narrow = dtype == "float16"  # where 2⁴⁰ is infinite, and 2¹⁶ too
    if narrow:
        model = relieved(model, NARROW)
    head = head_width(model)
    heads = max(most_heads(model), -(-2 * (model.width + 1) // head))
    place = _Place(model, heads * head, head, constant=1.0, activation_gain=1.0)
    inner = most_units(model)
    tensors = place.tensors(inner, norm=2.0**15 if narrow else 2.0**40)
    logits = Affine(model.unembedding.weight * SAMPLING_GAIN, model.unembedding.bias * SAMPLING_GAIN)
    tensors["lm_head.weight"] = place.unbiased(logits)
    config = {
        "activation_function": "relu",
        "layer_norm_epsilon": 2.0**30 if narrow else 2.0**80,
        "n_inner": inner,
        "tie_word_embeddings": False,
    }
    return place.placed(config, tensors, SAMPLING_GAIN)


def gpt2_default(model: Lowered, dtype: str) -> Placed:
    """With nothing in the configuration but sizes: default norms, GELU, tied embeddings."""
    if dtype == "float16":
        raise ConstructionError(
            f"the default configuration cannot be made for float16, which has no room for the constants ±{LARGE:.0f}",
            hint="export to gpt2, whose norms are neutral",
        )
    model, gain = tied(model)
    head = head_width(model)
    width = 2
    while width < 2 * (model.width + 1) or width < head * most_heads(model):
        width *= 4
    while 4 * width < most_units(model):
        width *= 4
    place = _Place(model, width, head, constant=LARGE, activation_gain=GELU_GAIN)
    tensors = place.tensors(4 * width, norm=LARGE * (2 / width) ** 0.5)
    return place.placed({}, tensors, 2 * gain)


class _Place(Mirrored):
    """Where things go in a GPT-2; the constant of its norms is at the coordinate after all others."""

    def __init__(self, model: Lowered, width: int, head: int, *, constant: float, activation_gain: float) -> None:
        super().__init__(model, width, head)
        self.constant, self.activation_gain = constant, activation_gain

    def unbiased(self, affine: Affine) -> Array:
        """The matrix of a map in a layer without biases: its bias is read off the constant."""
        rows = self.reading(affine)
        rows[:, self.model.width] = affine.bias / (2 * self.constant)
        rows[:, self.half + self.model.width] = -rows[:, self.model.width]
        return rows

    def tensors(self, inner: int, norm: float) -> dict[str, Array]:
        """Everything but the unembedding."""
        model = self.model
        positions = self.mirrored(model.positions)
        positions[:, model.width], positions[:, self.half + model.width] = self.constant, -self.constant
        tensors = {"transformer.wte.weight": self.mirrored(model.embedding), "transformer.wpe.weight": positions}
        norms = ["ln_f", *(f"h.{k}.{name}" for k in range(len(model.layers)) for name in ("ln_1", "ln_2"))]
        for name in norms:
            tensors[f"transformer.{name}.weight"] = np.full(self.width, norm)
            tensors[f"transformer.{name}.bias"] = np.zeros(self.width)
        for k, layer in enumerate(model.layers):
            own = {**self.attention(layer), **self.feed_forward(layer, inner)}
            tensors |= {f"transformer.h.{k}.{name}": tensor for name, tensor in own.items()}
        return tensors

    def attention(self, layer: LoweredLayer) -> dict[str, Array]:
        weight, bias = np.zeros((3, self.width, self.width)), np.zeros((3, self.width))
        output = np.zeros((self.width, self.width))
        for h, head in enumerate(layer.heads):
            first = h * self.head
            for part, affine in enumerate((head.query, head.key, head.value)):
                factor = self.head**0.5 if part == 0 else 1.0  # GPT-2 divides scores by this
                end = first + len(affine.bias)
                weight[part, first:end] = self.reading(affine) * factor
                bias[part, first:end] = affine.bias * factor
            output[:, first : first + head.output.shape[1]] = self.mirrored(head.output.T).T
        return {
            "attn.c_attn.weight": weight.reshape(3 * self.width, self.width).T,
            "attn.c_attn.bias": bias.reshape(-1),
            "attn.c_proj.weight": output.T,
            "attn.c_proj.bias": np.zeros(self.width),
        }

    def feed_forward(self, layer: LoweredLayer, inner: int) -> dict[str, Array]:
        units, gain = len(layer.units), self.activation_gain
        first, first_bias, second = np.zeros((inner, self.width)), np.zeros(inner), np.zeros((self.width, inner))
        first[:units] = self.reading(layer.first) * gain
        first_bias[:units] = layer.first.bias * gain
        second[:, :units] = self.mirrored(layer.second.weight.T).T / gain
        return {
            "mlp.c_fc.weight": first.T,
            "mlp.c_fc.bias": first_bias,
            "mlp.c_proj.weight": second.T,
            "mlp.c_proj.bias": self.mirrored(layer.second.bias[None, :])[0],
        }

    def placed(self, config: dict[str, object], tensors: dict[str, Array], gain: float) -> Placed:
        sizes = {
            "n_embd": self.width,
            "n_head": self.width // self.head,
            "n_layer": len(self.model.layers),
            "n_positions": len(self.model.positions),
        }
        config = {"model_type": "gpt2", **sizes, **config}
        return Placed("GPT2LMHeadModel", config, tensors, self.model, self.half, gain, self.activation_gain)


STOCK = (
    StockFormat("gpt2", "Hugging Face, GPT2LMHeadModel, neutral norms", partial(checkpoint.fill, place=gpt2), rank=1),
    StockFormat(
        "gpt2-default",
        "Hugging Face, GPT2LMHeadModel, default configuration",
        partial(checkpoint.fill, place=gpt2_default),
        WIDE,
        rank=2,
    ),
)
