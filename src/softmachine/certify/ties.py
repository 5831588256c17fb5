"""The tie bound: means over tied keys whose scores have errors. A lemma of our own; the paper has none for this.

**Lemma.** Let a head score N keys, let m of them tie for the maximum and all others be at least g below. Let every
score be in doubt by at most δ < g/2, and λ be the scale. Then softmax of the scores in doubt

- puts at most W = (N - m)/m · e^(-λ(g - 2δ)) on the others, and
- of the rest, on each tied key 1/m times a factor between e^(-2λδ) and e^(2λδ);
- and its mean of any values differs from the mean over the tied keys by at most (tanh(λδ/2) + W) · D, where D is the
  difference of the largest and the smallest value.

If the values have errors up to ε, the means differ by at most ε more.

**Proof.** Let e_j, between -δ and δ, be the error of the score of key j, and M the maximum without errors. A tied key
has weight proportional to e^(λM + λe_j) ≥ e^(λ(M - δ)), another one at most to e^(λ(M - g + δ)). There are m and N - m
of them, and dividing the sums gives W. Among the tied keys, the weight of one is e^(λe_j) / Σ e^(λe_k), which is at
most e^(λδ) / (m e^(-λδ)), and at least the inverse factor. For the means, let d be the largest difference between the
weight that the tied keys give to a subset and its share p of all m: a mean moves by at most d · D. The difference is
largest if the subset is where errors are δ, and they are -δ elsewhere: with r = e^(2λδ) it is pr/(pr + 1 - p) - p. Over
all p that has its maximum where p = 1/(1 + √r), and there it is (√r - 1)/(√r + 1) = tanh(λδ/2). Weight W on other keys
moves the mean by at most W · D more; errors of values go through a mean unchanged. ∎

A larger scale makes W smaller, and ties more uneven. So there is a best scale, and errors of scores so large that none
does: :func:`sharpness_for_ties`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

Tail = Callable[[float], float]
"""From a scaled gap λ(g - 2δ) to a bound of the weight on keys that do not tie."""
USELESS = 0.5
"""A bound of a mean, per difference of its values, that is too weak to use."""


def uneven(doubt: float) -> float:
    """How far a mean over tied keys can move, per difference of their values, if scaled scores are in doubt by this."""
    return math.tanh(doubt / 2)


def sharpness_for_ties(most: int, share: float, tail: Tail) -> Fraction | None:
    """The scaled gap λg for a mean over tied keys: of ``most``, its half, its quarter and so on, what does best.

    Halves are near enough to the best scale, since the part that grows with the scale is at most proportional to it,
    and keep a scale that is a power of two one.

    Args:
        most: No scaled gap is larger.
        share: δ/g, how much of the gap the errors of scores are; less than 1/2.
        tail: What bounds the weight on other keys.

    Returns:
        The scaled gap; None if with each of them a mean may be off by half the difference of its values, or more, which
        is of no use to anybody. Without errors of scores, ``most``.
    """
    if not share:
        return Fraction(most)
    tried = [Fraction(most, 2**k) for k in range(most.bit_length())]
    bounds = {t: uneven(float(t) * share) + tail(float(t) * (1 - 2 * share)) for t in tried}
    best = min(tried, key=bounds.__getitem__)
    return best if bounds[best] < USELESS else None
