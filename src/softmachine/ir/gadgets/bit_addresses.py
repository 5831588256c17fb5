"""Attention by address, in constant precision and in logarithmic precision: Lemmas B.3 and B.5.

**Signed bits** (Lemma B.3). A query c·(s₁, 1, s₂, 1, …) meets a key (k₁, -1, k₂, -1, …): the score is 0 where the
addresses agree, at most -2c where they do not, and at most -2c where there is none (at least two bits). Signs and ones
alternate, because in fixed point sums saturate on the way: with all the +c first, the score of a match would not be 0.
c = 2 serves from F_2 on: there -2c saturates to -15/4, still 7/4 below a match that loses c for another reason. Scores
are integers, so that floats compute them exactly.

**Unit vectors** (Corollary B.1, Lemma B.5). A query S·(μ(t), -1) meets a key (μ(k), 1). Different addresses up to N are
1/(8N³) apart, so that S and the precision b grow with N; too small ones are wrong for some N, whatever b is. Therefore
the smallest b for S = 2^(b-1) is searched, and every pair of addresses is checked, when a transformer is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, floor, log

from softmachine.ir import Signal, attend, constant, relu, stack
from softmachine.ir.kinds import BIT, integer
from softmachine.ir.primitives import named
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax
from softmachine.transformer.features import Constant
from softmachine.transformer.wired_features import unit_vector

UNIT = 2
"""c: a disagreement costs twice as much."""
ALL_PAIRS = 1024
"""Up to so many addresses all pairs are checked, beyond that neighbours, with a reserve for rounding."""


def matching(wanted: Signal, held: Signal) -> tuple[Signal, Signal]:
    """Query and key of signed bits: score 0 where the addresses agree, at most -4 where they do not. Gap: 2."""
    query: list[Signal] = []
    key: list[Signal] = []
    for k in range(len(wanted)):
        query += [UNIT * wanted[k], constant(UNIT)]
        key += [held[k], constant(-1)]
    return stack(*query), stack(*key)


def avoiding(flag: Signal) -> tuple[Signal, Signal]:
    """Query and key that cost 4 where a bit is 1 at the key."""
    return constant(UNIT, 2), stack(-flag, -flag)


def by_bits(soft: bool, positions: int) -> Weighting:
    """Hard attention, or softmax that leaves less than 1/16 to all positions that are 2 below the best.

    The scale is a feature: in reals it grows with the logarithm of the number of positions; a fixed-point format that
    cannot hold it has its largest number instead, which serves as well, because exponentials are rounded to 0.
    """
    if not soft:
        return AVERAGE_HARD
    return softmax(Constant(max(4, ceil(log(16 * positions) / UNIT))))


def fetched(name: str, pairs: Iterable[tuple[Signal, Signal]], value: Signal, weighting: Weighting) -> Signal:
    """What ``value`` is at the keys, of all positions, that serve the queries best: scores of pairs add up. Gap: 2."""
    query, key = (stack(*side) for side in zip(*pairs, strict=True))
    return attend(name, query=query, key=key, value=value, mask=Mask.ALL, weighting=weighting, gap=UNIT, single=True)


def settled(name: str, signal: Signal, where: Signal) -> Signal:
    """The nearest bit of a number within 1/4 of one where a bit is 1, and 0 where it is 0. Two units.

    2 ReLU(x + w - 5/4) - 2 ReLU(x + w - 7/4). Assumes 0 ≤ x ≤ 1 everywhere.
    """
    up = relu(f"{name}: from 1/4", signal + where - Fraction(5, 4))
    down = relu(f"{name}: from 3/4", signal + where - Fraction(7, 4))
    return named(name, (2 * (up - down)).known(BIT), restores=signal)


def doubled(name: str, signal: Signal, where: Signal) -> Signal:
    """Twice what :func:`settled` is, with weights of at most 2, as F_2 can hold them. Two units."""
    twice = 2 * signal + 2 * where
    up = relu(f"{name}: from 1/4", twice - Fraction(5, 2))
    down = relu(f"{name}: from 3/4", twice - Fraction(7, 2))
    return named(name, (2 * (up - down)).known(integer(0, 2)), restores=signal)


def both(name: str, one: Signal, other: Signal, where: Signal) -> Signal:
    """Where a bit is 1, whether two numbers within 1/8 of bits are both 1; elsewhere 0. Two units."""
    total = one + other + where
    up = relu(f"{name}: from 9/4", total - Fraction(9, 4))
    down = relu(f"{name}: from 11/4", total - Fraction(11, 4))
    return named(name, (2 * (up - down)).known(BIT))


@dataclass(frozen=True)
class UnitScale:
    """The constants of addressing by unit vectors.

    Args:
        bits: b, the precision of the vectors, and the smallest one in which the scores tell addresses apart.
        scale: S = 2^(b-1).
        gap: By how much the score of the right address exceeds every other, computed exactly.
    """

    bits: int
    scale: int
    gap: Fraction


@cache
def unit_scale(addresses: int, positions: int, soft: bool) -> UnitScale:
    """The smallest precision, and what goes with it, for addresses 0, …, addresses - 1.

    In F_b, the right score is the largest (and for softmax so much larger that the exponential of every other is 0); in
    reals, softmax leaves less than 1/16 to all other positions.
    """
    bits = 3
    while True:
        gap = _least_gap(addresses, bits, soft, positions, near=True)
        if gap is not None and addresses <= ALL_PAIRS:
            gap = _least_gap(addresses, bits, soft, positions, near=False)
        if gap is not None:
            return UnitScale(bits, 1 << bits - 1, gap)
        bits += 1


def _least_gap(addresses: int, bits: int, soft: bool, positions: int, *, near: bool) -> Fraction | None:
    """The smallest gap of exact scores, if scores tell apart all addresses (or neighbours); else None."""
    vectors = [unit_vector(address, bits) for address in range(addresses)]
    scale = 1 << bits - 1
    needed = max(Fraction(log(2)) * (bits + 1), Fraction(log(16 * positions))) if soft else Fraction(0)
    reserve = 4 if near and addresses > ALL_PAIRS else 0
    exactly_needed = floor(needed * (1 << 2 * bits))
    rounded_needed = floor((needed + reserve) * (1 << bits))
    least: int | None = None
    for target, wanted in enumerate(vectors):
        own, own_rounded = scale * _dot(wanted, wanted), _rounded_dot(wanted, wanted, scale, bits)
        for other in (target - 1, target + 1) if near else range(addresses):
            if other == target or not 0 <= other < addresses:
                continue
            exact = own - scale * _dot(wanted, vectors[other])
            rounded = own_rounded - _rounded_dot(wanted, vectors[other], scale, bits)
            if exact <= exactly_needed or rounded <= rounded_needed:
                return None
            least = exact if least is None else min(least, exact)
    return Fraction(scale, 2) if least is None else Fraction(least, 1 << 2 * bits)


def _dot(one: tuple[int, int], other: tuple[int, int]) -> int:
    return one[0] * other[0] + one[1] * other[1]


def _rounded_dot(query: tuple[int, int], key: tuple[int, int], scale: int, bits: int) -> int:
    """S·μ(t)·μ(k) as F_b computes it, each product rounded, in units of 2^-b."""
    half = 1 << bits - 1
    return ((scale * query[0] * key[0] + half) >> bits) + ((scale * query[1] * key[1] + half) >> bits)
