"""Elaborator of expressions: computes compile-time values and emits sequence operators and selectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final

from softmachine.languages.rasp import core, trees
from softmachine.languages.rasp.core import UNDEFINED, Operator, Value
from softmachine.languages.rasp.functions import CONSTANTS, GIVEN, LONGEST_LIST, given, table
from softmachine.languages.rasp.making import Making
from softmachine.languages.rasp.names import did_you_mean
from softmachine.languages.rasp.things import (
    Closure,
    LoopThing,
    Primitive,
    RelationThing,
    Scope,
    SelectorThing,
    SequenceThing,
    Thing,
    described,
    is_value,
)
from softmachine.languages.rasp.trees import At, Expression
from softmachine.languages.rasp.values import MOST_BITS, apply, identity, is_number, plain
from softmachine.languages.text.mistakes import Mistake

JOINING: Final = (Operator.AND, Operator.OR)
"""Operators with two or more operands."""


class Terms(Making):
    """Evaluates expressions in a scope to compile-time values."""

    scope: Scope

    @abstractmethod
    def called(self, function: Closure, arguments: list[Thing], call: trees.Call) -> Thing:
        """Inline a call of a user-defined function and return its result."""

    @abstractmethod
    def spread(self, names: tuple[str, ...], value: Thing, at: At) -> None:
        """Bind names to a value, unpacking it if there are several names."""

    def evaluate(self, expression: Expression) -> Thing:
        """The compile-time value of an expression."""
        self.step(expression.at)
        match expression:
            case trees.Name():
                return self._named(expression)
            case trees.Literal(value=value):
                return value
            case trees.Relation(operator=operator):
                return RelationThing(operator)
            case trees.Operation():
                return self._operation(expression)
            case trees.Member():
                return self._member(expression)
            case trees.Call():
                return self._call(expression)
            case trees.Index():
                return self._index(expression)
            case trees.Collection(parts=parts, is_list=is_list):
                entries = [self.evaluate(part) for part in parts]
                return entries if is_list else tuple(entries)
            case trees.Dictionary(entries=entries):
                return dict(self._entry(key, value) for key, value in entries)
            case trees.Comprehension():
                return self._comprehension(expression)

    def _named(self, name: trees.Name) -> Thing:
        if name.name in CONSTANTS:
            return CONSTANTS[name.name]
        scope = self.scope.find(name.name)
        if scope is not None:
            return scope.names[name.name]
        value = given(self, name.name)
        if value is None:
            hint = did_you_mean(name.name, {*self.scope.known(), *GIVEN}) or "define it before this line"
            raise self.mistake(f"unknown name {name.name!r}", name, hint)
        return value

    def _operation(self, expression: trees.Operation) -> Thing:
        # A long sum is a left-deep tree, which is traversed without recursion.
        spine: list[trees.Operation] = []
        part: Expression = expression
        while isinstance(part, trees.Operation) and len(part.operands) == 2 and part.operator not in JOINING:
            spine.append(part)
            part = part.operands[0]
        if expression.operator is Operator.CHOOSE:
            return self._choice(expression)
        if not spine:
            operands = [(self.evaluate(operand), operand) for operand in expression.operands]
            return self.applied(expression.operator, operands, expression)
        value = self.evaluate(part)
        for operation in reversed(spine):
            left, right = operation.operands
            value = self.applied(operation.operator, [(value, left), (self.evaluate(right), right)], operation)
        return value

    def _choice(self, expression: trees.Operation) -> Thing:
        """If the condition is a compile-time value, only the branch taken is evaluated."""
        then, condition, otherwise = expression.operands
        known = self.evaluate(condition)
        if is_value(known) and is_number(known):
            return self.evaluate(then if known else otherwise)
        operands = [(self.evaluate(then), then), (known, condition), (self.evaluate(otherwise), otherwise)]
        return self.applied(Operator.CHOOSE, operands, expression)

    def applied(self, operator: Operator, operands: list[tuple[Thing, Expression]], at: Expression) -> Thing:
        """Apply an operator: to values at compile time; emits an operation if an operand is a sequence operator."""
        values = [value for value, _ in operands]
        if any(isinstance(value, SelectorThing) for value in values):
            return self._selectors(operator, operands, at)
        if all(map(is_value, values)):
            return self._value(operator, values, at)
        references = [self.sequence(value, written) for value, written in operands]
        self.here = at.at
        if operator not in JOINING:
            return self.made(core.Apply(operator, tuple(references)))
        joined = references[0]
        for reference in references[1:]:
            joined = self.add(core.Apply(operator, (joined, reference)))
        return SequenceThing(joined)

    def _selectors(self, operator: Operator, operands: list[tuple[Thing, Expression]], at: Expression) -> Thing:
        if operator not in (Operator.AND, Operator.OR, Operator.NOT):
            hint = "combine selectors by and, or and not; use aggregate to get a sequence operator"
            raise self.mistake(f"{operator.value!r} does not apply to a selector", at, hint)
        for value, written in operands:
            if not isinstance(value, SelectorThing):
                hint = "combine selectors only with selectors; select(x, True, ==) converts x"
                raise self.mistake(f"expected a selector, not {described(value)}", written, hint)
        return self.selector(core.Combine(operator, tuple(value.reference for value, _ in operands)))  # type: ignore[union-attr]

    def _value(self, operator: Operator, values: Sequence[Any], at: Expression) -> Value:
        result = values[0]
        pairs = [values] if operator not in JOINING else [(value,) for value in values[1:]]
        for pair in pairs:
            result = apply(operator, pair if operator not in JOINING else (result, *pair))
        if result is UNDEFINED:
            operands = " and ".join(map(described, values))
            raise self.mistake(
                f"{operator.value!r} is undefined for {operands} with these values", at, "check the values"
            )
        large = (
            is_number(result) and max(abs(plain(result).numerator), plain(result).denominator).bit_length() > MOST_BITS
        )
        if large:
            raise self.mistake("this value is too large", at, "use smaller values")
        return result  # type: ignore[no-any-return]

    def _member(self, expression: trees.Member) -> Thing:
        operand = self.evaluate(expression.operand)
        entries = self.items(self.evaluate(expression.container), expression.container)
        written = expression.operand
        found: Thing = False
        if entries:
            tests = [
                self.applied(Operator.EQUAL, [(operand, written), (entry, expression.container)], expression)
                for entry in entries
            ]
            found = (
                tests[0]
                if len(tests) == 1
                else self.applied(Operator.OR, [(test, expression) for test in tests], expression)
            )
        return self.applied(Operator.NOT, [(found, expression)], expression) if expression.negated else found

    def _call(self, call: trees.Call) -> Thing:
        function = self.evaluate(call.function)
        arguments = [self.evaluate(argument) for argument in call.arguments]
        self.step(call.at)
        match function:
            case Primitive():
                if len(arguments) not in function.counts:
                    raise self.arity(function.name, min(function.counts), len(arguments), call, function.usage)
                return function.call(self, arguments, call)
            case Closure():
                return self.called(function, arguments, call)
            case _:
                hint = "only functions can be called; to run a sequence operator use: softmachine run FILE WORD"
                raise self.mistake(f"expected a function, not {described(function)}", call, hint)

    def arity(self, name: str, expected: int, found: int, call: trees.Call, usage: str) -> Mistake:
        """The diagnostic for a wrong number of arguments."""
        given = f"{found} {'is' if found == 1 else 'are'} given"
        message = f"{name!r} takes {expected} argument{'s' * (expected != 1)}, but {given}"
        return self.mistake(message, call, f"write {usage}")

    def _index(self, expression: trees.Index) -> Thing:
        operand = self.evaluate(expression.operand)
        indices = [(self.evaluate(index), index) for index in expression.indices]
        if isinstance(operand, dict):
            if any(isinstance(index, SequenceThing | LoopThing) for index, _ in indices):
                names = tuple(self.sequence(index, written) for index, written in indices)
                return table(self, names, operand, expression)
            key = indices[0][0] if len(indices) == 1 else tuple(index for index, _ in indices)
            if not is_value(key) or identity(key) not in operand:
                raise self.mistake("the dictionary has no such key", indices[0][1], "check the key")
            return operand[identity(key)][1]  # type: ignore[no-any-return]
        index, written = indices[0]
        if len(indices) > 1 or not isinstance(index, int):
            raise self.mistake(
                f"an index must be an integer, not {described(index)}", written, "write for example x[0]"
            )
        if isinstance(operand, SequenceThing | LoopThing):
            return self._at(self.sequence(operand, expression.operand), index)
        if not isinstance(operand, list | tuple | str):
            raise self.mistake(
                f"{described(operand)} cannot be indexed", expression.operand, "index a list, a tuple or a symbol"
            )
        if not -len(operand) <= index < len(operand):
            raise self.mistake(
                f"index {index} is out of range for {len(operand)} entries", written, "indices start at 0"
            )
        return operand[index]

    def _at(self, sequence: str, index: int) -> Thing:
        """The value of a sequence operator at a position; negative positions count from the end."""
        position = self.add(core.Constant(index))
        if index < 0:
            position = self.add(core.Apply(Operator.ADD, (self.add(core.Length()), position)))
        there = self.add(core.Select(self.add(core.Indices()), position, Operator.EQUAL))
        return self.made(core.Aggregate(there, sequence, self.add(core.Constant(0))))

    def _comprehension(self, expression: trees.Comprehension) -> Thing:
        entries = self.items(self.evaluate(expression.iterable), expression.iterable)
        outer = self.scope
        made: list[Any] = []
        for entry in entries:
            self.scope = Scope(outer)
            self.spread(expression.names, entry, expression.at)
            if expression.key is None:
                made.append(self.evaluate(expression.value))
            else:
                made.append(self._entry(expression.key, expression.value))
            self.scope = outer
        return made if expression.key is None else dict(made)

    def _entry(self, key: Expression, value: Expression) -> tuple[object, tuple[Value, Thing]]:
        found = self.evaluate(key)
        if not is_value(found):
            raise self.mistake(
                f"a dictionary key must be a value, not {described(found)}", key, 'write for example {"a": 1}'
            )
        return identity(found), (found, self.evaluate(value))

    def entries(self, dictionary: dict[Any, Any]) -> Iterable[tuple[Value, Thing]]:
        """The entries of a dictionary as pairs of key and value."""
        return dictionary.values()

    def items(self, iterable: Thing, written: Expression) -> list[Any]:
        """The elements of an iterable: list entries, dictionary keys or characters of a symbol."""
        if isinstance(iterable, dict):
            return [key for key, _ in self.entries(iterable)]
        if not isinstance(iterable, list | tuple | str):
            raise self.mistake(f"expected a list, not {described(iterable)}", written, "write for example [1, 2]")
        if len(iterable) > LONGEST_LIST:
            raise self.mistake(f"a list has at most {LONGEST_LIST:,} entries", written, "")
        return list(iterable)
