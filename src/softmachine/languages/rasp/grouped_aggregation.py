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
from softmachine.languages.rasp.values import (
    PartialValue,
    Rational,
    apply,
    identity_key,
    is_number,
    normalise_number,
    reduce_values,
)

MAX_GROUPS: Final = 64
"""Maximal number of different values of keys that are compared other than by equality."""
POSITION_COMPARISONS: Final = (Operator.EQUAL, Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST)

SelectorAtom = ir.Select | ir.SelectPairs
Columns = Mapping[str, Sequence[PartialValue]]


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
    values: list[PartialValue] = field(default_factory=list)
    sums: list[Fraction | int] = field(default_factory=lambda: [0])
    numbers: list[int] = field(default_factory=lambda: [0])
    changes: list[int] = field(default_factory=list)
    largest: list[tuple[Rational, ...]] = field(default_factory=lambda: [()])
    smallest: list[tuple[Rational, ...]] = field(default_factory=lambda: [()])

    def add(self, position: int, value: PartialValue) -> None:
        """Append a key."""
        alike = bool(self.values) and identity_key(self.values[-1]) == identity_key(value)
        self.changes.append(self.changes[-1] if alike else len(self.values))
        self.positions.append(position)
        self.values.append(value)
        self.sums.append(self.sums[-1] + (value if is_number(value) else 0))
        self.numbers.append(self.numbers[-1] + is_number(value))
        more = (value,) if is_number(value) else ()
        self.largest.append(_representatives((*self.largest[-1], *more), max))
        self.smallest.append(_representatives((*self.smallest[-1], *more), min))

    def representatives(self, reduction: Reduction, first: int, end: int) -> Sequence[PartialValue]:
        """Values with the same maximum or minimum as the entries from ``first`` to before ``end``."""
        if first or self.numbers[end] < end:
            return self.values[first:end]
        return (self.largest if reduction is Reduction.MAXIMUM else self.smallest)[end]


def _representatives(values: tuple[Rational, ...], best: Callable[..., Rational]) -> tuple[Rational, ...]:
    """The best value and, if it is a Boolean, a number among the values: the result is Boolean only if all are."""
    found = best(values, default=None)
    others = [value for value in values if isinstance(found, bool) and not isinstance(value, bool)]
    return () if found is None else (found, *others[:1])


def split_conjunction(selector: Selector, nodes: Mapping[str, Node]) -> list[SelectorAtom] | None:
    """The conjuncts of a selector; None if it is not a conjunction of comparisons."""
    match selector:
        case ir.Select() | ir.SelectPairs():
            return [selector]
        case ir.SelectAll(selected=True):
            return []
        case ir.Combine(operator=Operator.AND, selectors=names):
            parts = [split_conjunction(nodes[name], nodes) for name in names]  # type: ignore[arg-type]
            return None if None in parts else [atom for part in parts for atom in part or ()]
        case _:
            return None


def group_keys(
    selector: Selector, nodes: Mapping[str, Node], columns: Columns, values: Sequence[PartialValue], causal: bool
) -> GroupedKeys | None:
    """Group the keys of a selector; None if the selector has to compare every pair of positions.

    Args:
        selector: The selector.
        nodes: The operations by name.
        columns: The values of the sequence operators, at all positions.
        values: The values to aggregate.
        causal: Whether a query sees only keys up to itself.
    """
    atoms = split_conjunction(selector, nodes)
    if atoms is None or UNDEFINED in values:
        return None
    sides = [columns[name] for atom in atoms for name in (atom.key, atom.query)]
    if any(UNDEFINED in column or None in column for column in sides):
        return None
    found = GroupedKeys(atoms, nodes, columns, values, causal)
    return found if found.is_feasible else None


