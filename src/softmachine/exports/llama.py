"""LLaMA, Mistral and Qwen2 export: a lowered transformer without position features as a ``LlamaForCausalLM``.

RMSNorm is neutralised: one constant coordinate C, so large that the others do not matter, makes the root mean square a
power of two, which the norm's weight undoes. Biases are read off C, since these architectures have none. A gated unit
SiLU(gate) · up is ReLU if the gate is multiplied by a large factor and up is its inverse. Rotary embeddings are scaled
until all angles are 0.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from softmachine.exports import hf_checkpoint
from softmachine.exports.formats import WIDE, StockFormat
from softmachine.exports.lowered_model import Affine, Array, Lowered, LoweredLayer, head_width, most_heads, most_units
from softmachine.exports.requirements import unrotated
from softmachine.exports.tensors import SAMPLING_GAIN, Placed, Stream
from softmachine.support.errors import ConstructionError

LARGE = 2.0**30
"""C: in float32, adding the square of a coordinate within ±1 to C² changes nothing."""
SILU_GAIN = 2.0**22
"""SiLU(2²² x) / 2²² is ReLU(x), except for |x| < 2⁻¹⁷, where the error is below 2⁻²³."""

_CLASSES = {"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM"}


def _place(kind: str, model: Lowered, dtype: str) -> Placed:
    if model.positions.any():
        raise ConstructionError(
            f"{model.name!r} uses position features, which a {kind} model does not have",
            hint="for Turing machines, the theorem turing-residue-address-no-positions has none; otherwise export to "
            "gpt2",
        )
    if dtype == "float16":
        raise ConstructionError(
            f"a {kind} model cannot be made for float16: the constant {LARGE:.0f} of its norms is out of range",
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
    # For qwen2, AutoTokenizer replaces the pre-tokenizer of the folder by its own.
    tokenizer = "PreTrainedTokenizerFast" if kind == "qwen2" else "AutoTokenizer"
    found = (SAMPLING_GAIN, SILU_GAIN, width, width // head)
    blocks = "[*model.model.layers, model.lm_head]"
    return Placed(_CLASSES[kind], config, tensors, model, None, *found, blocks, tokenizer)


llama, mistral, qwen2 = (partial(_place, kind) for kind in _CLASSES)


class _Place(Stream):
    """Layout of the stream of a LLaMA: the constant is the coordinate after all others."""

    def reading(self, affine: Affine) -> Array:
        """The matrix of a map that reads the stream; its bias is a multiple of the constant."""
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
        """The units, and one more that is always 1, for the bias of the second map."""
        units, constant = len(layer.units), self.model.width
        first, second = self.feed_forward(layer, inner)
        gate, up, down = first.weight * SILU_GAIN, np.zeros((inner, self.width)), second.weight
        up[: units + 1, constant] = 1 / (SILU_GAIN * LARGE)
        gate[units, constant], down[:, units] = SILU_GAIN / LARGE, second.bias
        return {"mlp.gate_proj.weight": gate, "mlp.up_proj.weight": up, "mlp.down_proj.weight": down}


EXPORT_FORMAT = tuple(
    StockFormat(
        kind, f"Hugging Face, {name}", partial(hf_checkpoint.fill, place=partial(_place, kind)), WIDE, False, rank=k
    )
    for k, (kind, name) in enumerate(_CLASSES.items(), 3)
)
