"""Small LLaMA-style decoder: RMSNorm, SwiGLU, no biases.

One module implements all position encodings and precisions, so that compared models differ in nothing else. Its
parameters have the names and shapes of a stock ``LlamaForCausalLM``; with an encoding that LLaMA supports (rope, and
none, which is rotation by zero) they load as one, with the same outputs: see
:mod:`softmachine.studies.learn.hf_checkpoint`.

Position encodings:

| name | definition |
|---|---|
| none | no encoding: order is visible only through the causal mask |
| rope | queries and keys are rotated by angles proportional to the position |
| alibi | scores decrease linearly with the distance, with a slope per head |
| absolute | a learned vector per position; those beyond the training lengths keep their initial values |
| sinusoidal | a fixed vector of sines and cosines per position |
| relative | λ is added to the scores of positions in the relation R, with a learned λ per head |

The suffix ``+log`` multiplies all scores of a query at position i by log₂(i + 2), as "Softmax Transformers are
Turing-Complete" defines attention. R is :mod:`softmachine.languages.crasp.relations`: x is related to the positions i
where the i-th bit of β(x) is 1. Position 0 is the start token, so position i is the i-th of the paper.

Low precision is emulated: float32 activations are rounded to fewer significant bits. This does not reproduce any
hardware exactly. Sums inside a matrix product are float32, as on GPU tensor cores; the results are rounded to the given
number of significant bits, half to even. Gradients pass through unchanged (straight-through estimator).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from softmachine.languages.crasp.relations import related_positions
from softmachine.studies.learn.config import ModelConfig, parse_encoding, significant_bits

ROPE_BASE = 10_000.0


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """Return sines and cosines of positions, concatenated: one row per position."""
    rates = ROPE_BASE ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
    angles = positions.float()[..., None] * rates
    return torch.cat((angles.sin(), angles.cos()), -1)


def apply_rope(vectors: Tensor, positions: Tensor) -> Tensor:
    """Apply rotary position embeddings (RoPE), in LLaMA's layout.

    Args:
        vectors: Shape batch × heads × positions × width.
        positions: Shape batch × positions, or 1 × positions.
    """
    waves = sinusoids(positions, vectors.shape[-1])[:, None]
    sine, cosine = (torch.cat((half, half), -1) for half in waves.chunk(2, -1))
    left, right = vectors.chunk(2, -1)
    return vectors * cosine + torch.cat((-right, left), -1) * sine


def alibi_slopes(heads: int) -> list[float]:
    """Return the ALiBi slope of each head: a geometric series down to 2⁻⁸."""
    return [2.0 ** (-8.0 * (k + 1) / heads) for k in range(heads)]


def relation_matrix(context: int) -> Tensor:
    """Return the matrix of R: 1 in row x and column i if x is related to i."""
    table = torch.zeros(context, context)
    for x in range(1, context):
        for i in related_positions(x):
            if i <= x:
                table[x, i] = 1.0
    return table


def log_scale(positions: Tensor) -> Tensor:
    """Return the factor of the scores: log₂(i + 2), the logarithm of the number of tokens plus one, which is not 0."""
    return torch.log(positions.float() + 2.0) / math.log(2.0)


def make_rounding(name: str) -> Callable[[Tensor], Tensor]:
    """Return a function that rounds tensors to a precision; gradients pass through it unchanged."""
    bits = significant_bits(name)
    if bits == 24:
        return lambda tensor: tensor

    dropped = 24 - bits

    class _Rounded(torch.autograd.Function):
        @staticmethod
        def forward(_context: object, tensor: Tensor) -> Tensor:
            whole = tensor.detach().contiguous().view(torch.int32)
            # Ties round to even, by the last kept bit of the significand; the only one is the implicit 1.
            rounded = (whole >> dropped).bitwise_and_(1) if bits > 1 else torch.ones_like(whole)
            rounded += whole
            rounded += (1 << (dropped - 1)) - 1
            rounded &= -1 << dropped
            return rounded.view(torch.float32)

        @staticmethod
        def backward(_context: object, gradient: Tensor) -> Tensor:
            return gradient

    return _Rounded.apply  # type: ignore[no-any-return]


EPSILON = 1e-6
EXPANSION = 4
"""Ratio of gated units to width, before the factor 2/3 of LLaMA."""


def hidden_units(width: int) -> int:
    """Return the number of gated units per layer."""
    return 8 * math.ceil(EXPANSION * width * 2 / 3 / 8)


class RMSNorm(nn.Module):
    """RMSNorm: scales vectors to mean square 1, times a learned weight per coordinate."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, stream: Tensor) -> Tensor:
        """Normalise the vectors of a stream."""
        return self.weight * (stream * torch.rsqrt(stream.pow(2).mean(-1, keepdim=True) + EPSILON))


