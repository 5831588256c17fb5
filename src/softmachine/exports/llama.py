"""LLaMA and its like: a lowered transformer without positions in a stock ``LlamaForCausalLM``, Mistral or Qwen2.

The root mean square that the norm divides by is made a power of two by one constant C, so large that nothing else
counts; the norm's own weight undoes it. Constants are read off C, since these architectures have no biases. The gated
units compute SiLU(gate) · up, which is ReLU for a large gate and up = 1/gate's factor. Rotary positions are stretched
until nothing rotates.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from softmachine.exports import checkpoint
from softmachine.exports.formats import WIDE, StockFormat
from softmachine.exports.lowered import Affine, Array, Lowered, LoweredLayer, head_width, most_heads, most_units
from softmachine.exports.placed import SAMPLING_GAIN, Placed, Stream
from softmachine.exports.stock import unrotated
from softmachine.support.errors import ConstructionError

LARGE = 2.0**30
"""C: a coordinate within ±1 changes C² by less than float32 can see."""
SILU_GAIN = 2.0**22
"""SiLU(2²² x) / 2²² is ReLU(x), except for |x| < 2⁻¹⁷, where the error is below 2⁻²³."""

_CLASSES = {"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM"}


def _place(kind: str, model: Lowered, dtype: str) -> Placed:
    if model.positions.any():
        raise ConstructionError(
            f"{model.name!r} uses position features, which a {kind} model does not have",
            hint="Turing machines have a theorem without: residues-without-positions; else export to gpt2",
        )
    if dtype == "float16":
        raise ConstructionError(
            f"a {kind} model cannot be made for float16, which has no room for the constant {LARGE:.0f} of its norms",
            hint="export to gpt2, or in float32",
        )
    head = head_width(model)
    width = 4
    while width < max(model.width + 1, head * most_heads(model)):
        width *= 4
    inner = 1 + most_units(model)
    config = {
        "model_type": kind,
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": len(model.layers),
        "num_attention_heads": width // head,
        "num_key_value_heads": width // head,
        "max_position_embeddings": len(model.positions),
        "rope_parameters": unrotated(),
        "tie_word_embeddings": False,
    }
    if kind == "mistral":
        config["sliding_window"] = None
    tensors = _Place(model, width).tensors(inner, biased=kind == "qwen2")
    # For every qwen2, AutoTokenizer puts its own way to split text into words in place of the one in the folder.
    tokenizer = "PreTrainedTokenizerFast" if kind == "qwen2" else "AutoTokenizer"
    found = (SAMPLING_GAIN, SILU_GAIN, width, width // head)
    blocks = "[*model.model.layers, model.lm_head]"
    return Placed(_CLASSES[kind], config, tensors, model, None, *found, blocks, tokenizer)


llama, mistral, qwen2 = (partial(_place, kind) for kind in _CLASSES)


class _Place(Stream):
    """Where things go in a LLaMA: the constant is at the coordinate after all others."""

    def reading(self, affine: Affine) -> Array:
        """The matrix of a map that reads the stream, and its bias off the constant."""
        rows = self.stored(affine.weight)
        rows[:, self.model.width] = affine.bias / LARGE
        return rows

    def tensors(self, inner: int, *, biased: bool) -> dict[str, Array]:
        model = self.model
        embedding = self.stored(model.embedding)
        embedding[:, model.width] = LARGE
        norm = np.full(self.width, LARGE / self.width**0.5)
        tensors = {
            "model.embed_tokens.weight": embedding,
            "model.norm.weight": norm,
            "lm_head.weight": self.reading(model.unembedding.times(SAMPLING_GAIN)),
        }
        for k, layer in enumerate(model.layers):
            own = {"input_layernorm.weight": norm, "post_attention_layernorm.weight": norm}
            for part, affine in self.attention(layer).items():
                own[f"self_attn.{part[0]}_proj.weight"] = affine.weight
            own |= self.gated(layer, inner)
            if biased:
                own |= {f"self_attn.{name}_proj.bias": np.zeros(self.width) for name in "qkv"}
            tensors |= {f"model.layers.{k}.{name}": tensor for name, tensor in own.items()}
        return tensors

    def gated(self, layer: LoweredLayer, inner: int) -> dict[str, Array]:
        """The units; one more is always 1, for what the layer adds everywhere."""
        units, constant = len(layer.units), self.model.width
        first, second = self.feed_forward(layer, inner)
        gate, up, down = first.weight * SILU_GAIN, np.zeros((inner, self.width)), second.weight
        up[: units + 1, constant] = 1 / (SILU_GAIN * LARGE)
        gate[units, constant], down[:, units] = SILU_GAIN / LARGE, second.bias
        return {"mlp.gate_proj.weight": gate, "mlp.up_proj.weight": up, "mlp.down_proj.weight": down}


STOCK = tuple(
    StockFormat(
        kind, f"Hugging Face, {name}", partial(checkpoint.fill, place=partial(_place, kind)), WIDE, False, rank=k
    )
    for k, (kind, name) in enumerate(_CLASSES.items(), 3)
)
