"""Elaborator of statements: expands functions, loops over lists and loaded files into definitions.

Elaborator of expressions: computes compile-time values and emits sequence operators and selectors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from softmachine.languages.rasp import ir, syntax_tree
from softmachine.languages.rasp.emitter import Making
from softmachine.languages.rasp.environment import (
    CONSTANTS,
    GIVEN,
    LONGEST_LIST,
    Closure,
    LoopThing,
    Primitive,
    RelationThing,
    Scope,
    SelectorThing,
    SequenceThing,
    Thing,
    described,
    given,
    is_value,
    table,
)
from softmachine.languages.rasp.ir import UNDEFINED, Operator, Value, did_you_mean
from softmachine.languages.rasp.syntax_tree import At, Expression, Statement
from softmachine.languages.rasp.values import MOST_BITS, apply, identity, is_number, plain
from softmachine.languages.text.diagnostics import Mistake

JOINING: Final = (Operator.AND, Operator.OR)
"""Operators with two or more operands."""


class Terms(Making):
    """Evaluates expressions in a scope to compile-time values."""

    scope: Scope

    @abstractmethod
    def called(self, function: Closure, arguments: list[Thing], call: syntax_tree.Call) -> Thing:
        """Inline a call of a user-defined function and return its result."""

    @abstractmethod
    def spread(self, names: tuple[str, ...], value: Thing, at: At) -> None:
        """Bind names to a value, unpacking it if there are several names."""

    def evaluate(self, expression: Expression) -> Thing:
        """The compile-time value of an expression."""
        self.step(expression.at)
        match expression:
            case syntax_tree.Name():
                return self._named(expression)
            case syntax_tree.Literal(value=value):
                return value
            case syntax_tree.Relation(operator=operator):
                return RelationThing(operator)
            case syntax_tree.Operation():
                return self._operation(expression)
            case syntax_tree.Member():
                return self._member(expression)
            case syntax_tree.Call():
                return self._call(expression)
            case syntax_tree.Index():
                return self._index(expression)
            case syntax_tree.Collection(parts=parts, is_list=is_list):
                entries = [self.evaluate(part) for part in parts]
                return entries if is_list else tuple(entries)
            case syntax_tree.Dictionary(entries=entries):
                return dict(self._entry(key, value) for key, value in entries)
            case syntax_tree.Comprehension():
                return self._comprehension(expression)

    def _named(self, name: syntax_tree.Name) -> Thing:
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

    def _operation(self, expression: syntax_tree.Operation) -> Thing:
        # A long sum is a left-deep tree, which is traversed without recursion.
        spine: list[syntax_tree.Operation] = []
        part: Expression = expression
        while isinstance(part, syntax_tree.Operation) and len(part.operands) == 2 and part.operator not in JOINING:
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

    def _choice(self, expression: syntax_tree.Operation) -> Thing:
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
            return self.made(ir.Apply(operator, tuple(references)))
        joined = references[0]
        for reference in references[1:]:
            joined = self.add(ir.Apply(operator, (joined, reference)))
        return SequenceThing(joined)

    def _selectors(self, operator: Operator, operands: list[tuple[Thing, Expression]], at: Expression) -> Thing:
        if operator not in (Operator.AND, Operator.OR, Operator.NOT):
            hint = "combine selectors by and, or and not; use aggregate to get a sequence operator"
            raise self.mistake(f"{operator.value!r} does not apply to a selector", at, hint)
        for value, written in operands:
            if not isinstance(value, SelectorThing):
                hint = "combine selectors only with selectors; select(x, True, ==) converts x"
                raise self.mistake(f"expected a selector, not {described(value)}", written, hint)
        return self.selector(ir.Combine(operator, tuple(value.reference for value, _ in operands)))  # type: ignore[union-attr]

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

    def _member(self, expression: syntax_tree.Member) -> Thing:
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

    def _call(self, call: syntax_tree.Call) -> Thing:
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

    def arity(self, name: str, expected: int, found: int, call: syntax_tree.Call, usage: str) -> Mistake:
        """The diagnostic for a wrong number of arguments."""
        given = f"{found} {'is' if found == 1 else 'are'} given"
        message = f"{name!r} takes {expected} argument{'s' * (expected != 1)}, but {given}"
        return self.mistake(message, call, f"write {usage}")

    def _index(self, expression: syntax_tree.Index) -> Thing:
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
        position = self.add(ir.Constant(index))
        if index < 0:
            position = self.add(ir.Apply(Operator.ADD, (self.add(ir.Length()), position)))
        there = self.add(ir.Select(self.add(ir.Indices()), position, Operator.EQUAL))
        return self.made(ir.Aggregate(there, sequence, self.add(ir.Constant(0))))

    def _comprehension(self, expression: syntax_tree.Comprehension) -> Thing:
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


DEEPEST_CALL: Final = 24


class Elaborator(Terms):
    """Elaborates the statements of a program text into definitions.

    Args:
        source: The origin of the program text.
        alphabet: The letters of the input.
        letters: The values of the letters.
        library: The library functions available in every program.
        load: Loads and parses a file.
        exact: Whether each statement is exactly one definition with the statement's name.
    """

    def __init__(
        self,
        source: str,
        alphabet: Sequence[str],
        letters: Sequence[Value],
        library: Iterable[Statement],
        load: Callable[[str, At], tuple[Statement, ...]],
        exact: bool = False,
    ) -> None:
        super().__init__(source, alphabet, letters, exact)
        self.notes: list[str] = []
        self.output: str | None = None
        self.output_at = At(1, 1)
        self._load = load
        known = Scope()
        for definition in library:
            assert isinstance(definition, syntax_tree.Function)
            known.names[definition.name] = Closure(definition, known, known=True)
        self.scope = self.top = Scope(known)

    def run(self, statements: Iterable[Statement]) -> None:
        """Elaborate statements in order."""
        for statement in statements:
            self.step(statement.at)
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case syntax_tree.Assignment():
                self._assign(statement)
            case syntax_tree.Function():
                foreign = self.loading is not None
                self._define(statement.name, Closure(statement, self.scope, known=foreign), statement.at)
            case syntax_tree.For():
                for entry in self.items(self.evaluate(statement.iterable), statement.iterable):
                    self.spread(statement.names, entry, statement.at)
                    self.run(statement.body)
            case syntax_tree.Loop():
                self._loop(statement)
            case syntax_tree.Shown():
                self._shown(statement)
            case syntax_tree.Load():
                self._loaded(statement)
            case syntax_tree.Returned():
                raise Mistake(
                    "return outside a function", *statement.at.place, "use return only as the last statement of a def"
                )

    def _loaded(self, statement: syntax_tree.Load) -> None:
        """Elaborate a loaded file; its errors are reported at the load statement."""
        statements = self._load(statement.file, statement.at)
        outer, self.loading = self.loading, self.loading or statement.at
        try:
            self.run(statements)
        except Mistake as error:
            prefix = "" if error.message.startswith("in '") else f"in {statement.file!r}, line {error.line}: "
            raise Mistake(prefix + error.message, *statement.at.place, error.hint) from None
        finally:
            self.loading = outer

    def _assign(self, statement: syntax_tree.Assignment) -> None:
        values = [self.evaluate(value) for value in statement.values]
        values = [self.made(value.node) if isinstance(value, LoopThing) else value for value in values]
        if len(values) == 1:
            self.spread(statement.names, values[0], statement.at)
        else:
            self.spread(statement.names, tuple(values), statement.at)

    def spread(self, names: tuple[str, ...], value: Thing, at: At) -> None:
        """Bind names to a value, unpacking it if there are several names."""
        if len(names) == 1:
            self._define(names[0], value, at)
            return
        if not isinstance(value, list | tuple | str) or len(value) != len(names):
            found = f"{len(value)} values" if isinstance(value, list | tuple) else described(value)
            raise Mistake(f"cannot unpack {found} into {len(names)} names", *at.place, "give one value per name")
        for name, part in zip(names, value, strict=True):
            self._define(name, part, at)

    def _define(self, name: str, value: Thing, at: At) -> None:
        if name in CONSTANTS:
            raise Mistake(f"{name!r} is a keyword", *at.place, "choose another name")
        if isinstance(value, SequenceThing | SelectorThing) and not self.in_library:
            value = type(value)(self.recorder.call(value.reference, name))
        if self.scope is self.top and isinstance(value, SequenceThing | LoopThing):
            self.output, self.output_at = name, at
        self.scope.names[name] = value

    def _shown(self, statement: syntax_tree.Shown) -> None:
        expression = statement.expression
        if isinstance(expression, syntax_tree.Call) and isinstance(expression.function, syntax_tree.Name):
            function = expression.function.name
            scope = self.scope.find(function)
            if function == "draw" or (scope and isinstance(scope.names[function], SequenceThing)):
                self.notes.append(f"line {statement.at.line}: shell output command ignored")
                return
        value = self.evaluate(expression)
        if self.scope is self.top and isinstance(value, SequenceThing | LoopThing):
            reference = self.sequence(value, expression)
            self.output, self.output_at = "the last expression", statement.at
            self.scope.names[self.output] = SequenceThing(reference)

    def _loop(self, statement: syntax_tree.Loop) -> None:
        if self.recorder.inside:
            message = "loops cannot be nested"
            raise Mistake(message, *statement.at.place, "write one loop with more variables")
        names = [name for name, _ in statement.starts]
        if len(set(names)) < len(names):
            raise Mistake("a loop has two variables of the same name", *statement.at.place, "rename one of them")
        starts = [self.sequence(self.evaluate(start), start) for _, start in statement.starts]
        outer = self.scope
        variables = self.recorder.enter(names)
        self.scope = Scope(outer, {name: SequenceThing(own) for name, own in zip(names, variables, strict=True)})
        self.run(statement.body)
        self.step(statement.at)
        following = [self.sequence(self.scope.names[name], syntax_tree.Name(name, at=statement.at)) for name in names]
        self.scope = outer
        results = self.recorder.leave(starts, following)
        for name, node in zip(names, results, strict=True):
            self._define(name, LoopThing(node), statement.at)

    def called(self, function: Closure, arguments: list[Thing], call: syntax_tree.Call) -> Thing:
        """Inline a call of a user-defined function and return its result. Recursion is an error."""
        definition = function.definition
        if len(arguments) != len(definition.parameters):
            usage = f"{function.name}({', '.join(definition.parameters)})"
            raise self.arity(function.name, len(definition.parameters), len(arguments), call, usage)
        if any(running.definition is definition for running in self.calls):
            hint = "functions are expanded at compile time; use a for over a list, or repeat"
            raise self.mistake(f"{function.name!r} is recursive, so its expansion would not end", call, hint)
        if len(self.calls) == DEEPEST_CALL:
            raise self.mistake(
                f"function calls are nested more than {DEEPEST_CALL} levels deep", call, "nest fewer calls"
            )
        outer = self.scope
        self.scope = Scope(function.scope, dict(zip(definition.parameters, arguments, strict=True)))
        self.calls.append(function)
        try:
            *body, last = definition.body or (None,)
            self.run(statement for statement in body if statement is not None)
            if not isinstance(last, syntax_tree.Returned):
                hint = "end it with: return x;"
                raise Mistake(f"the function {function.name!r} does not end with a return", *definition.at.place, hint)
            values = [self.evaluate(value) for value in last.values]
        finally:
            self.calls.pop()
            self.scope = outer
        self.step(call.at)
        return values[0] if len(values) == 1 else tuple(values)
