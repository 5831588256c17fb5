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
from softmachine.exports.formats import DTYPES_WITHOUT_FLOAT16, ExportFormat
from softmachine.exports.lowered_model import (
    Array,
    DenseAffine,
    LoweredLayer,
    LoweredTransformer,
    head_width,
    max_heads,
    max_units,
)
from softmachine.exports.requirements import make_rope_off_config
from softmachine.exports.tensors import SAMPLING_GAIN, ArchitectureTensors, StreamLayout
from softmachine.support.errors import ConstructionError

NORM_CONSTANT = 2.0**30
"""C: in float32, adding the square of a coordinate within ±1 to C² changes nothing."""
SILU_GAIN = 2.0**22
"""SiLU(2²² x) / 2²² is ReLU(x), except for |x| < 2⁻¹⁷, where the error is below 2⁻²³."""

_CLASSES = {"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM"}


def _to_architecture(kind: str, model: LoweredTransformer, dtype: str) -> ArchitectureTensors:
    if model.positions.any():
        raise ConstructionError(
            f"{model.name!r} uses position features, which a {kind} model does not have",
            hint="for Turing machines, the theorem turing-residue-address-no-positions has none; otherwise export to "
            "gpt2",
        )
    if dtype == "float16":
        raise ConstructionError(
            f"a {kind} model cannot be made for float16: the constant {NORM_CONSTANT:.0f} of its norms is out of range",
            hint="export to gpt2, or in float32",
        )
    head = head_width(model)
    width = 4
    while width < max(model.width + 1, head * max_heads(model)):
        width *= 4
    inner = 1 + max_units(model)
    config = {
        "model_type": kind,
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": len(model.layers),
        "num_attention_heads": width // head,
        "num_key_value_heads": width // head,
        "max_position_embeddings": len(model.positions),
        "rope_parameters": make_rope_off_config(),
        "tie_word_embeddings": False,
    }
    if kind == "mistral":
        config["sliding_window"] = None
    tensors = _LlamaLayout(model, width).build_tensors(inner, biased=kind == "qwen2")
    # For qwen2, AutoTokenizer replaces the pre-tokenizer of the folder by its own.
    tokenizer = "PreTrainedTokenizerFast" if kind == "qwen2" else "AutoTokenizer"
    found = (SAMPLING_GAIN, SILU_GAIN, width, width // head)
    blocks = "[*model.model.layers, model.lm_head]"
    return ArchitectureTensors(_CLASSES[kind], config, tensors, model, None, *found, blocks, tokenizer)


to_llama, to_mistral, to_qwen2 = (partial(_to_architecture, kind) for kind in _CLASSES)


class _LlamaLayout(StreamLayout):
    """Layout of the stream of a LLaMA: the constant is the coordinate after all others."""

    def read_matrix(self, affine: DenseAffine) -> Array:
        """The matrix of a map that reads the stream; its bias is a multiple of the constant."""
        rows = self.to_layout(affine.weight)
        rows[:, self.model.width] = affine.bias / NORM_CONSTANT
        return rows

    def build_tensors(self, inner: int, *, biased: bool) -> dict[str, Array]:
        model = self.model
        embedding = self.to_layout(model.embedding)
        embedding[:, model.width] = NORM_CONSTANT
        norm = np.full(self.width, NORM_CONSTANT / self.width**0.5)
        tensors = {
            "model.embed_tokens.weight": embedding,
            "model.norm.weight": norm,
            "lm_head.weight": self.read_matrix(model.unembedding.scaled_by(SAMPLING_GAIN)),
        }
        for k, layer in enumerate(model.layers):
            own = {"input_layernorm.weight": norm, "post_attention_layernorm.weight": norm}
            for part, affine in self.stack_heads(layer).items():
                own[f"self_attn.{part[0]}_proj.weight"] = affine.weight
            own |= self.build_gated_units(layer, inner)
            if biased:
                own |= {f"self_attn.{name}_proj.bias": np.zeros(self.width) for name in "qkv"}
            tensors |= {f"model.layers.{k}.{name}": tensor for name, tensor in own.items()}
        return tensors

    def build_gated_units(self, layer: LoweredLayer, inner: int) -> dict[str, Array]:
        """The units, and one more that is always 1, for the bias of the second map."""
        units, constant = len(layer.units), self.model.width
        first, second = self.stack_units(layer, inner)
        gate, up, down = first.weight * SILU_GAIN, np.zeros((inner, self.width)), second.weight
        up[: units + 1, constant] = 1 / (SILU_GAIN * NORM_CONSTANT)
        gate[units, constant], down[:, units] = SILU_GAIN / NORM_CONSTANT, second.bias
        return {"mlp.gate_proj.weight": gate, "mlp.up_proj.weight": up, "mlp.down_proj.weight": down}


EXPORT_FORMAT = tuple(
    ExportFormat(
        kind,
        f"Hugging Face, {name}",
        partial(hf_checkpoint.write_model, to_architecture=partial(_to_architecture, kind)),
        DTYPES_WITHOUT_FLOAT16,
        False,
        rank=k,
    )
    for k, (kind, name) in enumerate(_CLASSES.items(), 3)
)
