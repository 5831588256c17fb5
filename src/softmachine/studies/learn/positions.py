"""Position encodings: what a model is told of where a token stands.

| name | what it is |
|---|---|
| none | nothing: order is known only from which tokens come before |
| rope | queries and keys are turned by angles that grow with the position |
| alibi | scores fall with the distance, in every head at a rate of its own |
| absolute | a learned vector for every position; those beyond the training stay what they were at first |
| sinusoidal | a fixed vector of sines and cosines for every position |
| relative | λ is added to the scores of positions in the relation R, with a learned λ for every head |

``+log`` behind a name multiplies all scores of a query at position i by log₂(i + 2), as "Softmax Transformers are
Turing-Complete" defines attention. R is :mod:`softmachine.languages.crasp.relation`: of x those positions i where the
i-th bit of β(x) is 1. Position 0 is the start token, so that position i is the i-th of the paper.
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
"""Those that a stock LLaMA has, without ``+log``."""
BASE = 10_000.0


def parts_of(name: str) -> tuple[str, bool]:
    """The encoding of a name, and whether scores are multiplied by log n.

    Raises:
        UsageError: If there is none.
    """
    kind, plus, scaled = name.partition("+")
    if kind not in NAMES or (plus and scaled != "log"):
        raise UsageError(
            f"there is no position encoding {name!r}", hint=f"there are {', '.join(NAMES)}, each with +log"
        )
    return kind, bool(plus)


def sinusoids(positions: torch.Tensor, width: int) -> torch.Tensor:
    """Sines and cosines of positions, side by side: one row for each position."""
    import torch

    rates = BASE ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
    angles = positions.float()[..., None] * rates
    return torch.cat((angles.sin(), angles.cos()), -1)


def turned(vectors: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Vectors, each turned in planes by angles that grow with its position, as LLaMA does it.

    Args:
        vectors: Of shape batch × heads × positions × width.
        positions: Of shape batch × positions, or 1 × positions.
    """
    import torch

    waves = sinusoids(positions, vectors.shape[-1])[:, None]
    sine, cosine = (torch.cat((half, half), -1) for half in waves.chunk(2, -1))
    left, right = vectors.chunk(2, -1)
    return vectors * cosine + torch.cat((-right, left), -1) * sine


def slopes(heads: int) -> list[float]:
    """How fast scores fall with the distance in each head: a geometric series down to 2⁻⁸."""
    return [2.0 ** (-8.0 * (k + 1) / heads) for k in range(heads)]


def related(context: int) -> torch.Tensor:
    """R up to so many positions: 1 in row x and column i if x is in relation with i."""
    import torch

    table = torch.zeros(context, context)
    for x in range(1, context):
        for i in row(x):
            if i <= x:
                table[x, i] = 1.0
    return table


def log_scale(positions: torch.Tensor) -> torch.Tensor:
    """What scores are multiplied by: the logarithm of how many tokens there are, and one more, so that it is not 0."""
    import torch

    return torch.log(positions.float() + 2.0) / math.log(2.0)
