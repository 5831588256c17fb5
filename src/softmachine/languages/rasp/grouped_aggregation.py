"""Grouped aggregation for long inputs: keys with equal values form groups with prefix sums.

A selector treats equal keys alike, and an equality test matches only one group. A query therefore looks up its matching
groups and finds the visible positions in each by bisection, without comparing every pair of positions. The result is
that of the definition; a test compares the two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Final

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import UNDEFINED, Node, Operator, Reduction, Selector
from softmachine.languages.rasp.values import Number, Result, aggregated, apply, identity, is_number, plain

MOST_GROUPS: Final = 64
"""Maximal number of different values of keys that are compared other than by equality."""
POSITIONAL: Final = (Operator.EQUAL, Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST)

Atom = ir.Select | ir.SelectPairs
Columns = Mapping[str, Sequence[Result]]


@dataclass
class _Group:
    """Equal keys, in order of position.

    Args:
        positions: The positions of the keys.
        values: The aggregated values at these positions.
        sums: Prefix sums of the numeric values.
        numbers: Prefix counts of the numeric values.
        changes: For each entry, the index of the last entry up to it whose value differs from its predecessor's.
        largest: For each prefix, values that represent it in a maximum.
        smallest: For each prefix, values that represent it in a minimum.
    """

    positions: list[int] = field(default_factory=list)
    values: list[Result] = field(default_factory=list)
    sums: list[Fraction | int] = field(default_factory=lambda: [0])
    numbers: list[int] = field(default_factory=lambda: [0])
    changes: list[int] = field(default_factory=list)
    largest: list[tuple[Number, ...]] = field(default_factory=lambda: [()])
    smallest: list[tuple[Number, ...]] = field(default_factory=lambda: [()])

    def add(self, position: int, value: Result) -> None:
        """Append a key."""
        alike = bool(self.values) and identity(self.values[-1]) == identity(value)
        self.changes.append(self.changes[-1] if alike else len(self.values))
        self.positions.append(position)
        self.values.append(value)
        self.sums.append(self.sums[-1] + (value if is_number(value) else 0))
        self.numbers.append(self.numbers[-1] + is_number(value))
        more = (value,) if is_number(value) else ()
        self.largest.append(_representing((*self.largest[-1], *more), max))
        self.smallest.append(_representing((*self.smallest[-1], *more), min))

    def representing(self, reduction: Reduction, first: int, end: int) -> Sequence[Result]:
        """Values with the same maximum or minimum as the entries from ``first`` to before ``end``."""
        if first or self.numbers[end] < end:
            return self.values[first:end]
        return (self.largest if reduction is Reduction.LARGEST else self.smallest)[end]


def _representing(values: tuple[Number, ...], best: Callable[..., Number]) -> tuple[Number, ...]:
    """The best value and, if it is a Boolean, a number among the values: the result is Boolean only if all are."""
    found = best(values, default=None)
    others = [value for value in values if isinstance(found, bool) and not isinstance(value, bool)]
    return () if found is None else (found, *others[:1])


def conjunction(selector: Selector, nodes: Mapping[str, Node]) -> list[Atom] | None:
    """The conjuncts of a selector; None if it is not a conjunction of comparisons."""
    match selector:
        case ir.Select() | ir.SelectPairs():
            return [selector]
        case ir.SelectAll(selected=True):
            return []
        case ir.Combine(operator=Operator.AND, selectors=names):
            parts = [conjunction(nodes[name], nodes) for name in names]  # type: ignore[arg-type]
            return None if None in parts else [atom for part in parts for atom in part or ()]
        case _:
            return None


def grouped(
    selector: Selector, nodes: Mapping[str, Node], columns: Columns, values: Sequence[Result], causal: bool
) -> Grouped | None:
    """Group the keys of a selector; None if the selector has to compare every pair of positions.

    Args:
        selector: The selector.
        nodes: The operations by name.
        columns: The values of the sequence operators, at all positions.
        values: The values to aggregate.
        causal: Whether a query sees only keys up to itself.
    """
    atoms = conjunction(selector, nodes)
    if atoms is None or UNDEFINED in values:
        return None
    sides = [columns[name] for atom in atoms for name in (atom.key, atom.query)]
    if any(UNDEFINED in column or None in column for column in sides):
        return None
    found = Grouped(atoms, nodes, columns, values, causal)
    return found if found.feasible else None


class Grouped:
    """The grouped keys of a selector, with the values to aggregate."""

    def __init__(
        self, atoms: Sequence[Atom], nodes: Mapping[str, Node], columns: Columns, values: Sequence[Result], causal: bool
    ) -> None:
        self.causal, self.length, self.columns = causal, len(values), columns
        self.positional, self.equal, self.others = _sorted_out(atoms, nodes)
        self.tests = [_test(atom) for atom in self.others]
        self.groups: dict[Hashable, dict[Hashable, tuple[tuple[Result, ...], _Group]]] = {}
        for j, value in enumerate(values):
            fixed = tuple(columns[atom.key][j] for atom in self.equal)
            free = tuple(columns[atom.key][j] for atom in self.others)
            inner = self.groups.setdefault(fixed, {})
            inner.setdefault(identity(free), (free, _Group()))[1].add(j, value)
        self._fitting: dict[Hashable, list[_Group]] = {}

    @property
    def feasible(self) -> bool:
        """Whether no query matches too many groups and all comparisons are defined."""
        queries = [column for atom in self.positional for column in self.columns[atom.query]]
        few = max(map(len, self.groups.values()), default=0) <= MOST_GROUPS
        return few and all(map(is_number, queries)) and self._comparable()

    def _comparable(self) -> bool:
        for number, atom in enumerate(self.others):
            keys = {
                identity(free[number]): free[number] for inner in self.groups.values() for free, _ in inner.values()
            }
            queries = {identity(query): query for query in self.columns[atom.query]}
            if len(keys) * len(queries) > MOST_GROUPS * MOST_GROUPS:
                return False
            if any(self.tests[number](key, query) is UNDEFINED for key in keys.values() for query in queries.values()):
                return False
        return True

    def selected(self, i: int) -> list[tuple[_Group, int, int]]:
        """The keys that the query at position i selects, as slices (group, first, end)."""
        low, high = 0, i + 1 if self.causal else self.length
        for atom in self.positional:
            low, high = _narrowed(atom.comparison, self.columns[atom.query][i], low, high)
        spans = (
            (group, bisect_left(group.positions, low), bisect_left(group.positions, high)) for group in self._fit(i)
        )
        return [(group, first, end) for group, first, end in spans if first < end]

    def _fit(self, i: int) -> list[_Group]:
        fixed = tuple(self.columns[atom.query][i] for atom in self.equal)
        queries = tuple(self.columns[atom.query][i] for atom in self.others)
        key = fixed, identity(queries)
        if key not in self._fitting:
            entries = self.groups.get(fixed, {}).values()
            self._fitting[key] = [group for free, group in entries if self._fulfils(free, queries)]
        return self._fitting[key]

    def _fulfils(self, free: tuple[Result, ...], queries: tuple[Result, ...]) -> bool:
        return all(test(key, query) is True for test, key, query in zip(self.tests, free, queries, strict=True))

    def width(self, i: int) -> int:
        """The number of keys that the query at position i selects."""
        return sum(end - first for _, first, end in self.selected(i))

    def aggregate(self, i: int, reduction: Reduction, default: Result) -> Result:
        """The value of an aggregate for the query at position i."""
        spans = self.selected(i)
        if not spans:
            return default
        alike = [group.values[first] for group, first, end in spans if group.changes[end - 1] <= first]
        if len(alike) == len(spans) and len({identity(value) for value in alike}) == 1:
            return alike[0]
        if reduction is not Reduction.MEAN:
            values = [value for group, first, end in spans for value in group.representing(reduction, first, end)]
            return aggregated(values, reduction)
        count = sum(end - first for _, first, end in spans)
        if sum(group.numbers[end] - group.numbers[first] for group, first, end in spans) < count:
            return UNDEFINED
        return plain(Fraction(sum(group.sums[end] - group.sums[first] for group, first, end in spans)) / count)


def _sorted_out(
    atoms: Sequence[Atom], nodes: Mapping[str, Node]
) -> tuple[list[ir.Select], list[ir.Select], list[Atom]]:
    """Classify conjuncts: comparisons with the position, equalities, and others."""
    comparing = [atom for atom in atoms if isinstance(atom, ir.Select)]
    positional = [
        atom for atom in comparing if isinstance(nodes[atom.key], ir.Indices) and atom.comparison in POSITIONAL
    ]
    equal = [atom for atom in comparing if atom not in positional and atom.comparison is Operator.EQUAL]
    return positional, equal, [atom for atom in atoms if atom not in positional and atom not in equal]


def _narrowed(comparison: Operator, query: Result, low: int, high: int) -> tuple[int, int]:
    """The subrange of positions low ≤ j < high for which the comparison of j with the query holds."""
    if not is_number(query):
        return low, low
    match comparison:
        case Operator.EQUAL:
            at = plain(query)
            return (max(low, at), min(high, at + 1)) if isinstance(at, int) else (low, low)
        case Operator.LESS:
            return low, min(high, ceil(query))
        case Operator.AT_MOST:
            return low, min(high, floor(query) + 1)
        case Operator.GREATER:
            return max(low, floor(query) + 1), high
        case _:
            return max(low, ceil(query)), high


def _test(atom: Atom) -> Callable[[Result, Result], Result]:
    if isinstance(atom, ir.Select):
        comparison = atom.comparison
        return lambda key, query: apply(comparison, (key, query))
    pairs = {identity(pair) for pair in atom.pairs}
    return lambda key, query: identity((key, query)) in pairs
