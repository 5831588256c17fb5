"""Masks and relative biases as attention scores, for architectures that have neither.

With a one-hot encoding of the position in the stream, any table of numbers M(i, j) is a product of queries and keys:
the key at j is the unit vector of j, the query at i is row i. At masked pairs M is so low that the weight is exactly 0
in floating point; at visible pairs M is exactly 0 (or the bias), which leaves the scores unchanged. A triangle of zeros
has full rank, so the table cannot have fewer components.

A head that sees no position retrieves the zero vector; here it reads position 0, the start token, whose values are 0 in
the constructions that have such heads.
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
"""Masked scores are at least minus twice this, even if the bounds of the other scores would need less."""


def native(head: Head, *, causal: bool) -> bool:
    """Whether the head has the architecture's own mask and no bias."""
    return head.bias is None and head.mask is (Mask.CAUSAL if causal else Mask.ALL)


def seeing(
    lowered: LoweredHead, head: Head, *, scale: float, causal: bool, count: int, first: int, box: Box
) -> LoweredHead:
    """The lowered head with the mask and the bias of the original; unchanged if the architecture's own mask fits.

    Args:
        lowered: The head, whose scores do not yet include masks and biases.
        head: The original.
        scale: The factor of its scores, and so of its bias.
        causal: Whether the architecture masks later positions.
        count: The number of positions.
        first: The first coordinate of the one-hot encoding of the position.
        box: Bounds of the coordinates there.
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
    """The bias of every pair of a query and a key."""
    table = np.zeros((count, count))
    if head.bias is not None:
        for i in range(count):
            for j in range(count):
                if head.mask.sees(j, i):
                    table[i, j] = float(head.bias.at(j, i))
    return table


def _stacked(affine: Affine, rows: Array) -> Affine:
    return Affine(np.vstack([affine.weight, rows]), np.concatenate([affine.bias, np.zeros(len(rows))]))
