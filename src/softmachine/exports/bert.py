"""BERT export: a lowered encoder as the weights of a ``BertForTokenClassification``, which answers at every position.

BERT applies a layer norm after each residual addition. As in :mod:`.gpt2`, coordinates are stored as x and -x, and a
huge ``layer_norm_eps`` makes the deviation a power of two, which the norm's weight undoes: the norm is the identity.
Attention is bidirectional up to padding; the masks of heads are part of their scores (see :mod:`.lowering`).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from softmachine.exports import hf_checkpoint
from softmachine.exports.formats import ExportFormat
from softmachine.exports.gpt2 import MAX_FLOAT16_WEIGHT
from softmachine.exports.lowered_model import (
    Array,
    DenseAffine,
    LoweredTransformer,
    balance_unit_weights,
    head_width,
    max_heads,
    max_units,
)
from softmachine.exports.tensors import SAMPLING_GAIN, ArchitectureTensors, MirroredLayout, neutral_norm


def to_bert(model: LoweredTransformer, dtype: str) -> ArchitectureTensors:
    """The checkpoint with neutral norms and ReLU."""
    if dtype == "float16":
        model = balance_unit_weights(model, MAX_FLOAT16_WEIGHT)
    head, inner = head_width(model), max_units(model)
    norm, epsilon = neutral_norm(dtype)
    heads = max(max_heads(model), -(-2 * model.width // head))
    place = MirroredLayout(model, heads * head)
    config = {
        "model_type": "bert",
        "hidden_size": place.width,
        "num_attention_heads": heads,
        "num_hidden_layers": len(model.layers),
        "intermediate_size": inner,
        "hidden_act": "relu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": len(model.positions),
        "type_vocab_size": 1,
        "layer_norm_eps": epsilon,
        "id2label": dict(enumerate(model.labels)),
        "label2id": {label: k for k, label in enumerate(model.labels)},
    }
    tensors = _tensors(place, inner, norm)
    blocks = "[*model.bert.encoder.layer, model.classifier]"
    found = (place.half, SAMPLING_GAIN, 1.0, place.width, heads)
    return ArchitectureTensors("BertForTokenClassification", config, tensors, model, *found, blocks)


def _tensors(place: MirroredLayout, inner: int, norm: float) -> dict[str, Array]:
    model = place.model
    logits = model.unembedding.scaled_by(SAMPLING_GAIN)
    tensors = {
        "embeddings.word_embeddings.weight": place.to_layout(model.embedding),
        "embeddings.position_embeddings.weight": place.to_layout(model.positions),
        "embeddings.token_type_embeddings.weight": np.zeros((1, place.width)),
    }
    neutral = DenseAffine(np.full(place.width, norm), np.zeros(place.width))
    maps = {"embeddings.LayerNorm": neutral}
    for k, layer in enumerate(model.layers):
        attention, at = place.stack_heads(layer), f"encoder.layer.{k}"
        maps |= {f"{at}.attention.self.{part}": attention[part] for part in ("query", "key", "value")}
        maps |= {f"{at}.attention.output.dense": attention["output"], f"{at}.attention.output.LayerNorm": neutral}
        maps[f"{at}.intermediate.dense"], maps[f"{at}.output.dense"] = place.stack_units(layer, inner)
        maps[f"{at}.output.LayerNorm"] = neutral
    for name, affine in maps.items():
        tensors |= {f"{name}.weight": affine.weight, f"{name}.bias": affine.bias}
    own = {f"bert.{name}": tensor for name, tensor in tensors.items()}
    return {**own, "classifier.weight": place.read_matrix(logits), "classifier.bias": logits.bias}


EXPORT_FORMAT = ExportFormat(
    "bert",
    "Hugging Face, BertForTokenClassification, for encoders",
    partial(hf_checkpoint.write_model, to_architecture=to_bert, bidirectional=True),
    supports_decoders=False,
    supports_encoders=True,
    rank=6,
)
