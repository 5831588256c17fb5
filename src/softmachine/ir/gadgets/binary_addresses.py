"""Addresses: tables of position features, and attention by address in constant and in logarithmic precision.

The paper is "Revisiting Padded Transformer Expressivity".

**Signed bits** (Lemma B.3). The query is c·(s₁, 1, s₂, 1, …), the key (k₁, -1, k₂, -1, …): the score is 0 if the
addresses are equal, at most -2c if they differ, and at most -2c if the key has no address (at least two bits). Signs
and ones alternate, because partial sums saturate in fixed point: with all the +c first, the score of a match would not
be 0. c = 2 suffices for every F_b with b ≥ 2: in F_2, -2c saturates to -15/4, still 7/4 below a match that loses c for
another reason. Scores are integers, so that floats compute them exactly.

**Unit vectors** (Corollary B.1, Lemma B.5). The query is S·(μ(t), -1), the key (μ(k), 1). Distinct addresses up to N
differ by 1/(8N³) in score, so S and the precision b grow with N; if S is too small, some N fails in every precision b.
Therefore the construction searches for the smallest b with S = 2^(b-1), and checks every pair of addresses.

The family n ↦ transformer of "Revisiting Padded Transformer Expressivity" stores a circuit in its position embeddings.
An address is a number; -1 means no address, and its features are 0. Positions beyond the table have zero features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, floor, log

from softmachine.ir import Signal, attend, constant, position, relu, stack
from softmachine.ir.primitives import named
from softmachine.ir.ranges import BIT, integer
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax_weighting
from softmachine.transformer.features import Constant, ceil_log2
from softmachine.transformer.head_view import HeadExplanation
from softmachine.transformer.table_features import AddressBit, AddressVector, TableFeature, rounded_unit_vector


def position_flag(name: str, table: Sequence[int]) -> Signal:
    """A bit at every position."""
    return position(TableFeature(name, tuple(map(Fraction, table))))


def address_width(addresses: int) -> int:
    """Return the number of signed bits that distinguish the addresses, also from no address: at least 2."""
    return max(2, ceil_log2(addresses))


def binary_address_features(name: str, width: int, table: Sequence[int]) -> Signal:
    """The address at every position as ``width`` signed bits; zeros at positions without one."""
    entries = tuple(table)
    return stack(*(position(AddressBit(name, k, entries)) for k in range(width)))


def unit_vector_features(name: str, bits: int, table: Sequence[int]) -> Signal:
    """The address at every position as a unit vector, rounded to ``bits`` bits; zeros at positions without one."""
    entries = tuple(table)
    return stack(*(position(AddressVector(name, component, bits, entries)) for component in (0, 1)))


BIT_SCALE = 2
"""c: a mismatch lowers the score by 2c."""
MAX_ALL_PAIRS = 1024
"""Number of addresses up to which all pairs are checked; above it, only neighbours, with a reserve for rounding."""


def address_scores(query_bits: Signal, key_bits: Signal) -> tuple[Signal, Signal]:
    """Query and key of signed bits: score 0 if the addresses are equal, at most -4 if they differ. Gap: 2."""
    query: list[Signal] = []
    key: list[Signal] = []
    for k in range(len(query_bits)):
        query += [BIT_SCALE * query_bits[k], constant(BIT_SCALE)]
        key += [key_bits[k], constant(-1)]
    return stack(*query), stack(*key)


def penalty_scores(flag: Signal) -> tuple[Signal, Signal]:
    """Query and key that lower the score by 4 at keys where a bit is 1."""
    return constant(BIT_SCALE, 2), stack(-flag, -flag)


def address_weighting(soft: bool, positions: int) -> Weighting:
    """Hard attention, or softmax that gives less than 1/16 in total to the positions that score 2 below the maximum.

    The scale is a feature: over the reals it grows with the logarithm of the number of positions. A fixed-point format
    that cannot represent it uses its largest number, which also suffices, because exponentials are rounded to 0.
    """
    if not soft:
        return AVERAGE_HARD
    return softmax_weighting(Constant(max(4, ceil(log(16 * positions) / BIT_SCALE))))


def fetch_by_scores(
    name: str,
    pairs: Iterable[tuple[Signal, Signal]],
    value: Signal,
    weighting: Weighting,
    *,
    explains: HeadExplanation = "the position of the best score",
) -> Signal:
    """The value at the best keys among all positions; the scores of the query-key pairs add up. Gap: 2."""
    query, key = (stack(*side) for side in zip(*pairs, strict=True))
    return attend(
        name,
        query=query,
        key=key,
        value=value,
        mask=Mask.ALL,
        weighting=weighting,
        gap=BIT_SCALE,
        single_key=True,
        explains=explains,
    )


def round_to_bit(name: str, signal: Signal, where: Signal) -> Signal:
    """Round a number within 1/4 of a bit to that bit where ``where`` is 1; 0 where it is 0. Two units.

    2 ReLU(x + w - 5/4) - 2 ReLU(x + w - 7/4). Assumes 0 ≤ x ≤ 1 everywhere.
    """
    up = relu(f"{name}: from 1/4", signal + where - Fraction(5, 4))
    down = relu(f"{name}: from 3/4", signal + where - Fraction(7, 4))
    return named(name, (2 * (up - down)).with_range(BIT))


def round_to_bit_doubled(name: str, signal: Signal, where: Signal) -> Signal:
    """Twice the result of :func:`round_to_bit`, with weights of at most 2, which F_2 can represent. Two units."""
    twice = 2 * signal + 2 * where
    up = relu(f"{name}: from 1/4", twice - Fraction(5, 2))
    down = relu(f"{name}: from 3/4", twice - Fraction(7, 2))
    return named(name, (2 * (up - down)).with_range(integer(0, 2)))


def conjunction(name: str, one: Signal, other: Signal, where: Signal) -> Signal:
    """Conjunction of two numbers within 1/8 of bits where ``where`` is 1; elsewhere 0. Two units."""
    total = one + other + where
    up = relu(f"{name}: from 9/4", total - Fraction(9, 4))
    down = relu(f"{name}: from 11/4", total - Fraction(11, 4))
    return named(name, (2 * (up - down)).with_range(BIT))


@dataclass(frozen=True)
class UnitVectorScale:
    """The constants of addressing by unit vectors.

    Args:
        bits: b, the precision of the vectors: the smallest one in which the scores separate the addresses.
        scale: S = 2^(b-1).
        gap: The exact difference between the score of the correct address and the next best one.
    """

    bits: int
    scale: int
    gap: Fraction


@cache
def find_unit_vector_scale(addresses: int, positions: int, soft: bool) -> UnitVectorScale:
    """Find the smallest precision, with its scale and gap, for addresses 0, …, addresses - 1.

    In F_b, the score of the correct address is the largest (and for softmax, every other exponential rounds to 0); over
    the reals, softmax gives less than 1/16 to all other positions.
    """
    bits = 3
    while True:
        gap = _min_gap(addresses, bits, soft, positions, neighbours_only=True)
        if gap is not None and addresses <= MAX_ALL_PAIRS:
            gap = _min_gap(addresses, bits, soft, positions, neighbours_only=False)
        if gap is not None:
            return UnitVectorScale(bits, 1 << bits - 1, gap)
        bits += 1


def _min_gap(addresses: int, bits: int, soft: bool, positions: int, *, neighbours_only: bool) -> Fraction | None:
    """Return the smallest gap of exact scores if scores separate all addresses (or neighbours); else None."""
    vectors = [rounded_unit_vector(address, bits) for address in range(addresses)]
    scale = 1 << bits - 1
    needed = max(Fraction(log(2)) * (bits + 1), Fraction(log(16 * positions))) if soft else Fraction(0)
    reserve = 4 if neighbours_only and addresses > MAX_ALL_PAIRS else 0
    exactly_needed = floor(needed * (1 << 2 * bits))
    rounded_needed = floor((needed + reserve) * (1 << bits))
    least: int | None = None
    for target, vector in enumerate(vectors):
        own, own_rounded = scale * _exact_dot(vector, vector), _rounded_dot(vector, vector, scale, bits)
        for other in (target - 1, target + 1) if neighbours_only else range(addresses):
            if other == target or not 0 <= other < addresses:
                continue
            exact = own - scale * _exact_dot(vector, vectors[other])
            rounded = own_rounded - _rounded_dot(vector, vectors[other], scale, bits)
            if exact <= exactly_needed or rounded <= rounded_needed:
                return None
            least = exact if least is None else min(least, exact)
    return Fraction(scale, 2) if least is None else Fraction(least, 1 << 2 * bits)


def _exact_dot(one: tuple[int, int], other: tuple[int, int]) -> int:
    return one[0] * other[0] + one[1] * other[1]


def _rounded_dot(query: tuple[int, int], key: tuple[int, int], scale: int, bits: int) -> int:
    """S·μ(t)·μ(k) as computed in F_b, each product rounded, in units of 2^-b."""
    half = 1 << bits - 1
    return ((scale * query[0] * key[0] + half) >> bits) + ((scale * query[1] * key[1] + half) >> bits)
