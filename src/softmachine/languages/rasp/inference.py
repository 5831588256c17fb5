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
from softmachine.languages.rasp.counts import counted, summed
from softmachine.languages.rasp.expressions import shown
from softmachine.languages.rasp.ir import UNDEFINED, Definition, Node, Operator, Reduction, Undefined, Value
from softmachine.languages.rasp.ranges import (
    LARGEST_COEFFICIENT,
    MOST_VALUES,
    UNENDING,
    Mismatch,
    Range,
    arithmetic,
    distinct,
    mean,
    power,
    range_of,
    total,
    united,
    widened,
)
from softmachine.languages.rasp.selector_facts import MOST_CASES, Facts, Selection
from softmachine.languages.rasp.types import LENGTH, ONE, ZERO, Finite, Integer, Type
from softmachine.languages.rasp.values import Result, apply, identity, is_number, plain
from softmachine.languages.text.diagnostics import Problem

BOOLEAN: Final = Finite((False, True))
MOST_ROUNDS: Final = 64
"""Maximal number of rounds of widening for the variables of a loop."""
LOGIC: Final = (Operator.AND, Operator.OR, Operator.NOT, Operator.INDICATOR)


def infer(
    definitions: Sequence[Definition], letters: Sequence[Value], causal: bool
) -> tuple[dict[str, Type], list[Problem]]:
    """The types of all sequence operators, including those inside loops, and all type errors.

    Args:
        definitions: The operations, which must be structurally valid.
        letters: The values of the input letters.
        causal: Whether only keys up to the query are visible.
    """
    inference = Inference(letters, causal)
    inference.infer(definitions)
    return {name: found for name, found in inference.types.items() if found is not None}, inference.problems


