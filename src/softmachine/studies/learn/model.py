"""A small decoder with the parts of LLaMA: root-mean-square norms, gated units, no biases.

There is one module for all position encodings and precisions, so that what is compared differs in nothing else. Its
weights have the names and shapes of a stock ``LlamaForCausalLM``; where the encoding is one that LLaMA has (none,
which is rotation by no angle, and rope) they can be loaded as one, and say the same: see :mod:`.checkpoint`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from softmachine.studies.learn.positions import log_scale, parts_of, related, sinusoids, slopes, turned
from softmachine.studies.learn.precision import rounding
from softmachine.studies.learn.settings import Shape

EPSILON = 1e-6
EXPANSION = 4
"""Gated units: so many times the width, times 2/3, as LLaMA has it."""


def units(width: int) -> int:
    """How many gated units a layer has."""
    return 8 * math.ceil(EXPANSION * width * 2 / 3 / 8)


class Norm(nn.Module):
    """Vectors of mean square 1, each coordinate times a learned weight."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, stream: Tensor) -> Tensor:
        """The vectors of a stream, normed."""
        return self.weight * (stream * torch.rsqrt(stream.pow(2).mean(-1, keepdim=True) + EPSILON))


class Memory:
    """Keys and values of the tokens so far, each word at a place of its own, for decoding."""

    def __init__(self, shape: Shape, words: int, context: int) -> None:
        size = (shape.layers, words, shape.heads, context, shape.width // shape.heads)
        self.keys, self.values = torch.zeros(size), torch.zeros(size)

    def extended(self, layer: int, positions: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer up to the last new position, after those of new positions were put in place."""
        rows = torch.arange(len(keys))[:, None]
        self.keys[layer][rows, :, positions] = keys.transpose(1, 2)
        self.values[layer][rows, :, positions] = values.transpose(1, 2)
        end = int(positions.max()) + 1  # what no word has reached yet costs nothing
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]


class Attention(nn.Module):
    """Causal softmax attention, with what a position encoding does to queries, keys and scores."""

    def __init__(self, shape: Shape, number: int, context: int) -> None:
        super().__init__()
        self.heads, self.number = shape.heads, number
        self.kind, self.by_log = parts_of(shape.positions)
        self.round = rounding(shape.precision)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(shape.width, shape.width, bias=False) for _ in range(4)
        )
        if self.kind == "relative":
            self.strength = nn.Parameter(torch.ones(shape.heads))
            self.register_buffer("relation", related(context), persistent=False)

    def forward(self, stream: Tensor, positions: Tensor, memory: Memory | None) -> Tensor:
        """What the heads bring to every position."""
        words, count, width = stream.shape
        shape = (words, count, self.heads, width // self.heads)
        queries, keys, values = (
            self.round(project(stream)).view(shape).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        if self.kind == "rope":
            queries, keys = (self.round(turned(each, positions)) for each in (queries, keys))
        if memory is not None:
            keys, values = memory.extended(self.number, positions, keys, values)
        scores = (queries / math.sqrt(shape[-1])) @ keys.transpose(2, 3)
        weights = self.round(self._scores(scores, positions).softmax(-1))
        return self.round(self.o_proj(self.round((weights @ values).transpose(1, 2).reshape(words, count, width))))

    def _scores(self, scores: Tensor, positions: Tensor) -> Tensor:
        """Scores with what the encoding adds, and nothing of what comes later."""
        ahead = torch.arange(scores.shape[-1]) - positions[..., None]  # words × queries × keys
        if self.kind == "alibi":
            scores = scores + ahead[:, None] * torch.tensor(slopes(self.heads))[:, None, None]
        if self.kind == "relative":
            rows = self.relation[positions, : scores.shape[-1]]
            scores = scores + rows[:, None] * self.strength[:, None, None]
        if self.by_log:
            scores = scores * log_scale(positions)[:, None, :, None]
        never = torch.zeros(ahead.shape).masked_fill(ahead > 0, -math.inf)  # small; adding it is cheap
        return self.round(scores) + never[:, None]


class GatedUnits(nn.Module):
    """SiLU(gate) · up, and down again."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        inner = units(shape.width)
        self.round = rounding(shape.precision)
        self.gate_proj, self.up_proj = (nn.Linear(shape.width, inner, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(inner, shape.width, bias=False)

    def forward(self, stream: Tensor) -> Tensor:
        """What the units add to every position."""
        gated = nn.functional.silu(self.round(self.gate_proj(stream))) * self.round(self.up_proj(stream))
        return self.round(self.down_proj(self.round(gated)))


class Layer(nn.Module):
    """Attention and gated units, each added to the residual stream."""

    def __init__(self, shape: Shape, number: int, context: int) -> None:
        super().__init__()
        self.round = rounding(shape.precision)
        self.input_layernorm, self.post_attention_layernorm = Norm(shape.width), Norm(shape.width)
        self.self_attn = Attention(shape, number, context)
        self.mlp = GatedUnits(shape)

    def forward(self, stream: Tensor, positions: Tensor, memory: Memory | None) -> Tensor:
        """The stream after the layer."""
        normed = self.round(self.input_layernorm(stream))
        stream = self.round(stream + self.self_attn(normed, positions, memory))
        return self.round(stream + self.mlp(self.round(self.post_attention_layernorm(stream))))


class _Stack(nn.Module):
    """Embedding, layers and the last norm, under the names of LLaMA."""

    def __init__(self, shape: Shape, tokens: int, context: int) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(tokens, shape.width)
        self.layers = nn.ModuleList(Layer(shape, number, context) for number in range(shape.layers))
        self.norm = Norm(shape.width)


class Decoder(nn.Module):
    """A decoder: tokens in, at every position a logit for each token that may come next.

    Args:
        shape: What it is like.
        tokens: How many different tokens there are.
        context: How many positions a word and its trace have at most.
    """

    def __init__(self, shape: Shape, tokens: int, context: int) -> None:
        super().__init__()
        self.shape, self.context = shape, context
        self.kind, _ = parts_of(shape.positions)
        self.round = rounding(shape.precision)
        self.model = _Stack(shape, tokens, context)
        self.lm_head = nn.Linear(shape.width, tokens, bias=False)
        if self.kind == "absolute":
            self.embed_positions = nn.Embedding(context, shape.width)
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                depth = 1.0 if not name.endswith(("o_proj.weight", "down_proj.weight")) else 2 * shape.layers
                nn.init.normal_(weight, std=1 / math.sqrt(shape.width * depth))

    def forward(self, tokens: Tensor, positions: Tensor | None = None, memory: Memory | None = None) -> Tensor:
        """The logits at every position.

        Args:
            tokens: Words × positions.
            positions: Where they stand, if it is not from 0 on.
            memory: What is known of earlier positions, to which these are added.
        """
        stream = self.streams(tokens, positions, memory)[-1]
        logits: Tensor = self.lm_head(self.round(self.model.norm(stream)))
        return logits

    def streams(self, tokens: Tensor, positions: Tensor | None = None, memory: Memory | None = None) -> list[Tensor]:
        """The residual stream after the embedding and after every layer."""
        where = torch.arange(tokens.shape[1])[None] if positions is None else positions
        stream = self.model.embed_tokens(tokens)
        if self.kind == "absolute":
            stream = stream + self.embed_positions(where)
        if self.kind == "sinusoidal":
            stream = stream + sinusoids(where, self.shape.width)
        found = [self.round(stream)]
        for layer in self.model.layers:
            found.append(layer(found[-1], where, memory))
        return found

    @property
    def parameters_in_all(self) -> int:
        """How many numbers were learned."""
        return sum(weight.numel() for weight in self.parameters())
