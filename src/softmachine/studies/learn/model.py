"""Small LLaMA-style decoder: RMSNorm, SwiGLU, no biases.

One module implements all position encodings and precisions, so that compared models differ in nothing else. Its
parameters have the names and shapes of a stock ``LlamaForCausalLM``; with an encoding that LLaMA supports (rope, and
none, which is rotation by zero) they load as one, with the same outputs: see
:mod:`softmachine.studies.learn.checkpoint`.
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
"""Ratio of gated units to width, before the factor 2/3 of LLaMA."""


def units(width: int) -> int:
    """Return the number of gated units per layer."""
    return 8 * math.ceil(EXPANSION * width * 2 / 3 / 8)


class Norm(nn.Module):
    """RMSNorm: scales vectors to mean square 1, times a learned weight per coordinate."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, stream: Tensor) -> Tensor:
        """Normalise the vectors of a stream."""
        return self.weight * (stream * torch.rsqrt(stream.pow(2).mean(-1, keepdim=True) + EPSILON))


class Memory:
    """KV cache for decoding, one row per word."""

    def __init__(self, shape: Shape, words: int, context: int) -> None:
        size = (shape.layers, words, shape.heads, context, shape.width // shape.heads)
        self.keys, self.values = torch.zeros(size), torch.zeros(size)

    def extended(self, layer: int, positions: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store keys and values of new positions; return those of a layer up to the last new position."""
        rows = torch.arange(len(keys))[:, None]
        self.keys[layer][rows, :, positions] = keys.transpose(1, 2)
        self.values[layer][rows, :, positions] = values.transpose(1, 2)
        end = int(positions.max()) + 1  # positions that no word has reached yet cost nothing
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]


class Attention(nn.Module):
    """Causal softmax attention; the position encoding acts on queries, keys and scores."""

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
        """Return the attention output at every position."""
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
        """Apply the position encoding and the causal mask to scores."""
        ahead = torch.arange(scores.shape[-1]) - positions[..., None]  # words × queries × keys
        if self.kind == "alibi":
            scores = scores + ahead[:, None] * torch.tensor(slopes(self.heads))[:, None, None]
        if self.kind == "relative":
            rows = self.relation[positions, : scores.shape[-1]]
            scores = scores + rows[:, None] * self.strength[:, None, None]
        if self.by_log:
            scores = scores * log_scale(positions)[:, None, :, None]
        never = torch.zeros(ahead.shape).masked_fill(ahead > 0, -math.inf)  # without heads, so cheap to add
        return self.round(scores) + never[:, None]


class GatedUnits(nn.Module):
    """SwiGLU feed-forward network: down(SiLU(gate) · up)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        inner = units(shape.width)
        self.round = rounding(shape.precision)
        self.gate_proj, self.up_proj = (nn.Linear(shape.width, inner, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(inner, shape.width, bias=False)

    def forward(self, stream: Tensor) -> Tensor:
        """Return the output of the units at every position."""
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
        """Return the stream after the layer."""
        normed = self.round(self.input_layernorm(stream))
        stream = self.round(stream + self.self_attn(normed, positions, memory))
        return self.round(stream + self.mlp(self.round(self.post_attention_layernorm(stream))))


class _Stack(nn.Module):
    """Embedding, layers and final norm, under the names of LLaMA."""

    def __init__(self, shape: Shape, tokens: int, context: int) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(tokens, shape.width)
        self.layers = nn.ModuleList(Layer(shape, number, context) for number in range(shape.layers))
        self.norm = Norm(shape.width)


class Decoder(nn.Module):
    """Decoder-only transformer: maps tokens to next-token logits at every position.

    Args:
        shape: The architecture.
        tokens: Size of the vocabulary.
        context: Maximum number of positions of a word and its trace.
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
        """Return the logits at every position.

        Args:
            tokens: Words × positions.
            positions: The positions of the tokens. Default: 0, 1, 2, ….
            memory: KV cache of earlier positions, to which these are appended.
        """
        stream = self.streams(tokens, positions, memory)[-1]
        logits: Tensor = self.lm_head(self.round(self.model.norm(stream)))
        return logits

    def streams(self, tokens: Tensor, positions: Tensor | None = None, memory: Memory | None = None) -> list[Tensor]:
        """Return the residual stream after the embedding and after every layer."""
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
        """The number of trained parameters."""
        return sum(weight.numel() for weight in self.parameters())
