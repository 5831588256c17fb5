"""Static analysis of selectors: whether a query selects itself, no key, or at most one key; and counts of keys.

Integer counts that programs express as means are found by pattern matching. A mean times the number of its keys is
their sum, as in ``length * aggregate(full_s, x)``. The mean of the indicator of one selected key is the reciprocal of
the number of keys, as in ``1 / aggregate(s, indicator(indices == 0))``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import UNDEFINED, Node, Operator, Reduction
from softmachine.languages.rasp.ranges import RaspTypeError, numeric_range
from softmachine.languages.rasp.types import LENGTH, ONE, ZERO, FiniteType, IntegerType, Type, is_at_least
from softmachine.languages.rasp.values import apply, identity_key, is_number

MAX_CASES: Final = 1 << 14
"""Maximal number of value combinations that are enumerated."""
REFLEXIVE: Final = (Operator.EQUAL, Operator.AT_MOST, Operator.AT_LEAST)


@dataclass(frozen=True)
class SelectorFacts:
    """Static facts about a selector.

    Args:
        equal_at_selected: Sequence operators with equal values at all keys that a query selects.
        selects_itself: Whether each query selects its own position; None if that depends on the input.
        may_select_none: Whether a query may select nothing.
        selects_at_most_one: Whether a query selects at most one key.
        selects_none: Whether no key is ever selected.
        partial: Whether the selector may be undefined at a query.
    """

    equal_at_selected: frozenset[str] = frozenset()
    selects_itself: bool | None = None
    may_select_none: bool = True
    selects_at_most_one: bool = False
    selects_none: bool = False
    partial: bool = False


class SelectorAnalysis:
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

    def facts(self, node: ir.Selector, known: Mapping[str, SelectorFacts | None]) -> SelectorFacts:
        """The facts about a selector, given the facts about earlier ones.

        Raises:
            RaspTypeError: If its keys and queries are never comparable.
        """
        match node:
            case ir.SelectAll():
                return SelectorFacts(
                    selects_itself=node.selected, may_select_none=not node.selected, selects_none=not node.selected
                )
            case ir.Select():
                return self._select(node)
            case ir.SelectPairs():
                return self._pairs(node)
            case ir.Combine(operator=Operator.NOT, selectors=(name,)):
                inner = known[name] or SelectorFacts()
                itself = None if inner.selects_itself is None else not inner.selects_itself
                return SelectorFacts(
                    selects_itself=itself, may_select_none=not itself and not inner.selects_none, partial=inner.partial
                )
            case ir.Combine():
                return _join_facts(node.operator, [known[name] or SelectorFacts() for name in node.selectors])

    def is_determined(self, name: str, determinants: frozenset[str]) -> bool:
        """Whether a sequence operator is equal at all keys at which the sequence operators of a set are equal."""
        if name in determinants:
            return True
        match self.nodes.get(name):
            case ir.Constant():
                return True
            case ir.Length():
                return not self.causal
            case ir.Apply(operands=names):
                return all(self.is_determined(inner, determinants) for inner in names)
            case ir.Table(operands=names):
                finite = all(isinstance(self.types[inner], FiniteType) for inner in names)
                return finite and all(self.is_determined(inner, determinants) for inner in names)
            case _:
                return False

    def _select(self, node: ir.Select) -> SelectorFacts:
        key, query = self._type(node.key), self._type(node.query)
        partial = key.partial or query.partial or self._may_be_undefined(node, key, query)
        itself = None if node.key != node.query else node.comparison in REFLEXIVE
        if node.comparison is not Operator.EQUAL:
            return SelectorFacts(selects_itself=itself, may_select_none=not itself, partial=partial)
        fixed = frozenset({node.key}) if _has_unique_values(key) else frozenset[str]()
        found = self._is_a_position(node.key, query)
        return SelectorFacts(fixed, itself, not itself and not found, self._is_injective(node.key), partial=partial)

    def _pairs(self, node: ir.SelectPairs) -> SelectorFacts:
        key, query = self._type(node.key), self._type(node.query)
        queries = [identity_key(query_value) for _, query_value in node.pairs]
        fixed = frozenset({node.key}) if len(set(queries)) == len(queries) else frozenset[str]()
        itself = None
        if node.key == node.query and isinstance(key, FiniteType):
            pairs = {identity_key(pair) for pair in node.pairs}
            verdicts = {identity_key((value, value)) in pairs for value in key.values}
            itself = verdicts.pop() if len(verdicts) == 1 else None
        single = bool(fixed) and self._is_injective(node.key)
        return SelectorFacts(fixed, itself, not itself, single, not node.pairs, key.partial or query.partial)

    def _type(self, name: str) -> Type:
        found = self.types[name]
        assert found is not None
        return found

    def _may_be_undefined(self, node: ir.Select, key: Type, query: Type) -> bool:
        """Whether some key and query are not comparable; raises a `RaspTypeError` if none are."""
        keys, queries = _representatives(key), _representatives(query)
        if len(keys) * len(queries) > MAX_CASES:
            raise RaspTypeError(f"there are more than {MAX_CASES:,} pairs of key and query kinds to compare")
        results = [apply(node.comparison, pair) for pair in product(keys, queries)]
        if results and all(result is UNDEFINED for result in results):
            raise RaspTypeError(
                f"{node.comparison.value!r} cannot compare a key that is {key} with a query that is {query}"
            )
        return UNDEFINED in results

    def _is_injective(self, name: str) -> bool:
        """Whether a sequence operator has a different value at every position."""
        match self.nodes.get(name):
            case ir.Indices():
                return True
            case ir.Length():
                return self.causal
            case ir.Apply(operator=Operator.NEGATE, operands=(inner,)):
                return self._is_injective(inner)
            case ir.Apply(operator=Operator.ADD | Operator.SUBTRACT, operands=(one, other)):
                shifted = self.is_determined(other, frozenset()) and self._is_injective(one)
                return shifted or (self.is_determined(one, frozenset()) and self._is_injective(other))
            case _:
                return False

    def _is_a_position(self, key: str, query: Type) -> bool:
        """Whether the key is the position and the query is always a visible position."""
        limits = numeric_range(query)
        if not isinstance(self.nodes.get(key), ir.Indices) or limits is None or not limits.is_integral:
            return False
        return is_at_least(limits.low, ZERO) and is_at_least(ZERO if self.causal else LENGTH - ONE, limits.high)


def _join_facts(operator: Operator, parts: list[SelectorFacts]) -> SelectorFacts:
    partial = any(part.partial for part in parts)
    if operator is Operator.OR:
        itself = (
            True
            if any(part.selects_itself for part in parts)
            else False
            if all(part.selects_itself is False for part in parts)
            else None
        )
        empty = all(part.may_select_none for part in parts)
        return SelectorFacts(
            selects_itself=itself,
            may_select_none=empty,
            selects_none=all(part.selects_none for part in parts),
            partial=partial,
        )
    itself = (
        False
        if any(part.selects_itself is False for part in parts)
        else True
        if all(part.selects_itself for part in parts)
        else None
    )
    fixed = frozenset[str]().union(*(part.equal_at_selected for part in parts))
    single = any(part.selects_at_most_one for part in parts)
    return SelectorFacts(fixed, itself, not itself, single, any(part.selects_none for part in parts), partial)


def _representatives(found: Type) -> tuple[ir.Value, ...]:
    """Representatives of a type with respect to comparability: one value per kind, and every tuple."""
    if not isinstance(found, FiniteType):
        return (0,)
    kinds: dict[object, ir.Value] = {}
    for value in found.values:
        kinds.setdefault(value if isinstance(value, tuple) else int if is_number(value) else type(value), value)
    return tuple(kinds.values())


def _has_unique_values(found: Type) -> bool:
    """Whether equal values of a type are identical; True and 1 are equal but not identical."""
    if isinstance(found, IntegerType):
        return True
    return not isinstance(found, FiniteType) or len(set(found.values)) == len(found.values)


def match_sum(node: ir.Apply, nodes: Mapping[str, Node], causal: bool) -> ir.Aggregate | None:
    """The mean in a product of a mean and the number of its keys; None if the product has another form."""
    if node.operator is not Operator.MULTIPLY:
        return None
    for average, factor in (node.operands, node.operands[::-1]):
        mean = nodes.get(average)
        if not isinstance(mean, ir.Aggregate) or mean.reduction is not Reduction.MEAN:
            continue
        if is_count_of_selector(factor, mean.selector, nodes, causal):
            return mean
    return None


def is_count_of_selector(name: str, selector: str, nodes: Mapping[str, Node], causal: bool) -> bool:
    """Whether a sequence operator is provably the number of keys that a selector selects."""
    selected = nodes[selector]
    everything = selected == ir.SelectAll()
    match nodes.get(name):
        case ir.Width(selector=counted):
            return counted == selector
        case ir.Length():
            return everything or (causal and _is_prefix(selected, Operator.AT_MOST, nodes))
        case ir.Indices():
            return _is_prefix(selected, Operator.LESS, nodes)
        case ir.Apply(operator=Operator.ADD, operands=operands):
            ends = {nodes.get(operand) for operand in operands}
            before = _is_prefix(selected, Operator.AT_MOST, nodes) or (causal and everything)
            return before and ends == {ir.Indices(), ir.Constant(1)}
        case _:
            return False


def match_counted_selector(node: ir.Apply, nodes: Mapping[str, Node]) -> str | None:
    """The selector counted by the reciprocal of the mean of an indicator of position 0; None for other forms."""
    if node.operator is not Operator.DIVIDE or nodes.get(node.operands[0]) != ir.Constant(1):
        return None
    mean = nodes.get(node.operands[1])
    if not isinstance(mean, ir.Aggregate) or mean.reduction is not Reduction.MEAN:
        return None
    return mean.selector if _is_first_indicator(mean.values, nodes) and _selects_first(mean.selector, nodes) else None


def _is_prefix(selected: Node, comparison: Operator, nodes: Mapping[str, Node]) -> bool:
    if not isinstance(selected, ir.Select) or selected.comparison is not comparison:
        return False
    return nodes.get(selected.key) == nodes.get(selected.query) == ir.Indices()


def _is_first_indicator(name: str, nodes: Mapping[str, Node]) -> bool:
    match nodes.get(name):
        case ir.Apply(operator=Operator.INDICATOR, operands=(inner,)):
            return _is_first_indicator(inner, nodes)
        case ir.Apply(operator=Operator.EQUAL, operands=operands):
            return {nodes.get(operand) for operand in operands} == {ir.Indices(), ir.Constant(0)}
        case _:
            return False


def _selects_first(name: str, nodes: Mapping[str, Node]) -> bool:
    """Whether a selector selects position 0 for every query."""
    match nodes.get(name):
        case ir.SelectAll(selected=selected):
            return selected
        case ir.Select() as selected:
            first = nodes.get(selected.key) == ir.Indices() and nodes.get(selected.query) == ir.Constant(0)
            at_first = first and selected.comparison in (Operator.EQUAL, Operator.AT_MOST)
            return at_first or _is_prefix(selected, Operator.AT_MOST, nodes)
        case ir.Combine(operator=Operator.OR, selectors=names):
            return any(_selects_first(inner, nodes) for inner in names)
        case ir.Combine(operator=Operator.AND, selectors=names):
            return all(_selects_first(inner, nodes) for inner in names)
        case _:
            return False
