"""Exact numbers as JSON has them: integers where those of JavaScript are exact, else text; tables by differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from softmachine.transformer.weights import AffineMap, Matrix

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

SAFE = 2**53
"""JavaScript's numbers are exact below."""
MOST_ORDER = 3
"""Polynomials of a lower degree become constants when differences are taken so often."""


def number(value: Fraction | int) -> int | str:
    """A number: an integer, or "n/d"."""
    if value.denominator == 1:
        whole = value.numerator
        return whole if abs(whole) < SAFE else str(whole)
    return f"{value.numerator}/{value.denominator}"


def row(entries: Iterable[tuple[int, Fraction]]) -> list[Json]:
    """A sparse row: each column, and its value after it."""
    return [item for column, value in entries for item in (column, number(value))]


def matrix(sparse: Matrix) -> list[Json]:
    """A sparse matrix, row by row."""
    return [row(entries) for entries in sparse.rows]


def affine(part: AffineMap) -> Json:
    """An affine map: its rows, and its bias."""
    return [matrix(part.weight), [number(value) for value in part.bias]]


def differences(values: Sequence[int]) -> Json:
    """Integers as k and their k-th differences, with k so that they are short; a constant is told once.

    The k numbers that are lost, the first of each order, come before them.
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
    _, order, firsts, told = best
    constant = len(set(told)) < 2
    shown: list[Json] = [value if abs(value) < SAFE else str(value) for value in (told[:1] if constant else told)]
    return [order, [value if abs(value) < SAFE else str(value) for value in firsts], len(told), shown]


def table(values: Sequence[Fraction]) -> Json:
    """Fractions, as two tables of integers."""
    over = differences([value.denominator for value in values])
    return [differences([value.numerator for value in values]), over]
