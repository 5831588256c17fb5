"""JSON encoding of exact numbers: integers that JavaScript represents exactly, else text; tables by differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from softmachine.transformer.weights import AffineMap, Matrix

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

SAFE = 2**53
"""Integers below this are exact in JavaScript."""
MOST_ORDER = 3
"""The highest order of differences: polynomials up to this degree become constants."""


def number(value: Fraction | int) -> int | str:
    """A number: an integer, or "n/d"."""
    if value.denominator == 1:
        whole = value.numerator
        return whole if abs(whole) < SAFE else str(whole)
    return f"{value.numerator}/{value.denominator}"


def row(entries: Iterable[tuple[int, Fraction]]) -> list[Json]:
    """A sparse row: columns and values, alternately."""
    return [item for column, value in entries for item in (column, number(value))]


def matrix(sparse: Matrix) -> list[Json]:
    """A sparse matrix, row by row."""
    return [row(entries) for entries in sparse.rows]


def affine(part: AffineMap) -> Json:
    """An affine map: its rows, and its bias."""
    return [matrix(part.weight), [number(value) for value in part.bias]]


def differences(values: Sequence[int]) -> Json:
    """Integers as k and their k-th differences, for the k with the shortest text; a constant is written once.

    The first numbers of the lower orders, which the differences lack, come before them.
    """
    best: tuple[int, int, list[int], list[int]] | None = None
    rest, heads = list(values), list[int]()
    for order in range(MOST_ORDER + 1):
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
    shown: list[Json] = [value if abs(value) < SAFE else str(value) for value in (rest[:1] if constant else rest)]
    return [order, [value if abs(value) < SAFE else str(value) for value in firsts], len(rest), shown]


def table(values: Sequence[Fraction]) -> Json:
    """Fractions, as two tables of integers."""
    over = differences([value.denominator for value in values])
    return [differences([value.numerator for value in values]), over]
