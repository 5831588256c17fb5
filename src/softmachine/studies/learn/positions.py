"""Position encodings of trained decoders.

| name | definition |
|---|---|
| none | no encoding: order is visible only through the causal mask |
| rope | queries and keys are rotated by angles proportional to the position |
| alibi | scores decrease linearly with the distance, with a slope per head |
| absolute | a learned vector per position; those beyond the training lengths keep their initial values |
| sinusoidal | a fixed vector of sines and cosines per position |
| relative | λ is added to the scores of positions in the relation R, with a learned λ per head |

The suffix ``+log`` multiplies all scores of a query at position i by log₂(i + 2), as "Softmax Transformers are
Turing-Complete" defines attention. R is :mod:`softmachine.languages.crasp.relation`: x is related to the positions i
where the i-th bit of β(x) is 1. Position 0 is the start token, so position i is the i-th of the paper.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from softmachine.languages.crasp.relation import row
from softmachine.support.errors import UsageError

if TYPE_CHECKING:
    import torch

NAMES = ("none", "rope", "alibi", "absolute", "sinusoidal", "relative")
STOCK = ("none", "rope")
"""The encodings that an unmodified LLaMA supports, without ``+log``."""
BASE = 10_000.0


def parts_of(name: str) -> tuple[str, bool]:
    """Split a name into the encoding and whether scores are multiplied by log n.

    Raises:
        UsageError: If there is no such encoding.
    """
    kind, plus, scaled = name.partition("+")
    if kind not in NAMES or (plus and scaled != "log"):
        raise UsageError(
            f"there is no position encoding {name!r}", hint=f"choose one of {', '.join(NAMES)}, optionally with +log"
        )
    return kind, bool(plus)


def sinusoids(positions: torch.Tensor, width: int) -> torch.Tensor:
    """Return sines and cosines of positions, concatenated: one row per position."""
    import torch

    rates = BASE ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
    angles = positions.float()[..., None] * rates
    return torch.cat((angles.sin(), angles.cos()), -1)


def turned(vectors: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Apply rotary position embeddings (RoPE), in LLaMA's layout.

    Args:
        vectors: Shape batch × heads × positions × width.
        positions: Shape batch × positions, or 1 × positions.
    """
    import torch

    waves = sinusoids(positions, vectors.shape[-1])[:, None]
    sine, cosine = (torch.cat((half, half), -1) for half in waves.chunk(2, -1))
    left, right = vectors.chunk(2, -1)
    return vectors * cosine + torch.cat((-right, left), -1) * sine


def slopes(heads: int) -> list[float]:
    """Return the ALiBi slope of each head: a geometric series down to 2⁻⁸."""
    return [2.0 ** (-8.0 * (k + 1) / heads) for k in range(heads)]


def related(context: int) -> torch.Tensor:
    """Return the matrix of R: 1 in row x and column i if x is related to i."""
    import torch

    table = torch.zeros(context, context)
    for x in range(1, context):
        for i in row(x):
            if i <= x:
                table[x, i] = 1.0
    return table


def log_scale(positions: torch.Tensor) -> torch.Tensor:
    """Return the factor of the scores: log₂(i + 2), the logarithm of the number of tokens plus one, which is not 0."""
    import torch

    return torch.log(positions.float() + 2.0) / math.log(2.0)
