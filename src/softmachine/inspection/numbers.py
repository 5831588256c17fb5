"""Exact numbers for display and for JSON.

Flint numbers are converted: rationals to fractions, balls to enclosures. JSON holds integers that JavaScript represents
exactly, and other numbers as text; tables are stored by differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from flint import arb, fmpq

from softmachine.support.errors import PrecisionError
from softmachine.transformer.head_view import EnclosedNumber, Enclosure
from softmachine.transformer.weights import AffineMap, Matrix


def to_number(value: fmpq | arb) -> EnclosedNumber:
    """Convert a rational or a ball.

    Raises:
        PrecisionError: If the ball is not finite.
    """
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    if not value.is_finite():
        raise PrecisionError("a number is out of the range of ball arithmetic")
    if value.is_exact():
        return _dyadic(value)
    middle, radius = _dyadic(value.mid()), _dyadic(value.rad())
    return Enclosure(middle - radius, middle + radius)


def to_numbers(values: Iterable[fmpq | arb]) -> tuple[EnclosedNumber, ...]:
    """Convert several numbers."""
    return tuple(map(to_number, values))


def _dyadic(exact: arb) -> Fraction:
    mantissa, exponent = map(int, exact.man_exp())
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_SAFE_INTEGER = 2**53
"""Integers below this are exact in JavaScript."""
MAX_ORDER = 3
"""The highest order of differences: polynomials up to this degree become constants."""


def encode_number(value: Fraction | int) -> int | str:
    """A number: an integer, or "n/d"."""
    if value.denominator == 1:
        whole = value.numerator
        return whole if abs(whole) < MAX_SAFE_INTEGER else str(whole)
    return f"{value.numerator}/{value.denominator}"


def encode_row(entries: Iterable[tuple[int, Fraction]]) -> list[Json]:
    """A sparse row: columns and values, alternately."""
    return [item for column, value in entries for item in (column, encode_number(value))]


def encode_matrix(sparse: Matrix) -> list[Json]:
    """A sparse matrix, row by row."""
    return [encode_row(entries) for entries in sparse.rows]


def encode_affine(map_: AffineMap) -> Json:
    """An affine map: its rows, and its bias."""
    return [encode_matrix(map_.weight), [encode_number(value) for value in map_.bias]]


def encode_differences(values: Sequence[int]) -> Json:
    """Integers as k and their k-th differences, for the k with the shortest text; a constant is written once.

    The first numbers of the lower orders, which the differences lack, come before them.
    """
    best: tuple[int, int, list[int], list[int]] | None = None
    rest, heads = list(values), list[int]()
    for order in range(MAX_ORDER + 1):
        size = 1 if len(set(rest)) < 2 else sum(len(str(value)) + 1 for value in rest)
        if best is None or size < best[0]:
            best = size, order, list(heads), rest
        if not rest:
            break
        heads.append(rest[0])
        rest = [after - before for before, after in pairwise(rest)]
    assert best is not None
    _, order, firsts, rest = best
    constant = len(set(rest)) < 2
    shown: list[Json] = [
        value if abs(value) < MAX_SAFE_INTEGER else str(value) for value in (rest[:1] if constant else rest)
    ]
    return [order, [value if abs(value) < MAX_SAFE_INTEGER else str(value) for value in firsts], len(rest), shown]


def encode_fractions(values: Sequence[Fraction]) -> Json:
    """Fractions, as two tables of integers."""
    over = encode_differences([value.denominator for value in values])
    return [encode_differences([value.numerator for value in values]), over]
