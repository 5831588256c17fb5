"""How many affine pieces a function of one number has: what a ReLU network of given size can and cannot compute.

A network with ℓ layers of m units computes a function with at most (2m)^ℓ pieces (Telgarsky 2015, Lemma 2.1). Lemma 27
of "Simulating Hard Attention Using Soft Attention" says that rounding to p bits needs 2^p of them, so that no network
of constant size rounds to logarithmically many bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Point = tuple[Fraction, Fraction]


def fewest_pieces(points: Sequence[Point]) -> int:
    """The least number of affine pieces with which a function goes through points, given from left to right.

    A piece takes as many points as stand on one line; that the first piece takes all it can is best, since whatever
    another choice leaves to later pieces it leaves, too.
    """
    pieces = taken = 0
    while taken < len(points):
        pieces += 1
        end = min(taken + 2, len(points))
        while end < len(points) and _on_a_line(points[taken], points[taken + 1], points[end]):
            end += 1
        taken = end
    return pieces


def most_pieces(layers: int, width: int) -> int:
    """The most pieces that a ReLU network computes."""
    found: int = (2 * width) ** layers
    return found


def _on_a_line(one: Point, two: Point, three: Point) -> bool:
    return (two[1] - one[1]) * (three[0] - one[0]) == (three[1] - one[1]) * (two[0] - one[0])
