"""The index of keys that match in integers, against a comparison of all keys; as plain Python and as machine code."""

from __future__ import annotations

import inspect
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from softmachine.engines.fast import code_cache
from softmachine.engines.fast.indexes import groups, matching
from softmachine.engines.fast.indexes.arrays import MatchingGroups
from tests.engines.fast.indexes import kernel_of

GROUPS = ("keys", "places", "values", "slots")
INSERTED = (
    *(*GROUPS, "meta", "box", "kinds", "kind_slots", "kind_sizes"),
    *("tally", "chain", "newest", "gates", "key", "value"),
)
SEARCHED = (*GROUPS, "box", "kinds", "kind_sizes", "tally", "chain", "newest", "bounds", "gates", "key", "query")


class Index:
    """The groups of a head.

    Args:
        gates: How many gates a key has.
        integers: How many integers it has.
        row: The integers of a value.
        plain: Whether to run as plain Python.
        fractions: Whether values are numerators and denominators.
    """

    def __init__(self, gates: int, integers: int, *, row: int = 1, plain: bool = True, fractions: bool = False) -> None:
        self.storage = MatchingGroups("h", row, "head", 1 + integers, gates + 2 * integers, gates)
        self.arrays = self.storage.allocate(4, 2)
        self._insert = kernel_of(matching, "insert_matching", plain=plain)
        self._search = kernel_of(matching, "search_matching", plain=plain)
        self.fractions, self.count = fractions, 0
        self.kept: list[tuple[list[int], list[int], list[int]]] = []

    @property
    def named(self) -> dict[str, Any]:
        return dict(zip(self.storage.parts, self.arrays, strict=True))

    def insert(self, gates: Sequence[int], integers: Sequence[int], value: Sequence[int]) -> None:
        """Insert a key twice; the second call must have no effect."""
        for _ in range(2):
            while True:
                named = self.named
                named["gates"][:], named["key"][1:], named["value"][:] = gates, integers, value
                found = self._insert(*(named[part] for part in INSERTED), self.count, self.fractions)
                if found != groups.FULL:
                    break
                self.arrays = self.storage.enlarge(self.arrays)
            assert found == groups.OK
        self.kept.append((list(gates), list(integers), list(value)))
        self.count += 1

    def search(self, query: Sequence[int]) -> tuple[int, bool, list[int]]:
        """The number of best values, whether an overflow occurred, and their sum."""
        named = self.named
        named["query"][:] = query
        count, bad = self._search(*(named[part] for part in SEARCHED), self.fractions, named["out"])
        return int(count), bool(bad), named["out"].tolist()

    def by_comparing_all(self, query: Sequence[int]) -> tuple[int, list[Fraction] | list[int]]:
        """The same, by definition."""
        scores = []
        for gates, integers, _ in self.kept:
            both = [*gates, *(part for y in integers for part in (y, y * y))]
            scores.append(sum(q * x for q, x in zip(query, both, strict=True)))
        rows = [row for (_, _, row), score in zip(self.kept, scores, strict=True) if score == max(scores)]
        if self.fractions:
            pairs = [[Fraction(row[k], row[k + 1]) for k in range(0, len(row), 2)] for row in rows]
            return len(rows), [sum(column, Fraction(0)) for column in zip(*pairs, strict=True)]
        return len(rows), [sum(column) for column in zip(*rows, strict=True)]


def asked(chooser: random.Random, gates: int, integers: int) -> list[int]:
    """A query: mostly with integer vertices; some are half-integers, or missing."""
    query = [chooser.randrange(-3, 4) for _ in range(gates)]
    for _ in range(integers):
        curve = chooser.choice([-1, -1, -1, -2, -3, 0, 1])
        slope = -2 * curve * chooser.randrange(-2, 12) if chooser.random() < 0.8 else chooser.randrange(-9, 10)
        query += [slope, curve]
    return query


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(("gates", "integers"), [(1, 1), (0, 1), (3, 1), (2, 2), (1, 3)])
def test_the_best_keys_agree_with_comparing_all(plain: bool, gates: int, integers: int) -> None:
    chooser = random.Random(10 * gates + integers)
    for _ in range(12 if plain else 60):
        index = Index(gates, integers, row=2, plain=plain)
        for _ in range(chooser.choice([1, 5, 30])):
            key = [chooser.randrange(2) for _ in range(gates)], [chooser.randrange(-2, 9) for _ in range(integers)]
            index.insert(*key, [chooser.randrange(9), chooser.randrange(9)])
            query = asked(chooser, gates, integers)
            count, bad, found = index.search(query)
            assert not bad
            assert (count, found) == index.by_comparing_all(query)


