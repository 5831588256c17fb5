"""GPT-2 export: a lowered transformer as the weights of a ``GPT2LMHeadModel``.

Layer norm, which subtracts the mean and divides by the standard deviation, must be neutralised. Every coordinate x is
stored twice, as x and -x: the mean is 0, and reading half of the difference cancels rounding errors of the mean. The
deviation is made a power of two, which the norm's weight undoes: by a huge ``layer_norm_epsilon`` (neutral norms) or,
in the default configuration, by a pair of constants ±C so large that the other coordinates do not matter. The default
configuration also has GELU instead of ReLU (pre-activations are multiplied until the difference is negligible) and tied
embeddings (see :func:`tie_embeddings`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from softmachine.exports import hf_checkpoint
from softmachine.exports.formats import DTYPES_WITHOUT_FLOAT16, ExportFormat
from softmachine.exports.lowered_model import (
    Array,
    DenseAffine,
    LoweredLayer,
    LoweredTransformer,
    balance_unit_weights,
    head_width,
    max_heads,
    max_units,
)
from softmachine.exports.tensors import SAMPLING_GAIN, ArchitectureTensors, MirroredLayout, neutral_norm
from softmachine.support.errors import ConstructionError

NORM_CONSTANT = 2.0**20
"""C: in float32, coordinates within ±1 do not change a mean of squares that contains C²."""
MAX_FLOAT16_WEIGHT = 2.0**14
"""The largest weight that units read with in float16."""
GELU_GAIN = 2.0**20
"""GELU(2²⁰ x) / 2²⁰ is ReLU(x), except for |x| < 2⁻¹⁷, where the error is below 2⁻²²."""


def to_gpt2(model: LoweredTransformer, dtype: str) -> ArchitectureTensors:
    """The checkpoint with neutral norms, ReLU and a separate unembedding."""
    if dtype == "float16":
        model = balance_unit_weights(model, MAX_FLOAT16_WEIGHT)
    head, inner = head_width(model), max_units(model)
    norm, epsilon = neutral_norm(dtype)
    place = _Gpt2Layout(model, head * max(max_heads(model), -(-2 * (model.width + 1) // head)))
    tensors = place.build_tensors(inner, norm=norm)
    tensors["lm_head.weight"] = place.fold_bias(model.unembedding.scaled_by(SAMPLING_GAIN))
    config = {
        "activation_function": "relu",
        "layer_norm_epsilon": epsilon,
        "n_inner": inner,
        "tie_word_embeddings": False,
    }
    return place.build(config, tensors, SAMPLING_GAIN)


def to_gpt2_default(model: LoweredTransformer, dtype: str) -> ArchitectureTensors:
    """The checkpoint whose configuration sets only sizes: default norms, GELU, tied embeddings."""
    if dtype == "float16":
        raise ConstructionError(
            f"the default configuration cannot be made for float16: the constants ±{NORM_CONSTANT:.0f} are out of "
            f"range",
            hint="export to gpt2, whose norms are neutral",
        )
    model, gain = tie_embeddings(model)
    width = 2
    while width < max(2 * (model.width + 1), head_width(model) * max_heads(model)) or 4 * width < max_units(model):
        width *= 4
    place = _Gpt2Layout(model, width, constant=NORM_CONSTANT, activation_gain=GELU_GAIN)
    tensors = place.build_tensors(4 * width, norm=NORM_CONSTANT * (2 / width) ** 0.5)
    return place.build({}, tensors, 2 * gain)


class _Gpt2Layout(MirroredLayout):
    """Layout of the stream of a GPT-2; the constant of its norms is the coordinate after all others."""

    def __init__(
        self, model: LoweredTransformer, width: int, *, constant: float = 1.0, activation_gain: float = 1.0
    ) -> None:
        super().__init__(model, width)
        self.constant, self.activation_gain = constant, activation_gain

    def fold_bias(self, affine: DenseAffine) -> Array:
        """The matrix of a map in a layer without biases: its bias is a multiple of the constant."""
        rows = self.read_matrix(affine)
        rows[:, self.model.width] = affine.bias / (2 * self.constant)
        rows[:, self.half + self.model.width] = -rows[:, self.model.width]
        return rows

    def build_tensors(self, inner: int, norm: float) -> dict[str, Array]:
        """All tensors but the unembedding."""
        model = self.model
        positions = self.to_layout(model.positions)
        positions[:, model.width], positions[:, self.half + model.width] = self.constant, -self.constant
        tensors = {"wte.weight": self.to_layout(model.embedding), "wpe.weight": positions}
        maps = {"ln_f": DenseAffine(np.full(self.width, norm), np.zeros(self.width))}
        for k, layer in enumerate(model.layers):
            attention = self.stack_heads(layer)
            first, second = self.stack_units(layer, inner, self.activation_gain)
            three = [attention[part] for part in ("query", "key", "value")]
            maps |= {
                f"h.{k}.ln_1": maps["ln_f"],
                f"h.{k}.ln_2": maps["ln_f"],
                f"h.{k}.attn.c_attn": DenseAffine(
                    np.vstack([part.weight for part in three]), np.concatenate([part.bias for part in three])
                ),
                f"h.{k}.attn.c_proj": attention["output"],
                f"h.{k}.mlp.c_fc": first,
                f"h.{k}.mlp.c_proj": second,
            }
        for name, affine in maps.items():  # GPT-2 stores them transposed
            tensors[f"{name}.weight"], tensors[f"{name}.bias"] = affine.weight.T, affine.bias
        return {f"transformer.{name}": tensor for name, tensor in tensors.items()}

    def build(self, config: dict[str, object], tensors: dict[str, Array], gain: float) -> ArchitectureTensors:
        sizes = {
            "n_embd": self.width,
            "n_head": self.width // self.head,
            "n_layer": len(self.model.layers),
            "n_positions": len(self.model.positions),
        }
        config = {"model_type": "gpt2", **sizes, **config}
        blocks = "[*model.transformer.h, model.lm_head]"
        found = (self.half, gain, self.activation_gain, self.width, self.width // self.head)
        return ArchitectureTensors("GPT2LMHeadModel", config, tensors, self.model, *found, blocks)


def tie_embeddings(model: LoweredTransformer) -> tuple[LoweredTransformer, float]:
    """The model with tied embedding and unembedding, and the gain of its logits.

    The coordinates that the unembedding reads are copied, multiplied by the gain, to new ones. A token's row then holds
    both its embedding and its unembedding; their interference is small compared with the gain.
    """
    logits = model.unembedding
    read = np.flatnonzero(np.any(logits.weight != 0, axis=0))
    rows = np.hstack([logits.weight[:, read], logits.bias[:, None]])
    noise = float(np.abs(model.embedding).sum(axis=1).max() + np.abs(rows @ rows.T).max())
    gain = 2.0 ** math.ceil(math.log2(SAMPLING_GAIN + 4 * noise))
    *before, last = model.layers or (LoweredLayer.from_units((), (), np.zeros(model.width)),)
    wide = [layer.widen(len(read) + 1) for layer in (*before, last)]
    embedding = np.hstack([model.embedding, rows])
    names = (*(f"for the logits: {model.coordinates[c]}" for c in read), "for the logits: 1")
    tied_model = replace(
        model,
        coordinates=(*model.coordinates, *names),
        scales=np.concatenate([model.scales, model.scales[read] * gain, [gain]]),
        embedding=embedding,
        positions=np.pad(model.positions, ((0, 0), (0, len(read) + 1))),
        layers=(*wide[:-1], _copy_to_logits(wide[-1], last, read, gain)),
        unembedding=DenseAffine(embedding / gain, np.zeros(len(embedding))),
    )
    return tied_model, gain


def _copy_to_logits(layer: LoweredLayer, narrow: LoweredLayer, read: NDArray[np.intp], gain: float) -> LoweredLayer:
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
    first = DenseAffine(
        np.vstack([layer.first.weight, copies]), np.concatenate([layer.first.bias, np.zeros(2 * count)])
    )
    names = tuple(f"copy coordinate {c} {sign}" for c in read for sign in "+-")
    return LoweredLayer(layer.heads, first, DenseAffine(np.hstack([weight, writes]), bias), (*layer.units, *names))


EXPORT_FORMAT = (
    ExportFormat(
        "gpt2",
        "Hugging Face, GPT2LMHeadModel, neutral norms",
        partial(hf_checkpoint.write_model, to_architecture=to_gpt2),
        rank=1,
    ),
    ExportFormat(
        "gpt2-default",
        "Hugging Face, GPT2LMHeadModel, default configuration",
        partial(hf_checkpoint.write_model, to_architecture=to_gpt2_default),
        DTYPES_WITHOUT_FLOAT16,
        rank=2,
    ),
)
