"""Type inference of RASP programs.

Operations on finite domains are enumerated; numbers that grow with the length have ranges. Types are sound: the
interpreter's result is a value of the type, or undefined where the type is *partial*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.expression_printer import describe_definition
from softmachine.languages.rasp.ir import UNDEFINED, Definition, Node, Operator, Reduction, Undefined, Value
from softmachine.languages.rasp.ranges import (
    MAX_COEFFICIENT,
    MAX_FINITE_VALUES,
    UNBOUNDED_LOOP_MESSAGE,
    NumericRange,
    RaspTypeError,
    deduplicate,
    numeric_range,
    range_of_mean,
    range_of_operation,
    range_of_power,
    range_of_sum,
    unite_types,
    widen_type,
)
from softmachine.languages.rasp.selector_facts import (
    MAX_CASES,
    SelectorAnalysis,
    SelectorFacts,
    match_counted_selector,
    match_sum,
)
from softmachine.languages.rasp.types import LENGTH, ONE, ZERO, FiniteType, IntegerType, Type
from softmachine.languages.rasp.values import PartialValue, apply, identity_key, is_number, normalise_number
from softmachine.languages.text.diagnostics import Problem

BOOLEAN: Final = FiniteType((False, True))
MAX_WIDENING_ROUNDS: Final = 64
"""Maximal number of rounds of widening for the variables of a loop."""
LOGICAL_OPERATORS: Final = (Operator.AND, Operator.OR, Operator.NOT, Operator.INDICATOR)


def infer_types(
    definitions: Sequence[Definition], letters: Sequence[Value], causal: bool
) -> tuple[dict[str, Type], list[Problem]]:
    """The types of all sequence operators, including those inside loops, and all type errors.

    Args:
        definitions: The operations, which must be structurally valid.
        letters: The values of the input letters.
        causal: Whether only keys up to the query are visible.
    """
    inference = RaspTypeInference(letters, causal)
    inference.infer(definitions)
    return {name: found for name, found in inference.types.items() if found is not None}, inference.problems


class RaspTypeInference:
    """Infers the types of definitions incrementally and collects type errors."""

    def __init__(self, letters: Sequence[Value], causal: bool) -> None:
        self.letters = letters
        self.causal = causal
        self.nodes: dict[str, Node] = {}
        self.types: dict[str, Type | None] = {}
        self.facts: dict[str, SelectorFacts | None] = {}
        self.problems: list[Problem] = []
        self.selection = SelectorAnalysis(self.nodes, self.types, causal)

    def infer(self, definitions: Iterable[Definition]) -> None:
        """Infer the types of further definitions."""
        for definition in definitions:
            self.nodes[definition.name] = definition.node
            self._infer_definition(definition)

    def _infer_definition(self, definition: Definition) -> None:
        name, node = definition.name, definition.node
        selector = isinstance(node, ir.Selector)
        (self.facts if selector else self.types)[name] = None
        if any(self.types.get(used, ...) is None or self.facts.get(used, ...) is None for used in ir.operands(node)):
            return  # the error was reported at the operand
        try:
            if isinstance(node, ir.Selector):
                self.facts[name] = self.selection.facts(node, self.facts)
            else:
                self.types[name] = self._sequence(node)
        except _AlreadyReportedError:
            pass
        except RaspTypeError as mismatch:
            self.problems.append(Problem(f"{describe_definition(name, self.nodes)}: {mismatch}", definition.place))

    def _sequence(self, node: ir.SequenceOperator) -> Type:
        match node:
            case ir.Tokens():
                return FiniteType(deduplicate(self.letters))
            case ir.Indices():
                return IntegerType(ZERO, LENGTH - ONE)
            case ir.Length():
                return IntegerType(ONE if self.causal else LENGTH, LENGTH)
            case ir.Constant(value=value):
                return FiniteType((value,))
            case ir.Apply():
                return self._apply(node)
            case ir.Table():
                return self._table(node)
            case ir.Aggregate():
                return self._aggregate(node)
            case ir.Width():
                return self._width(node)
            case ir.Repeat():
                return self._repeat(node)

    def _type(self, name: str) -> Type:
        found = self.types[name]
        assert found is not None
        return found

    # Elementwise operations

    def _apply(self, node: ir.Apply) -> Type:
        found = [self._type(name) for name in node.operands]
        if node.operator is Operator.CHOOSE:
            return self._choose(node, *found)
        tried = self._enumerate_results(node.operands, found, lambda values: apply(node.operator, values))
        if tried is None:
            return self._unbounded(node, found)
        if not tried.values and all(not isinstance(entry, FiniteType) or entry.values for entry in found):
            raise RaspTypeError(self._never_defined_message(node, found))
        return tried

    def _enumerate_results(
        self, names: Sequence[str], found: Sequence[Type], result: Callable[[tuple[Value, ...]], PartialValue]
    ) -> FiniteType | None:
        """The type of all results over finite domains; None if a domain is infinite or there are too many cases."""
        distinct_names = list(dict.fromkeys(names))
        types = dict(zip(names, found, strict=True))
        choices = [entry.values for entry in types.values() if isinstance(entry, FiniteType)]
        if len(choices) < len(distinct_names) or prod(map(len, choices)) > MAX_CASES:
            return None
        places = [distinct_names.index(name) for name in names]
        results = [result(tuple(case[place] for place in places)) for case in product(*choices)]
        partial = any(entry.partial for entry in found) or UNDEFINED in results
        values = deduplicate([value for value in results if not isinstance(value, Undefined)])
        if any(not -MAX_COEFFICIENT <= value <= MAX_COEFFICIENT for value in values if is_number(value)):
            raise RaspTypeError("a number may become too large; use smaller numbers")
        return FiniteType(values, partial) if len(values) <= MAX_FINITE_VALUES else None

    def _choose(self, node: ir.Apply, then: Type, condition: Type, otherwise: Type) -> Type:
        name = node.operands[1]
        if not isinstance(condition, FiniteType):
            raise RaspTypeError(
                f"{self._describe_with_type(name)}, but a condition is true or false; write {self._describe(name)} != 0"
            )
        if condition.values and not any(is_number(value) for value in condition.values):
            raise RaspTypeError(f"{self._describe_with_type(name)}, but a condition is true or false")
        taken = {bool(value) for value in condition.values if is_number(value)}
        partial = condition.partial or not all(is_number(value) for value in condition.values)
        branches = [branch for truth, branch in ((True, then), (False, otherwise)) if truth in taken]
        result = branches[0] if branches else FiniteType(())
        for branch in branches[1:]:
            result = unite_types(result, branch)
        return replace(result, partial=result.partial or partial)

    def _unbounded(self, node: ir.Apply, found: Sequence[Type]) -> Type:
        """The type of an operation with an operand that grows with the length, or with too many cases to enumerate."""
        partial = any(entry.partial for entry in found)
        if node.operator in ir.COMPARISONS:
            return replace(BOOLEAN, partial=partial or self._has_incomparable(node, found))
        if node.operator in LOGICAL_OPERATORS:
            grows = next(name for name in node.operands if not isinstance(self._type(name), FiniteType))
            raise RaspTypeError(
                f"{self._describe_with_type(grows)}, but {node.operator.value!r} needs true or false; write "
                f"{self._describe(grows)} != 0"
            )
        if node.operator is Operator.POWER:
            result, undefined = range_of_power(found[0], found[1])
        else:
            ranges = [self._numbers(name) for name in node.operands]
            result, undefined = self._count_range(node) or range_of_operation(node.operator, ranges)
        return result.to_type(partial or undefined)

    def _has_incomparable(self, node: ir.Apply, found: Sequence[Type]) -> bool:
        """Whether some operand values are not comparable; raises a `RaspTypeError` if none are."""
        samples = [entry.values if isinstance(entry, FiniteType) else (0,) for entry in found]
        results = [apply(node.operator, case) for case in product(*samples)]
        if results and all(result is UNDEFINED for result in results):
            raise RaspTypeError(self._never_defined_message(node, found))
        return UNDEFINED in results

    def _numbers(self, name: str) -> NumericRange:
        """The range of a numeric operand."""
        found = self._type(name)
        limits = numeric_range(found)
        if limits is None:
            raise RaspTypeError(f"expected a number, but {self._describe_with_type(name)}")
        return limits

    def _count_range(self, node: ir.Apply) -> tuple[NumericRange, bool] | None:
        """The range of an integer count expressed as a mean; None for other operations."""
        if match_counted_selector(node, self.nodes):
            return NumericRange(ONE, LENGTH), False
        mean_of = match_sum(node, self.nodes, self.causal)
        if mean_of is None:
            return None
        values, default = numeric_range(self._type(mean_of.values)), numeric_range(self._type(mean_of.default))
        known = values is not None and (default is not None or not self._facts(mean_of.selector).may_select_none)
        return (range_of_sum(values), False) if known and values is not None else None

    def _table(self, node: ir.Table) -> Type:
        found = [self._type(name) for name in node.operands]
        results = {identity_key(values): result for values, result in node.rows}
        tried = self._enumerate_results(
            node.operands, found, lambda values: results.get(identity_key(values), UNDEFINED)
        )
        if tried is None:
            tried = FiniteType(deduplicate(list(results.values())), partial=True)
        if not tried.values and node.rows and all(not isinstance(entry, FiniteType) or entry.values for entry in found):
            operands = " and ".join(self._describe_with_type(name) for name in node.operands)
            raise RaspTypeError(f"no row of the table matches: {operands}")
        return tried

    # Aggregates

    def _facts(self, name: str) -> SelectorFacts:
        found = self.facts[name]
        assert found is not None
        return found

    def _aggregate(self, node: ir.Aggregate) -> Type:
        facts, values = self._facts(node.selector), self._type(node.values)
        default = self._type(node.default) if facts.may_select_none else FiniteType(())
        alike = facts.selects_at_most_one or self.selection.is_determined(node.values, facts.equal_at_selected)
        if facts.selects_none:
            result: Type = FiniteType(())
        elif alike or (isinstance(values, FiniteType) and len(values.values) <= 1):
            result = values
        else:
            result = self._reduced_type(node, values)
        try:
            result = unite_types(result, default)
        except RaspTypeError:
            raise RaspTypeError(
                f"the default {self._describe_with_type(node.default)}, but {self._describe_with_type(node.values)}: "
                f"the default must be a number too"
            ) from None
        return replace(result, partial=result.partial or facts.partial)

    def _reduced_type(self, node: ir.Aggregate, values: Type) -> Type:
        """The type of an aggregate of several values that may differ."""
        limits = numeric_range(values)
        if limits is not None:
            if node.reduction is Reduction.MEAN:
                return range_of_mean(limits).to_type(values.partial)
            plainly = (
                [normalise_number(value) for value in values.values if is_number(value)]
                if isinstance(values, FiniteType)
                else []
            )
            return (
                FiniteType(deduplicate([*values.values, *plainly]), values.partial)
                if isinstance(values, FiniteType)
                else values
            )
        assert isinstance(values, FiniteType)
        if sum(map(is_number, values.values)) > 1 and node.reduction is Reduction.MEAN:
            raise RaspTypeError(
                f"{self._describe_with_type(node.values)}: a mean is taken of numbers only, or of symbols only"
            )
        return replace(values, partial=True)

    def _width(self, node: ir.Width) -> Type:
        facts = self._facts(node.selector)
        everything = self.nodes[node.selector] == ir.SelectAll()
        low = LENGTH if everything and not self.causal else ZERO if facts.may_select_none else ONE
        most = (
            ZERO
            if facts.selects_none
            else ONE
            if facts.selects_at_most_one
            else LENGTH - ONE
            if facts.selects_itself is False
            else LENGTH
        )
        return NumericRange(low, most).to_type(facts.partial)

    # Loops

    def _repeat(self, node: ir.Repeat) -> Type:
        """The types of the variables after any number of iterations: a fixpoint found by widening."""
        if all(self.types.get(name) for name, _ in node.variables) and node.result in self.types:
            return self._type(node.result)  # another variable of the same loop
        starts = [self._type(start) for _, start in node.variables]
        types = starts
        for rounds in range(MAX_WIDENING_ROUNDS):
            following = self._iteration(node, types)
            wider = [widen_type(old, new, rounds) for old, new in zip(types, following, strict=True)]
            if wider == types:
                self._narrow(node, starts, following, types)
                return self._type(node.result)
            types = wider
        raise RaspTypeError(UNBOUNDED_LOOP_MESSAGE)

    def _iteration(self, node: ir.Repeat, types: Sequence[Type]) -> list[Type]:
        """The types of the variables after one iteration from the given types."""
        self.types.update({name: found for (name, _), found in zip(node.variables, types, strict=True)})
        reported = len(self.problems)
        self.infer(node.body)
        if len(self.problems) > reported:
            raise _AlreadyReportedError
        return [self._type(name) for name in node.next_values]

    def _narrow(self, node: ir.Repeat, starts: list[Type], following: list[Type], types: list[Type]) -> None:
        """Narrow the widened types by one descending iteration, if the result is still invariant."""
        narrow = [unite_types(start, new) for start, new in zip(starts, following, strict=True)]
        after = self._iteration(node, narrow)
        kept = [unite_types(old, new) for old, new in zip(narrow, after, strict=True)]
        if kept != narrow:
            self._iteration(node, types)

    # Formatting of messages

    def _describe(self, name: str) -> str:
        return describe_definition(name, self.nodes)

    def _describe_with_type(self, name: str) -> str:
        text, found = self._describe(name), str(self._type(name))
        return text if text == found else f"{text} is {found}"

    def _never_defined_message(self, node: ir.Apply, found: Sequence[Type]) -> str:
        """The message for an operation that is undefined for all operand values."""
        sign = repr(node.operator.value)
        if node.operator in ir.COMPARISONS:
            return f"{sign} cannot compare {' with '.join(map(self._describe_type, node.operands))}"
        if node.operator not in LOGICAL_OPERATORS and all(numeric_range(entry) is not None for entry in found):
            return f"{sign} is never defined here: {' and '.join(map(self._describe_type, node.operands))}"
        wrong = [name for name, entry in zip(node.operands, found, strict=True) if numeric_range(entry) is None]
        needed = "true or false" if node.operator in LOGICAL_OPERATORS else "numbers"
        return f"{sign} needs {needed}, but {' and '.join(dict.fromkeys(map(self._describe_with_type, wrong)))}"

    def _describe_type(self, name: str) -> str:
        text, found = self._describe(name), str(self._type(name))
        return text if text == found else f"{text} ({found})"


class _AlreadyReportedError(RaspTypeError):
    """A type error inside the loop body that was already reported."""
