"""Function tables: numbers that the token and the position decide, tabulated over the pairs that a domain allows."""

from __future__ import annotations

from collections import defaultdict
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

    @cached_property
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
    factors = [x.numerator * (over // (x.denominator * column.denominator)) for x, column in parts]
    start = constant.numerator * (over // constant.denominator)
    largest = abs(start) + sum(abs(factor) * column.size for factor, (_, column) in zip(factors, parts, strict=True))
    kind: Any = object if largest >= MAX_INTEGER else np.int64
    total = np.full(height, start, dtype=kind)
    for factor, (_, column) in zip(factors, parts, strict=True):
        total = total + column.numerators.astype(kind) * factor
    return Column(total, over)


Table = tuple[NDArray[Any], int]
"""Rows of integers, and a common denominator."""


def stack_columns(columns: Sequence[Column]) -> Table:
    """The distinct rows of some columns."""
    over = lcm(*(column.denominator for column in columns))
    large = any(column.size * (over // column.denominator) >= MAX_INTEGER for column in columns)
    kind: Any = object if large else np.int64
    scaled = [column.numerators.astype(kind) * (over // column.denominator) for column in columns]
    return distinct_rows(np.stack(scaled, axis=1)), over


def distinct_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """The distinct rows of a matrix of integers: by a linear hash, unless two rows collide."""
    if rows.dtype == object:
        return np.array(list(dict.fromkeys(map(tuple, rows.tolist()))), dtype=object).reshape(-1, rows.shape[1])
    hashes = rows @ np.random.default_rng(0).integers(1, 2**62, rows.shape[1])
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    kept = rows[first]
    return kept if bool((kept[place.ravel()] == rows).all()) else np.unique(rows, axis=0)


@dataclass(frozen=True)
class Row:
    """A position and a token that can stand there; without a position, any position that the token can have."""

    position: int | None
    token: str


def token_rows(domain: Domain) -> list[Row]:
    """A row for each token."""
    return [Row(None, token) for token in sorted(domain.first | domain.later)]


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
    """

    def __init__(
        self,
        rows: Sequence[Row],
        length: int | None,
        best_keys: Mapping[Attention, Sequence[NDArray[np.intp]]] = MappingProxyType({}),
    ) -> None:
        self.rows, self.length, self.best_keys = rows, length, best_keys
        self.has_positions = bool(rows) and rows[0].position is not None
        self._columns: dict[Atom, Column] = {}
        self._local: dict[Node, bool] = {}
        self._tables: dict[Token, defaultdict[int, list[tuple[int, Fraction]]]] = {}

    def has_form(self, form: Affine) -> bool:
        """Whether a form is a function of the row."""
        return bool(self.rows) and all(self.has(node) for node, _ in form.terms)

    def has(self, node: Node) -> bool:
        """Whether the numbers of a node are functions of the row."""
        if node not in self._local:
            self._local[node] = bool(self.rows) and self._is_local(node)
        return self._local[node]

    def _is_local(self, node: Node) -> bool:
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

    def column(self, form: Affine) -> Column:
        """The value of a form in each row."""
        parts = [(f, self.atom(atom)) for atom, f in form.terms.items() if not isinstance(atom[0], Token)]
        tokens = list(dict.fromkeys(node for node, _ in form.terms if isinstance(node, Token)))
        parts += [(Fraction(1), self.token_column(node, form)) for node in tokens]
        return sum_columns(parts, form.constant, len(self.rows))

    @cached_property
    def _tokens(self) -> tuple[dict[str, int], NDArray[np.intp]]:
        """The tokens with an index, and the index of the token of each row."""
        index = {token: k for k, token in enumerate(dict.fromkeys(row.token for row in self.rows))}
        return index, np.array([index[row.token] for row in self.rows], dtype=np.intp)

    def token_column(self, node: Token, form: Affine) -> Column:
        """The sum of the terms of a form that have atoms of a token table, in each row."""
        index, places = self._tokens
        if node not in self._tables:
            self._tables[node] = defaultdict(list)
            for token in index.keys() & node.table.keys():
                for k, value in node.table[token].items():
                    self._tables[node][k].append((index[token], value))
        values: dict[int, Fraction] = {}
        for (own, k), factor in form.terms.items():
            if own is node:
                for token_index, value in self._tables[node][k]:
                    product = factor if value == 1 else factor * value
                    values[token_index] = values[token_index] + product if token_index in values else product
        column = Column.of([*values.values(), ZERO])
        numerators = np.zeros(len(index), dtype=column.numerators.dtype)
        numerators[list(values)] = column.numerators[:-1]
        return Column(numerators[places], column.denominator)

    def atom(self, atom: Atom) -> Column:
        """The value of an atom in each row."""
        if atom not in self._columns:
            self._columns[atom] = self._atom(*atom)
        return self._columns[atom]

    def _atom(self, node: Node, k: int) -> Column:
        match node:
            case Token():
                return self.token_column(node, Affine({(node, k): Fraction(1)}))
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
        rows, over = stack_columns([self.column(form) for form in forms])
        return {tuple(Fraction(x, over) for x in row) for row in rows.tolist()}
