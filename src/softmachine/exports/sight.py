"""What a head may see, as scores: any mask and any relative bias in an architecture that has neither.

If coordinates say which position it is, one for each, then any table of numbers M(i, j) is a product of queries and
keys: the key at j is the unit vector of j, the query at i is the row of i. Where a head must not look, M is so low that
its weight is exactly 0 in floating point; where it may look, M is exactly 0 (or the bias), so that scores are as they
were. A triangle of zeros has full rank: no table of fewer components would do.

A head that sees nothing gets the zero vector; here it reads position 0, the start token, whose values are 0 in the
constructions that have such heads.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softmachine.exports.lowered import Affine, Array, Box, LoweredHead, largest
from softmachine.transformer.attention import Mask
from softmachine.transformer.weights import Head

UNDERFLOW = 128.0
"""e⁻¹²⁸ is 0 in float32."""
LOWEST = 2.0**96
"""No score is lower than minus twice this, whatever bounds of the others say."""


def native(head: Head, *, causal: bool) -> bool:
    """Whether the architecture's own mask is the head's, and there is no bias."""
    return head.bias is None and head.mask is (Mask.CAUSAL if causal else Mask.ALL)


def seeing(
    lowered: LoweredHead, head: Head, *, scale: float, causal: bool, count: int, first: int, box: Box
) -> LoweredHead:
    """A lowered head that sees what the original does; itself if the architecture's own mask is right.

    Args:
        lowered: The head, whose scores do not yet know of masks and biases.
        head: The original.
        scale: What its scores, and so its bias, are multiplied by.
        causal: Whether the architecture hides later positions.
        count: The number of positions.
        first: The coordinate that says whether this is position 0; those of the other positions follow.
        box: What coordinates can be there.
    """
    if native(head, causal=causal):
        return lowered
    table = _biases(head, count) * scale
    scores = float(largest(lowered.query, box) @ largest(lowered.key, box))
    low = 2.0 ** np.ceil(np.log2(2 * scores + 2 * float(np.abs(table).max(initial=0)) + UNDERFLOW))
    low = min(low, LOWEST)
    for i in range(count):
        for j in range(count):
            if not head.mask.sees(j, i):
                table[i, j] = 0.0 if causal and j > i else -2 * low
        if head.mask in (Mask.PAST, Mask.FUTURE) and not head.mask.sees(0, i):
            table[i, 0] = -low
    used = np.flatnonzero(table.any(axis=0))
    width = lowered.query.weight.shape[1]
    rows, units = np.zeros((len(used), width)), np.zeros((len(used), width))
    rows[:, first : first + count] = table[:, used].T
    units[np.arange(len(used)), first + used] = 1
    return replace(lowered, query=_stacked(lowered.query, rows), key=_stacked(lowered.key, units))


def _biases(head: Head, count: int) -> Array:
    """The bias of every query and key."""
    table = np.zeros((count, count))
    if head.bias is not None:
        for i in range(count):
            for j in range(count):
                if head.mask.sees(j, i):
                    table[i, j] = float(head.bias.at(j, i))
    return table


def _stacked(affine: Affine, rows: Array) -> Affine:
    return Affine(np.vstack([affine.weight, rows]), np.concatenate([affine.bias, np.zeros(len(rows))]))