class Inference:
    """Infers the types of definitions incrementally and collects type errors."""

    def __init__(self, letters: Sequence[Value], causal: bool) -> None:
        self.letters = letters
        self.causal = causal
        self.nodes: dict[str, Node] = {}
        self.types: dict[str, Type | None] = {}
        self.facts: dict[str, Facts | None] = {}
        self.problems: list[Problem] = []
        self.selection = Selection(self.nodes, self.types, causal)

    def infer(self, definitions: Iterable[Definition]) -> None:
        """Infer the types of further definitions."""
        for definition in definitions:
            self.nodes[definition.name] = definition.node
            self._one(definition)

    def _one(self, definition: Definition) -> None:
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
        except _Reported:
            pass
        except Mismatch as mismatch:
            self.problems.append(Problem(f"{shown(name, self.nodes)}: {mismatch}", definition.place))

    def _sequence(self, node: ir.SequenceOperator) -> Type:
        match node:
            case ir.Tokens():
                return Finite(distinct(self.letters))
            case ir.Indices():
                return Integer(ZERO, LENGTH - ONE)
            case ir.Length():
                return Integer(ONE if self.causal else LENGTH, LENGTH)
            case ir.Constant(value=value):
                return Finite((value,))
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
        tried = self._enumerated(node.operands, found, lambda values: apply(node.operator, values))
        if tried is None:
            return self._unbounded(node, found)
        if not tried.values and all(not isinstance(entry, Finite) or entry.values for entry in found):
            raise Mismatch(self._never(node, found))
        return tried

    def _enumerated(
        self, names: Sequence[str], found: Sequence[Type], result: Callable[[tuple[Value, ...]], Result]
    ) -> Finite | None:
        """The type of all results over finite domains; None if a domain is infinite or there are too many cases."""
        distinct_names = list(dict.fromkeys(names))
        types = dict(zip(names, found, strict=True))
        choices = [entry.values for entry in types.values() if isinstance(entry, Finite)]
        if len(choices) < len(distinct_names) or prod(map(len, choices)) > MOST_CASES:
            return None
        places = [distinct_names.index(name) for name in names]
        results = [result(tuple(case[place] for place in places)) for case in product(*choices)]
        partial = any(entry.partial for entry in found) or UNDEFINED in results
        values = distinct([value for value in results if not isinstance(value, Undefined)])
        if any(not -LARGEST_COEFFICIENT <= value <= LARGEST_COEFFICIENT for value in values if is_number(value)):
            raise Mismatch("a number may become too large; use smaller numbers")
        return Finite(values, partial) if len(values) <= MOST_VALUES else None

    def _choose(self, node: ir.Apply, then: Type, condition: Type, otherwise: Type) -> Type:
        name = node.operands[1]
        if not isinstance(condition, Finite):
            raise Mismatch(f"{self._is(name)}, but a condition is true or false; write {self._shown(name)} != 0")
        if condition.values and not any(is_number(value) for value in condition.values):
            raise Mismatch(f"{self._is(name)}, but a condition is true or false")
        taken = {bool(value) for value in condition.values if is_number(value)}
        partial = condition.partial or not all(is_number(value) for value in condition.values)
        branches = [branch for truth, branch in ((True, then), (False, otherwise)) if truth in taken]
        result = branches[0] if branches else Finite(())
        for branch in branches[1:]:
            result = united(result, branch)
        return replace(result, partial=result.partial or partial)

    def _unbounded(self, node: ir.Apply, found: Sequence[Type]) -> Type:
        """The type of an operation with an operand that grows with the length, or with too many cases to enumerate."""
        partial = any(entry.partial for entry in found)
        if node.operator in ir.COMPARISONS:
            return replace(BOOLEAN, partial=partial or self._incomparable(node, found))
        if node.operator in LOGIC:
            grows = next(name for name in node.operands if not isinstance(self._type(name), Finite))
            raise Mismatch(
                f"{self._is(grows)}, but {node.operator.value!r} needs true or false; write {self._shown(grows)} != 0"
            )
        if node.operator is Operator.POWER:
            result, undefined = power(found[0], found[1])
        else:
            ranges = [self._numbers(name) for name in node.operands]
            result, undefined = self._counted(node) or arithmetic(node.operator, ranges)
        return result.typed(partial or undefined)

    def _incomparable(self, node: ir.Apply, found: Sequence[Type]) -> bool:
        """Whether some operand values are not comparable; raises a `Mismatch` if none are."""
        samples = [entry.values if isinstance(entry, Finite) else (0,) for entry in found]
        results = [apply(node.operator, case) for case in product(*samples)]
        if results and all(result is UNDEFINED for result in results):
            raise Mismatch(self._never(node, found))
        return UNDEFINED in results

    def _numbers(self, name: str) -> Range:
        """The range of a numeric operand."""
        found = self._type(name)
        limits = range_of(found)
        if limits is None:
            raise Mismatch(f"expected a number, but {self._is(name)}")
        return limits

    def _counted(self, node: ir.Apply) -> tuple[Range, bool] | None:
        """The range of an integer count expressed as a mean; None for other operations."""
        if counted(node, self.nodes):
            return Range(ONE, LENGTH), False
        mean_of = summed(node, self.nodes, self.causal)
        if mean_of is None:
            return None
        values, default = range_of(self._type(mean_of.values)), range_of(self._type(mean_of.default))
        known = values is not None and (default is not None or not self._facts(mean_of.selector).empty)
        return (total(values), False) if known and values is not None else None

    def _table(self, node: ir.Table) -> Type:
        found = [self._type(name) for name in node.operands]
        results = {identity(values): result for values, result in node.rows}
        tried = self._enumerated(node.operands, found, lambda values: results.get(identity(values), UNDEFINED))
        if tried is None:
            tried = Finite(distinct(list(results.values())), partial=True)
        if not tried.values and node.rows and all(not isinstance(entry, Finite) or entry.values for entry in found):
            operands = " and ".join(self._is(name) for name in node.operands)
            raise Mismatch(f"no row of the table matches: {operands}")
        return tried

    # Aggregates

    def _facts(self, name: str) -> Facts:
        found = self.facts[name]
        assert found is not None
        return found

    def _aggregate(self, node: ir.Aggregate) -> Type:
        facts, values = self._facts(node.selector), self._type(node.values)
        default = self._type(node.default) if facts.empty else Finite(())
        alike = facts.single or self.selection.determined(node.values, facts.fixed)
        if facts.nothing:
            result: Type = Finite(())
        elif alike or (isinstance(values, Finite) and len(values.values) <= 1):
            result = values
        else:
            result = self._reduced(node, values)
        try:
            result = united(result, default)
        except Mismatch:
            raise Mismatch(
                f"the default {self._is(node.default)}, but {self._is(node.values)}: the default must be a number too"
            ) from None
        return replace(result, partial=result.partial or facts.partial)

    def _reduced(self, node: ir.Aggregate, values: Type) -> Type:
        """The type of an aggregate of several values that may differ."""
        limits = range_of(values)
        if limits is not None:
            if node.reduction is Reduction.MEAN:
                return mean(limits).typed(values.partial)
            plainly = (
                [plain(value) for value in values.values if is_number(value)] if isinstance(values, Finite) else []
            )
            return (
                Finite(distinct([*values.values, *plainly]), values.partial) if isinstance(values, Finite) else values
            )
        assert isinstance(values, Finite)
        if sum(map(is_number, values.values)) > 1 and node.reduction is Reduction.MEAN:
            raise Mismatch(f"{self._is(node.values)}: a mean is taken of numbers only, or of symbols only")
        return replace(values, partial=True)

    def _width(self, node: ir.Width) -> Type:
        facts = self._facts(node.selector)
        everything = self.nodes[node.selector] == ir.SelectAll()
        low = LENGTH if everything and not self.causal else ZERO if facts.empty else ONE
        most = ZERO if facts.nothing else ONE if facts.single else LENGTH - ONE if facts.itself is False else LENGTH
        return Range(low, most).typed(facts.partial)

    # Loops

    def _repeat(self, node: ir.Repeat) -> Type:
        """The types of the variables after any number of iterations: a fixpoint found by widening."""
        if all(self.types.get(name) for name, _ in node.variables) and node.result in self.types:
            return self._type(node.result)  # another variable of the same loop
        starts = [self._type(start) for _, start in node.variables]
        types = starts
        for rounds in range(MOST_ROUNDS):
            following = self._turn(node, types)
            wider = [widened(old, new, rounds) for old, new in zip(types, following, strict=True)]
            if wider == types:
                self._narrow(node, starts, following, types)
                return self._type(node.result)
            types = wider
        raise Mismatch(UNENDING)

    def _turn(self, node: ir.Repeat, types: Sequence[Type]) -> list[Type]:
        """The types of the variables after one iteration from the given types."""
        self.types.update({name: found for (name, _), found in zip(node.variables, types, strict=True)})
        reported = len(self.problems)
        self.infer(node.body)
        if len(self.problems) > reported:
            raise _Reported
        return [self._type(name) for name in node.following]

    def _narrow(self, node: ir.Repeat, starts: list[Type], following: list[Type], types: list[Type]) -> None:
        """Narrow the widened types by one descending iteration, if the result is still invariant."""
        narrow = [united(start, new) for start, new in zip(starts, following, strict=True)]
        after = self._turn(node, narrow)
        kept = [united(old, new) for old, new in zip(narrow, after, strict=True)]
        if kept != narrow:
            self._turn(node, types)

    # Formatting of messages

    def _shown(self, name: str) -> str:
        return shown(name, self.nodes)

    def _is(self, name: str) -> str:
        text, found = self._shown(name), str(self._type(name))
        return text if text == found else f"{text} is {found}"

    def _never(self, node: ir.Apply, found: Sequence[Type]) -> str:
        """The message for an operation that is undefined for all operand values."""
        sign = repr(node.operator.value)
        if node.operator in ir.COMPARISONS:
            return f"{sign} cannot compare {' with '.join(map(self._described, node.operands))}"
        if node.operator not in LOGIC and all(range_of(entry) is not None for entry in found):
            return f"{sign} is never defined here: {' and '.join(map(self._described, node.operands))}"
        wrong = [name for name, entry in zip(node.operands, found, strict=True) if range_of(entry) is None]
        needed = "true or false" if node.operator in LOGIC else "numbers"
        return f"{sign} needs {needed}, but {' and '.join(dict.fromkeys(map(self._is, wrong)))}"

    def _described(self, name: str) -> str:
        text, found = self._shown(name), str(self._type(name))
        return text if text == found else f"{text} ({found})"


class _Reported(Mismatch):
    """A type error inside the loop body that was already reported."""