def test_values_may_be_fractions() -> None:
    chooser, index = random.Random(4), Index(1, 1, row=2, fractions=True)
    for _ in range(40):
        value = Fraction(chooser.randrange(9), chooser.randrange(1, 7))
        index.insert([chooser.randrange(2)], [chooser.randrange(4)], [value.numerator, value.denominator])
        query = asked(chooser, 1, 1)
        count, bad, (over, under) = index.search(query)
        assert not bad
        assert (count, [Fraction(over, under)]) == index.by_comparing_all(query)


def test_a_match_is_found_without_scanning_other_keys() -> None:
    """With a sink that scores as high as a match, a query costs as much among ten keys as among thousands."""
    index = Index(1, 1)
    index.insert([1], [0], [1])
    for y in range(1, 3000):
        index.insert([0], [y], [0])
    index.named["chain"][:] = 0  # a scan of the other keys would not terminate
    index.named["chain"][0] = -1
    for x in (1, 77, 2999, 5000):
        expected = (2, [1]) if x < 3000 else (1, [1])
        count, bad, found = index.search([x * x, 2 * x, -1])
        assert (count, bad, found) == (expected[0], False, expected[1])


@pytest.mark.parametrize("plain", [True, False])
def test_scores_that_do_not_fit_are_refused(plain: bool) -> None:
    index = Index(1, 1, plain=plain)
    index.insert([1], [1 << 30], [1])
    assert index.search([1, 2 << 30, -1]) == (1, False, [1])
    assert index.search([1, 4 << 30, -2])[1]
    assert index.search([1, 1 << 62, -(1 << 31)])[1]
    assert index.search([1 << 61, 2 << 30, -1])[1]
    assert index.search([1 << 58, 2 << 30, -1]) == (1, False, [1])
    assert index.search([1, 0, -(1 << 62)])[1]


@pytest.mark.parametrize("damage", ["kinds", "kind_slots", "chain", "newest", "tally", "bounds", "slots"])
def test_arrays_from_a_file_are_validated(damage: str) -> None:
    index = Index(1, 1)
    for y in range(9):
        index.insert([y % 3], [y], [1])
    assert index.storage.is_valid(index.arrays, 9)
    named = index.named
    match damage:
        case "kinds" | "bounds":
            named[damage] = named[damage][:-1]
        case "tally":
            named["tally"][0] = 99
        case "kind_slots" | "slots":
            named[damage][np.argmax(named[damage])] = 1000
        case "chain":
            named["chain"][3] = 5
        case "newest":
            named["newest"][0] = 64
    assert not index.storage.is_valid(list(named.values()), 9)


def test_an_index_is_reused_by_another_run() -> None:
    index = Index(1, 1)
    for y in range(30):
        index.insert([y % 4], [y], [1])
    index.storage.reset(index.arrays)
    index.kept, index.count = [], 0
    index.insert([0], [2], [7])
    assert index.search([1, 4, -1]) == (1, False, [7])


def test_the_names_of_the_arrays_are_those_of_the_kernels() -> None:
    for name, parts in (("insert_matching", INSERTED), ("search_matching", SEARCHED)):
        parameters = list(inspect.signature(code_cache.without_numba(vars(matching))[name]).parameters)
        renamed = {"slots": "table", "kind_slots": "kind_table"}
        assert parameters[: len(parts)] == [renamed.get(part, part) for part in parts]