class KVCache:
    """KV cache for decoding, one row per word."""

    def __init__(self, shape: ModelConfig, words: int, context: int) -> None:
        size = (shape.layers, words, shape.heads, context, shape.width // shape.heads)
        self.keys, self.values = torch.zeros(size), torch.zeros(size)

    def append(self, layer: int, positions: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store keys and values of new positions; return those of a layer up to the last new position."""
        rows = torch.arange(len(keys))[:, None]
        self.keys[layer][rows, :, positions] = keys.transpose(1, 2)
        self.values[layer][rows, :, positions] = values.transpose(1, 2)
        end = int(positions.max()) + 1  # positions that no word has reached yet cost nothing
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]


class Attention(nn.Module):
    """Causal softmax attention; the position encoding acts on queries, keys and scores."""

    def __init__(self, shape: ModelConfig, number: int, context: int) -> None:
        super().__init__()
        self.heads, self.number = shape.heads, number
        self.kind, self.by_log = parse_encoding(shape.positions)
        self.round = make_rounding(shape.precision)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(shape.width, shape.width, bias=False) for _ in range(4)
        )
        if self.kind == "relative":
            self.strength = nn.Parameter(torch.ones(shape.heads))
            self.register_buffer("relation", relation_matrix(context), persistent=False)

    def forward(self, stream: Tensor, positions: Tensor, kv_cache: KVCache | None) -> Tensor:
        """Return the attention output at every position."""
        words, count, width = stream.shape
        shape = (words, count, self.heads, width // self.heads)
        queries, keys, values = (
            self.round(project(stream)).view(shape).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        if self.kind == "rope":
            queries, keys = (self.round(apply_rope(each, positions)) for each in (queries, keys))
        if kv_cache is not None:
            keys, values = kv_cache.append(self.number, positions, keys, values)
        scores = (queries / math.sqrt(shape[-1])) @ keys.transpose(2, 3)
        weights = self.round(self._scores(scores, positions).softmax(-1))
        return self.round(self.o_proj(self.round((weights @ values).transpose(1, 2).reshape(words, count, width))))

    def _scores(self, scores: Tensor, positions: Tensor) -> Tensor:
        """Apply the position encoding and the causal mask to scores."""
        ahead = torch.arange(scores.shape[-1]) - positions[..., None]  # words × queries × keys
        if self.kind == "alibi":
            scores = scores + ahead[:, None] * torch.tensor(alibi_slopes(self.heads))[:, None, None]
        if self.kind == "relative":
            rows = self.relation[positions, : scores.shape[-1]]
            scores = scores + rows[:, None] * self.strength[:, None, None]
        if self.by_log:
            scores = scores * log_scale(positions)[:, None, :, None]
        never = torch.zeros(ahead.shape).masked_fill(ahead > 0, -math.inf)  # without heads, so cheap to add
        return self.round(scores) + never[:, None]


class SwiGLU(nn.Module):
    """SwiGLU feed-forward network: down(SiLU(gate) · up)."""

    def __init__(self, shape: ModelConfig) -> None:
        super().__init__()
        inner = hidden_units(shape.width)
        self.round = make_rounding(shape.precision)
        self.gate_proj, self.up_proj = (nn.Linear(shape.width, inner, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(inner, shape.width, bias=False)

    def forward(self, stream: Tensor) -> Tensor:
        """Return the output of the units at every position."""
        gated = nn.functional.silu(self.round(self.gate_proj(stream))) * self.round(self.up_proj(stream))
        return self.round(self.down_proj(self.round(gated)))


class DecoderLayer(nn.Module):
    """Attention and gated units, each added to the residual stream."""

    def __init__(self, shape: ModelConfig, number: int, context: int) -> None:
        super().__init__()
        self.round = make_rounding(shape.precision)
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(shape.width), RMSNorm(shape.width)
        self.self_attn = Attention(shape, number, context)
        self.mlp = SwiGLU(shape)

    def forward(self, stream: Tensor, positions: Tensor, kv_cache: KVCache | None) -> Tensor:
        """Return the stream after the layer."""
        normed = self.round(self.input_layernorm(stream))
        stream = self.round(stream + self.self_attn(normed, positions, kv_cache))
        return self.round(stream + self.mlp(self.round(self.post_attention_layernorm(stream))))


class _Stack(nn.Module):
    """Embedding, layers and final norm, under the names of LLaMA."""

    def __init__(self, shape: ModelConfig, tokens: int, context: int) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(tokens, shape.width)
        self.layers = nn.ModuleList(DecoderLayer(shape, number, context) for number in range(shape.layers))
        self.norm = RMSNorm(shape.width)


class Decoder(nn.Module):
    """Decoder-only transformer: maps tokens to next-token logits at every position.

    Args:
        shape: The architecture.
        tokens: Size of the vocabulary.
        context: Maximum number of positions of a word and its trace.
    """

    def __init__(self, shape: ModelConfig, tokens: int, context: int) -> None:
        super().__init__()
        self.shape, self.context = shape, context
        self.kind, _ = parse_encoding(shape.positions)
        self.round = make_rounding(shape.precision)
        self.model = _Stack(shape, tokens, context)
        self.lm_head = nn.Linear(shape.width, tokens, bias=False)
        if self.kind == "absolute":
            self.embed_positions = nn.Embedding(context, shape.width)
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                depth = 1.0 if not name.endswith(("o_proj.weight", "down_proj.weight")) else 2 * shape.layers
                nn.init.normal_(weight, std=1 / math.sqrt(shape.width * depth))

    def forward(self, tokens: Tensor, positions: Tensor | None = None, kv_cache: KVCache | None = None) -> Tensor:
        """Return the logits at every position.

        Args:
            tokens: Words × positions.
            positions: The positions of the tokens. Default: 0, 1, 2, ….
            kv_cache: KV cache of earlier positions, to which these are appended.
        """
        stream = self.residual_streams(tokens, positions, kv_cache)[-1]
        logits: Tensor = self.lm_head(self.round(self.model.norm(stream)))
        return logits

    def residual_streams(
        self, tokens: Tensor, positions: Tensor | None = None, kv_cache: KVCache | None = None
    ) -> list[Tensor]:
        """Return the residual stream after the embedding and after every layer."""
        where = torch.arange(tokens.shape[1])[None] if positions is None else positions
        stream = self.model.embed_tokens(tokens)
        if self.kind == "absolute":
            stream = stream + self.embed_positions(where)
        if self.kind == "sinusoidal":
            stream = stream + sinusoids(where, self.shape.width)
        found = [self.round(stream)]
        for layer in self.model.layers:
            found.append(layer(found[-1], where, kv_cache))
        return found

    @property
    def num_parameters(self) -> int:
        """The number of trained parameters."""
        return sum(weight.numel() for weight in self.parameters())