class GroupedKeys:
    """The grouped keys of a selector, with the values to aggregate."""

    def __init__(
        self,
        atoms: Sequence[SelectorAtom],
        nodes: Mapping[str, Node],
        columns: Columns,
        values: Sequence[PartialValue],
        causal: bool,
    ) -> None:
        self.causal, self.length, self.columns = causal, len(values), columns
        self.positional, self.equal, self.others = _classify_atoms(atoms, nodes)
        self.tests = [_test(atom) for atom in self.others]
        self.groups: dict[Hashable, dict[Hashable, tuple[tuple[PartialValue, ...], _Group]]] = {}
        for j, value in enumerate(values):
            fixed = tuple(columns[atom.key][j] for atom in self.equal)
            free = tuple(columns[atom.key][j] for atom in self.others)
            inner = self.groups.setdefault(fixed, {})
            inner.setdefault(identity_key(free), (free, _Group()))[1].add(j, value)
        self._fitting: dict[Hashable, list[_Group]] = {}

    @property
    def is_feasible(self) -> bool:
        """Whether no query matches too many groups and all comparisons are defined."""
        queries = [column for atom in self.positional for column in self.columns[atom.query]]
        few = max(map(len, self.groups.values()), default=0) <= MAX_GROUPS
        return few and all(map(is_number, queries)) and self._is_comparable()

    def _is_comparable(self) -> bool:
        for number, atom in enumerate(self.others):
            keys = {
                identity_key(free[number]): free[number] for inner in self.groups.values() for free, _ in inner.values()
            }
            queries = {identity_key(query): query for query in self.columns[atom.query]}
            if len(keys) * len(queries) > MAX_GROUPS * MAX_GROUPS:
                return False
            if any(self.tests[number](key, query) is UNDEFINED for key in keys.values() for query in queries.values()):
                return False
        return True

    def selected_slices(self, i: int) -> list[tuple[_Group, int, int]]:
        """The keys that the query at position i selects, as slices (group, first, end)."""
        low, high = 0, i + 1 if self.causal else self.length
        for atom in self.positional:
            low, high = _narrow(atom.comparison, self.columns[atom.query][i], low, high)
        spans = (
            (group, bisect_left(group.positions, low), bisect_left(group.positions, high))
            for group in self._matching_groups(i)
        )
        return [(group, first, end) for group, first, end in spans if first < end]

    def _matching_groups(self, i: int) -> list[_Group]:
        fixed = tuple(self.columns[atom.query][i] for atom in self.equal)
        queries = tuple(self.columns[atom.query][i] for atom in self.others)
        key = fixed, identity_key(queries)
        if key not in self._fitting:
            entries = self.groups.get(fixed, {}).values()
            self._fitting[key] = [group for free, group in entries if self._satisfies(free, queries)]
        return self._fitting[key]

    def _satisfies(self, free: tuple[PartialValue, ...], queries: tuple[PartialValue, ...]) -> bool:
        return all(test(key, query) is True for test, key, query in zip(self.tests, free, queries, strict=True))

    def width(self, i: int) -> int:
        """The number of keys that the query at position i selects."""
        return sum(end - first for _, first, end in self.selected_slices(i))

    def aggregate(self, i: int, reduction: Reduction, default: PartialValue) -> PartialValue:
        """The value of an aggregate for the query at position i."""
        spans = self.selected_slices(i)
        if not spans:
            return default
        alike = [group.values[first] for group, first, end in spans if group.changes[end - 1] <= first]
        if len(alike) == len(spans) and len({identity_key(value) for value in alike}) == 1:
            return alike[0]
        if reduction is not Reduction.MEAN:
            values = [value for group, first, end in spans for value in group.representatives(reduction, first, end)]
            return reduce_values(values, reduction)
        count = sum(end - first for _, first, end in spans)
        if sum(group.numbers[end] - group.numbers[first] for group, first, end in spans) < count:
            return UNDEFINED
        return normalise_number(
            Fraction(sum(group.sums[end] - group.sums[first] for group, first, end in spans)) / count
        )


def _classify_atoms(
    atoms: Sequence[SelectorAtom], nodes: Mapping[str, Node]
) -> tuple[list[ir.Select], list[ir.Select], list[SelectorAtom]]:
    """Classify conjuncts: comparisons with the position, equalities, and others."""
    comparing = [atom for atom in atoms if isinstance(atom, ir.Select)]
    positional = [
        atom
        for atom in comparing
        if isinstance(nodes[atom.key], ir.Indices) and atom.comparison in POSITION_COMPARISONS
    ]
    equal = [atom for atom in comparing if atom not in positional and atom.comparison is Operator.EQUAL]
    return positional, equal, [atom for atom in atoms if atom not in positional and atom not in equal]


def _narrow(comparison: Operator, query: PartialValue, low: int, high: int) -> tuple[int, int]:
    """The subrange of positions low ≤ j < high for which the comparison of j with the query holds."""
    if not is_number(query):
        return low, low
    match comparison:
        case Operator.EQUAL:
            at = normalise_number(query)
            return (max(low, at), min(high, at + 1)) if isinstance(at, int) else (low, low)
        case Operator.LESS:
            return low, min(high, ceil(query))
        case Operator.AT_MOST:
            return low, min(high, floor(query) + 1)
        case Operator.GREATER:
            return max(low, floor(query) + 1), high
        case _:
            return max(low, ceil(query)), high


def _test(atom: SelectorAtom) -> Callable[[PartialValue, PartialValue], PartialValue]:
    if isinstance(atom, ir.Select):
        comparison = atom.comparison
        return lambda key, query: apply(comparison, (key, query))
    pairs = {identity_key(pair) for pair in atom.pairs}
    return lambda key, query: identity_key((key, query)) in pairs
