"""Function tables: numbers that the token and the position decide, tabulated over the pairs that a domain allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.ir.domain import Domain
from softmachine.ir.facts import ZERO
from softmachine.ir.position_functions import PositionFunction
from softmachine.ir.primitives import Attention, Named, Norm, Position, Token, Unit
from softmachine.ir.signal import Affine, Atom, Node
from softmachine.transformer.attention import Mask

MAX_ROWS = 6000
"""Maximal number of pairs of a position and a token; with more, only functions of the token are tabulated."""
MAX_INTEGER = 2**61
"""Bound of the integers that are computed in machine words."""


@dataclass(frozen=True)
class Column:
    """Rational numbers with a common denominator."""

    numerators: NDArray[Any]
    denominator: int

    @staticmethod
    def of(values: Sequence[Fraction]) -> Column:
        """The column of some numbers."""
        over = lcm(*(value.denominator for value in values))
        numerators = [value.numerator * (over // value.denominator) for value in values]
        large = max(map(abs, numerators), default=0) >= MAX_INTEGER
        return Column(np.array(numerators, dtype=object if large else np.int64), over)

    @property
    def size(self) -> int:
        """The largest absolute value of a numerator."""
        return int(np.abs(self.numerators).max(initial=0))

    def fractions(self) -> list[Fraction]:
        """The numbers."""
        return [Fraction(number, self.denominator) for number in self.numerators.tolist()]

    def distinct(self) -> list[Fraction]:
        """The different numbers."""
        return [Fraction(number, self.denominator) for number in set(self.numerators.tolist())]


def sum_columns(parts: Sequence[tuple[Fraction, Column]], constant: Fraction, height: int) -> Column:
    """A weighted sum of columns and a constant."""
    over = lcm(constant.denominator, *(factor.denominator * column.denominator for factor, column in parts))
    factors = [int(factor * over / column.denominator) for factor, column in parts]
    start = int(constant * over)
    largest = abs(start) + sum(abs(factor) * column.size for factor, (_, column) in zip(factors, parts, strict=True))
    kind: Any = object if largest >= MAX_INTEGER else np.int64
    total = np.full(height, start, dtype=kind)
    for factor, (_, column) in zip(factors, parts, strict=True):
        total = total + column.numerators.astype(kind) * factor
    return Column(total, over)


@dataclass(frozen=True)
class Row:
    """A position and a token that can stand there; without a position, any of 1, 2, …."""

    position: int | None
    token: str


def token_rows(domain: Domain) -> list[Row]:
    """A row for each token at position 0, and for each at a later one."""
    return [*(Row(0, token) for token in sorted(domain.first)), *(Row(None, token) for token in sorted(domain.later))]


def placed_rows(domain: Domain, positions: int) -> list[Row]:
    """A row for each position and token; none if these are too many."""
    if domain.placed is None and len(domain.first) + (positions - 1) * len(domain.later) > MAX_ROWS:
        return []
    return [Row(i, token) for i in range(positions) for token in sorted(domain.tokens_at(i))]


class FunctionTables:
    """Columns of numbers that are functions of a row.

    Args:
        rows: The rows.
        length: n, if the number of positions is fixed; else features of n have no table.
        best_keys: The keys with the best score, at each position, of heads whose scores the position alone decides.
        functions: What the position alone decides at every length; it counts if it is the same at positions 1, 2, ….
    """

    def __init__(
        self,
        rows: Sequence[Row],
        length: int | None,
        best_keys: Mapping[Attention, Sequence[NDArray[np.intp]]] = MappingProxyType({}),
        functions: Mapping[Atom, PositionFunction] = MappingProxyType({}),
    ) -> None:
        self.rows, self.length, self.best_keys, self.functions = rows, length, best_keys, functions
        self.has_positions = all(row.position is not None for row in rows)
        self._columns: dict[Atom, Column] = {}
        self._local: dict[Node, bool] = {}

    def has_form(self, form: Affine) -> bool:
        """Whether a form is a function of the row."""
        return bool(self.rows) and all(self.has(node) for node, _ in form.terms)

    def has(self, node: Node) -> bool:
        """Whether the numbers of a node are functions of the row."""
        if node not in self._local:
            self._local[node] = bool(self.rows) and self._is_local(node)
        return self._local[node]

    def _is_local(self, node: Node) -> bool:
        functions = (self.functions.get((node, k)) for k in range(len(node.ranges)))
        if all(function is not None and function.later is not None for function in functions):
            return True
        match node:
            case Token():
                return True
            case Position():
                return self.has_positions and not (node.feature.needs_length and self.length is None)
            case Norm():
                return False
            case Unit() | Named():
                return all(map(self.has_form, node.forms))
            case Attention() if self.has_positions and not node.weighting.is_unique_hard:
                uniform = node.mask is Mask.CAUSAL and node.bias is None and not any(form.terms for form in node.key)
                return (uniform or node in self.best_keys) and all(map(self.is_positional, node.value))
        return False

    def is_positional(self, form: Affine) -> bool:
        """Whether the position alone decides a form."""
        return self.by_position(form) is not None

    @cached_property
    def _first_rows(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first row of each position, and the position of each row."""
        positions = np.array([row.position or 0 for row in self.rows], dtype=np.intp)
        return np.unique(positions, return_index=True)[1], positions

    def by_position(self, form: Affine) -> Column | None:
        """The value at each position, if the position alone decides it."""
        if not self.has_positions or not self.has_form(form):
            return None
        first, positions = self._first_rows
        column = self.column(form)
        values = column.numerators[first]
        same = bool((values[np.searchsorted(positions[first], positions)] == column.numerators).all())
        return Column(values, column.denominator) if same else None

    def values(self, form: Affine, *, start: bool) -> set[Fraction]:
        """The values of a form at position 0, or at later ones."""
        column = self.column(form)
        places = [k for k, row in enumerate(self.rows) if (row.position == 0) == start]
        return {Fraction(x, column.denominator) for x in set(column.numerators[places].tolist())}

    def column(self, form: Affine) -> Column:
        """The value of a form in each row."""
        parts = [(factor, self.atom(atom)) for atom, factor in form.terms.items()]
        return sum_columns(parts, form.constant, len(self.rows))

    def atom(self, atom: Atom) -> Column:
        """The value of an atom in each row."""
        if atom not in self._columns:
            self._columns[atom] = self._atom(*atom)
        return self._columns[atom]

    def _atom(self, node: Node, k: int) -> Column:
        function = self.functions.get((node, k))
        if function is not None:
            return Column.of([function.at(0) if row.position == 0 else function.later or ZERO for row in self.rows])
        match node:
            case Token():
                return Column.of([node.table.get(row.token, {}).get(k, Fraction(0)) for row in self.rows])
            case Position():
                first, positions = self._first_rows
                values = Column.of([node.feature.at(int(i), self.length) for i in positions[first]])
                return Column(values.numerators[np.searchsorted(positions[first], positions)], values.denominator)
            case Unit():
                column = self.column(node.forms[k])
                if node.activation == "relu":
                    return Column(np.maximum(column.numerators, 0), column.denominator)
                return Column((column.numerators >= 0).astype(np.int64), 1)
            case Named():
                return self.column(node.forms[k])
            case Attention():
                values = self.by_position(node.value[k]) or Column.of([])
                first, positions = self._first_rows
                chosen = self.best_keys.get(node) or [np.arange(i + 1) for i in range(len(first))]
                means = Column.of(
                    [
                        Fraction(int(values.numerators[keys].sum()), values.denominator * len(keys))
                        if len(keys)
                        else ZERO
                        for keys in chosen
                    ]
                )
                return Column(means.numerators[np.searchsorted(positions[first], positions)], means.denominator)
        raise TypeError(f"{node!r} is not a function of token and position")

    def distinct(self, forms: Iterable[Affine]) -> set[tuple[Fraction, ...]]:
        """The combinations of values that some forms have in one row."""
        columns = [self.column(form) for form in forms]
        rows = set(zip(*(column.numerators.tolist() for column in columns), strict=True))
        return {tuple(Fraction(x, column.denominator) for x, column in zip(row, columns, strict=True)) for row in rows}
