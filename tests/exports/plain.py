"""Reference forward passes in numpy of lowered models and of GPT-2, BERT and LLaMA tensors, without torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from softmachine.exports.lowered_model import LoweredTransformer
from softmachine.exports.tensors import ArchitectureTensors


def softmax(scores: Any, *, causal: bool = True) -> Any:
    count = scores.shape[-1]
    hidden = np.triu(np.ones((count, count), dtype=bool), 1) & causal
    scores = np.where(hidden, -np.inf, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def lowered_logits(model: LoweredTransformer, ids: Sequence[int]) -> Any:
    stream = model.embedding[list(ids)] + model.positions[: len(ids)]
    for layer in model.layers:
        before = stream
        for head in layer.heads:
            query, key, value = (before @ part.weight.T + part.bias for part in (head.query, head.key, head.value))
            stream = stream + softmax(query @ key.T, causal=model.causal) @ value @ head.output.T
        units = np.maximum(stream @ layer.first.weight.T + layer.first.bias, 0)
        stream = stream + units @ layer.second.weight.T + layer.second.bias
    return stream @ model.unembedding.weight.T + model.unembedding.bias


def gelu_new(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gpt2_logits(placed: ArchitectureTensors, ids: Sequence[int]) -> Any:
    """The forward pass of GPT-2, from the tensors alone."""
    weights = {name.removeprefix("transformer."): tensor for name, tensor in placed.tensors.items()}
    config: Any = placed.config
    epsilon = config.get("layer_norm_epsilon", 1e-5)
    active = gelu_new if "activation_function" not in config else lambda x: np.maximum(x, 0)

    def norm(name: str, x: Any) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
        return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    stream = weights["wte.weight"][list(ids)] + weights["wpe.weight"][: len(ids)]
    width, heads = stream.shape[-1], config["n_head"]
    for k in range(config["n_layer"]):
        own = {name.removeprefix(f"h.{k}."): tensor for name, tensor in weights.items() if name.startswith(f"h.{k}.")}
        joined = norm(f"h.{k}.ln_1", stream) @ own["attn.c_attn.weight"] + own["attn.c_attn.bias"]
        query, key, value = (
            part.reshape(len(ids), heads, -1).transpose(1, 0, 2) for part in np.split(joined, 3, axis=-1)
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(width // heads)
        found = (softmax(scores) @ value).transpose(1, 0, 2).reshape(len(ids), width)
        stream = stream + found @ own["attn.c_proj.weight"] + own["attn.c_proj.bias"]
        hidden = active(norm(f"h.{k}.ln_2", stream) @ own["mlp.c_fc.weight"] + own["mlp.c_fc.bias"])
        stream = stream + hidden @ own["mlp.c_proj.weight"] + own["mlp.c_proj.bias"]
    return norm("ln_f", stream) @ weights.get("lm_head.weight", weights["wte.weight"]).T


def bert_logits(placed: ArchitectureTensors, ids: Sequence[int]) -> Any:
    """The forward pass of BERT, from the tensors alone."""
    weights = {name.removeprefix("bert."): tensor for name, tensor in placed.tensors.items()}
    config: Any = placed.config

    def norm(name: str, x: Any) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + config["layer_norm_eps"])
        return centred / deviation * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]

    def dense(name: str, x: Any) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    words, places = (weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position"))
    stream = norm("embeddings", words[list(ids)] + places[: len(ids)])
    for k in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{k}"
        query, key, value = (
            dense(f"{at}.attention.self.{part}", stream)
            .reshape(len(ids), config["num_attention_heads"], -1)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        found = (softmax(scores, causal=False) @ value).transpose(1, 0, 2).reshape(len(ids), -1)
        stream = norm(f"{at}.attention.output", stream + dense(f"{at}.attention.output.dense", found))
        hidden = np.maximum(dense(f"{at}.intermediate.dense", stream), 0)
        stream = norm(f"{at}.output", stream + dense(f"{at}.output.dense", hidden))
    return dense("classifier", stream)


def llama_logits(placed: ArchitectureTensors, ids: Sequence[int]) -> Any:
    """The forward pass of LLaMA without rotary embeddings, whose angles the configuration makes negligible."""
    weights = {name.removeprefix("model."): tensor for name, tensor in placed.tensors.items()}
    config: Any = placed.config

    def norm(name: str, x: Any) -> Any:
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * weights[f"{name}.weight"]

    stream = weights["embed_tokens.weight"][list(ids)]
    heads = config["num_attention_heads"]
    for k in range(config["num_hidden_layers"]):
        at = f"layers.{k}"
        read = norm(f"{at}.input_layernorm", stream)
        query, key, value = (
            (read @ weights[f"{at}.self_attn.{name}_proj.weight"].T).reshape(len(ids), heads, -1).transpose(1, 0, 2)
            for name in "qkv"
        )
        found = softmax(query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])) @ value
        joined = found.transpose(1, 0, 2).reshape(len(ids), -1)
        stream = stream + joined @ weights[f"{at}.self_attn.o_proj.weight"].T
        read = norm(f"{at}.post_attention_layernorm", stream)
        gate, up = (read @ weights[f"{at}.mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        with np.errstate(over="ignore"):
            stream = stream + (gate / (1 + np.exp(-gate)) * up) @ weights[f"{at}.mlp.down_proj.weight"].T
    return norm("norm", stream) @ weights["lm_head.weight"].T
