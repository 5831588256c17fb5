"""Lemma 27: rounding to p bits needs a ReLU network with 2^p affine pieces, up to the cases that the proof omits.

A network with ℓ layers of m units computes a function with at most (2m)^ℓ pieces (Telgarsky 2015, Lemma 2.1). Lemma 27
of "Simulating Hard Attention Using Soft Attention" states that rounding to p bits needs 2^p of them, so that no network
of constant size rounds to logarithmically many bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor

import pytest

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
    """Maximum number of pieces of a ReLU network."""
    found: int = (2 * width) ** layers
    return found


def _on_a_line(one: Point, two: Point, three: Point) -> bool:
    return (two[1] - one[1]) * (three[0] - one[0]) == (three[1] - one[1]) * (two[0] - one[0])


def points(p: int, more: int, rounding: Callable[[Fraction], int]) -> list[tuple[Fraction, Fraction]]:
    """Numbers of p + more bits, with their roundings to p bits, at most 2^p - 1."""
    numbers = [Fraction(k, 1 << more) for k in range(1 << p + more)]
    return [(x, Fraction(min(rounding(x), (1 << p) - 1))) for x in numbers]


@pytest.mark.parametrize("rounding", [floor, ceil, round])
def test_rounding_to_p_bits_needs_two_to_the_p_pieces(rounding: Callable[[Fraction], int]) -> None:
    """Counted for p up to 8. With two bits more it is 2^p; with one, ties to even spare up to half of them."""
    for p in range(1, 9):
        assert fewest_pieces(points(p, 2, rounding)) >= 1 << p
        assert fewest_pieces(points(p, 1, rounding)) >= 1 << p - 1


def test_truncation_needs_them_even_with_one_bit_more() -> None:
    assert [fewest_pieces(points(p, 1, floor)) for p in range(1, 9)] == [1 << p for p in range(1, 9)]


def test_a_network_of_one_layer_needs_as_many_units_as_half_the_pieces() -> None:
    """(2m)^ℓ ≥ 2^p: a constant number of layers needs a width that grows like a power of n for p = log n bits."""
    for p in range(1, 9):
        width = next(m for m in range(1, 1 << p) if most_pieces(1, m) >= 1 << p)
        assert width == 1 << p - 1
        # And 2^(p+1) - 2 suffice: two for each step, one where it begins to rise, one where it is over.
        given = points(p, 2, floor)
        quarter = Fraction(1, 4)
        steps = range(1, 1 << p)

        def network(x: Fraction, steps: range = steps, quarter: Fraction = quarter) -> Fraction:
            nothing = Fraction(0)
            return sum((4 * (max(x - k + quarter, nothing) - max(x - k, nothing)) for k in steps), nothing)

        assert all(network(x) == y for x, y in given)
        assert 2 * len(steps) == 4 * width - 2


def test_pieces_are_counted() -> None:
    line = [(Fraction(k), Fraction(3 * k + 1)) for k in range(6)]
    assert fewest_pieces(line) == 1
    assert fewest_pieces([*line, (Fraction(6), Fraction(0))]) == 2
    assert fewest_pieces([]) == 0
