"""Static analysis of selectors: whether a query selects itself, no key, or at most one key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import UNDEFINED, Node, Operator
from softmachine.languages.rasp.ranges import Mismatch, range_of
from softmachine.languages.rasp.types import LENGTH, ONE, ZERO, Finite, Integer, Type
from softmachine.languages.rasp.values import apply, identity, is_number

MOST_CASES: Final = 1 << 14
"""Maximal number of value combinations that are enumerated."""
REFLEXIVE: Final = (Operator.EQUAL, Operator.AT_MOST, Operator.AT_LEAST)


@dataclass(frozen=True)
class Facts:
    """Static facts about a selector.

    Args:
        fixed: Sequence operators with equal values at all keys that a query selects.
        itself: Whether each query selects its own position; None if that depends on the input.
        empty: Whether a query may select nothing.
        single: Whether a query selects at most one key.
        nothing: Whether no key is ever selected.
        partial: Whether the selector may be undefined at a query.
    """

    fixed: frozenset[str] = frozenset()
    itself: bool | None = None
    empty: bool = True
    single: bool = False
    nothing: bool = False
    partial: bool = False


class Selection:
    """Derives static facts about selectors.

    Args:
        nodes: The operations, by name.
        types: The types of the earlier sequence operators.
        causal: Whether only keys up to the query are visible.
    """

    def __init__(self, nodes: Mapping[str, Node], types: Mapping[str, Type | None], causal: bool) -> None:
        self.nodes = nodes
        self.types = types
        self.causal = causal

    def facts(self, node: ir.Selector, known: Mapping[str, Facts | None]) -> Facts:
        """The facts about a selector, given the facts about earlier ones.

        Raises:
            Mismatch: If its keys and queries are never comparable.
        """
        match node:
            case ir.SelectAll():
                return Facts(itself=node.selected, empty=not node.selected, nothing=not node.selected)
            case ir.Select():
                return self._select(node)
            case ir.SelectPairs():
                return self._pairs(node)
            case ir.Combine(operator=Operator.NOT, selectors=(name,)):
                inner = known[name] or Facts()
                itself = None if inner.itself is None else not inner.itself
                return Facts(itself=itself, empty=not itself and not inner.nothing, partial=inner.partial)
            case ir.Combine():
                return _joined(node.operator, [known[name] or Facts() for name in node.selectors])

    def determined(self, name: str, by: frozenset[str]) -> bool:
        """Whether a sequence operator is equal at all keys at which the sequence operators of a set are equal."""
        if name in by:
            return True
        match self.nodes.get(name):
            case ir.Constant():
                return True
            case ir.Length():
                return not self.causal
            case ir.Apply(operands=names):
                return all(self.determined(inner, by) for inner in names)
            case ir.Table(operands=names):
                finite = all(isinstance(self.types[inner], Finite) for inner in names)
                return finite and all(self.determined(inner, by) for inner in names)
            case _:
                return False

    def _select(self, node: ir.Select) -> Facts:
        key, query = self._type(node.key), self._type(node.query)
        partial = key.partial or query.partial or self._may_be_undefined(node, key, query)
        itself = None if node.key != node.query else node.comparison in REFLEXIVE
        if node.comparison is not Operator.EQUAL:
            return Facts(itself=itself, empty=not itself, partial=partial)
        fixed = frozenset({node.key}) if _unambiguous(key) else frozenset[str]()
        found = self._is_a_position(node.key, query)
        return Facts(fixed, itself, not itself and not found, self._injective(node.key), partial=partial)

    def _pairs(self, node: ir.SelectPairs) -> Facts:
        key, query = self._type(node.key), self._type(node.query)
        queries = [identity(query_value) for _, query_value in node.pairs]
        fixed = frozenset({node.key}) if len(set(queries)) == len(queries) else frozenset[str]()
        itself = None
        if node.key == node.query and isinstance(key, Finite):
            pairs = {identity(pair) for pair in node.pairs}
            verdicts = {identity((value, value)) in pairs for value in key.values}
            itself = verdicts.pop() if len(verdicts) == 1 else None
        single = bool(fixed) and self._injective(node.key)
        return Facts(fixed, itself, not itself, single, not node.pairs, key.partial or query.partial)

    def _type(self, name: str) -> Type:
        found = self.types[name]
        assert found is not None
        return found

    def _may_be_undefined(self, node: ir.Select, key: Type, query: Type) -> bool:
        """Whether some key and query are not comparable; raises a `Mismatch` if none are."""
        keys, queries = _some(key), _some(query)
        if len(keys) * len(queries) > MOST_CASES:
            raise Mismatch(f"there are more than {MOST_CASES:,} pairs of key and query kinds to compare")
        results = [apply(node.comparison, pair) for pair in product(keys, queries)]
        if results and all(result is UNDEFINED for result in results):
            raise Mismatch(f"{node.comparison.value!r} cannot compare a key that is {key} with a query that is {query}")
        return UNDEFINED in results

    def _injective(self, name: str) -> bool:
        """Whether a sequence operator has a different value at every position."""
        match self.nodes.get(name):
            case ir.Indices():
                return True
            case ir.Length():
                return self.causal
            case ir.Apply(operator=Operator.NEGATE, operands=(inner,)):
                return self._injective(inner)
            case ir.Apply(operator=Operator.ADD | Operator.SUBTRACT, operands=(one, other)):
                shifted = self.determined(other, frozenset()) and self._injective(one)
                return shifted or (self.determined(one, frozenset()) and self._injective(other))
            case _:
                return False

    def _is_a_position(self, key: str, query: Type) -> bool:
        """Whether the key is the position and the query is always a visible position."""
        limits = range_of(query)
        if not isinstance(self.nodes.get(key), ir.Indices) or limits is None or not limits.integral:
            return False
        return limits.low.at_least(ZERO) and (ZERO if self.causal else LENGTH - ONE).at_least(limits.high)


def _joined(operator: Operator, parts: list[Facts]) -> Facts:
    partial = any(part.partial for part in parts)
    if operator is Operator.OR:
        itself = (
            True
            if any(part.itself for part in parts)
            else False
            if all(part.itself is False for part in parts)
            else None
        )
        empty = all(part.empty for part in parts)
        return Facts(itself=itself, empty=empty, nothing=all(part.nothing for part in parts), partial=partial)
    itself = (
        False if any(part.itself is False for part in parts) else True if all(part.itself for part in parts) else None
    )
    fixed = frozenset[str]().union(*(part.fixed for part in parts))
    single = any(part.single for part in parts)
    return Facts(fixed, itself, not itself, single, any(part.nothing for part in parts), partial)


def _some(found: Type) -> tuple[ir.Value, ...]:
    """Representatives of a type with respect to comparability: one value per kind, and every tuple."""
    if not isinstance(found, Finite):
        return (0,)
    kinds: dict[object, ir.Value] = {}
    for value in found.values:
        kinds.setdefault(value if isinstance(value, tuple) else int if is_number(value) else type(value), value)
    return tuple(kinds.values())


def _unambiguous(found: Type) -> bool:
    """Whether equal values of a type are identical; True and 1 are equal but not identical."""
    if isinstance(found, Integer):
        return True
    return not isinstance(found, Finite) or len(set(found.values)) == len(found.values)
