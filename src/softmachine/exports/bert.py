"""BERT: a lowered encoder in the weights of a stock ``BertForTokenClassification``, which answers at every position.

BERT puts the sum of the stream and what a sublayer adds through a layer norm. As in :mod:`.gpt2`, coordinates are
stored as x and -x, and a huge ``layer_norm_eps`` makes the deviation a power of two, which the norm's weight undoes:
the norm is the identity. Every position sees all others that the attention mask lets through; what a head must not see
is in its scores (see :mod:`.sight`).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from softmachine.exports import checkpoint
from softmachine.exports.conditioning import relieved
from softmachine.exports.formats import StockFormat
from softmachine.exports.gpt2 import NARROW
from softmachine.exports.lowered import Array, Lowered, LoweredLayer, head_width, most_heads, most_units
from softmachine.exports.mirrored import Mirrored
from softmachine.exports.placed import SAMPLING_GAIN, Placed


def bert(model: Lowered, dtype: str) -> Placed:
    """With neutral norms and ReLU."""
    narrow = dtype == "float16"  # where 2⁴⁰ is infinite, and 2¹⁶ too
    if narrow:
        model = relieved(model, NARROW)
    head = head_width(model)
    heads = max(most_heads(model), -(-2 * model.width // head))
    place = _Place(model, heads * head, head)
    inner = most_units(model)
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
        "layer_norm_eps": 2.0**30 if narrow else 2.0**80,
        "id2label": dict(enumerate(model.labels)),
        "label2id": {label: k for k, label in enumerate(model.labels)},
    }
    tensors = place.tensors(inner, norm=2.0**15 if narrow else 2.0**40)
    return Placed("BertForTokenClassification", config, tensors, model, place.half, SAMPLING_GAIN, 1.0)


class _Place(Mirrored):
    """Where things go in a BERT."""

    def tensors(self, inner: int, norm: float) -> dict[str, Array]:
        model = self.model
        logits = model.unembedding
        norms = ["embeddings.LayerNorm"]
        tensors = {
            "bert.embeddings.word_embeddings.weight": self.mirrored(model.embedding),
            "bert.embeddings.position_embeddings.weight": self.mirrored(model.positions),
            "bert.embeddings.token_type_embeddings.weight": np.zeros((1, self.width)),
            "classifier.weight": self.reading(logits) * SAMPLING_GAIN,
            "classifier.bias": logits.bias * SAMPLING_GAIN,
        }
        for k, layer in enumerate(model.layers):
            at = f"encoder.layer.{k}"
            norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
            own = {**self.attention(layer), **self.feed_forward(layer, inner)}
            tensors |= {f"bert.{at}.{name}": tensor for name, tensor in own.items()}
        for name in norms:
            tensors[f"bert.{name}.weight"] = np.full(self.width, norm)
            tensors[f"bert.{name}.bias"] = np.zeros(self.width)
        return tensors

    def attention(self, layer: LoweredLayer) -> dict[str, Array]:
        weight = {part: np.zeros((self.width, self.width)) for part in ("query", "key", "value")}
        bias = {part: np.zeros(self.width) for part in weight}
        output = np.zeros((self.width, self.width))
        for h, head in enumerate(layer.heads):
            first = h * self.head
            for part, rows in weight.items():
                affine = getattr(head, part)
                factor = self.head**0.5 if part == "query" else 1.0  # BERT divides scores by this
                end = first + len(affine.bias)
                rows[first:end] = self.reading(affine) * factor
                bias[part][first:end] = affine.bias * factor
            output[:, first : first + head.output.shape[1]] = self.mirrored(head.output.T).T
        return {
            **{f"attention.self.{part}.weight": tensor for part, tensor in weight.items()},
            **{f"attention.self.{part}.bias": tensor for part, tensor in bias.items()},
            "attention.output.dense.weight": output,
            "attention.output.dense.bias": np.zeros(self.width),
        }

    def feed_forward(self, layer: LoweredLayer, inner: int) -> dict[str, Array]:
        units = len(layer.units)
        first, first_bias, second = np.zeros((inner, self.width)), np.zeros(inner), np.zeros((self.width, inner))
        first[:units], first_bias[:units] = self.reading(layer.first), layer.first.bias
        second[:, :units] = self.mirrored(layer.second.weight.T).T
        return {
            "intermediate.dense.weight": first,
            "intermediate.dense.bias": first_bias,
            "output.dense.weight": second,
            "output.dense.bias": self.mirrored(layer.second.bias[None, :])[0],
        }


STOCK = StockFormat(
    "bert",
    "Hugging Face, BertForTokenClassification, for encoders",
    partial(checkpoint.fill, place=bert, ahead=True),
    decodes=False,
    encodes=True,
    rank=6,
)
