"""From trees to definitions: functions are called, lists gone through, and what is left are operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Final

from softmachine.errors import Place
from softmachine.languages.rasp import core, trees
from softmachine.languages.rasp.core import UNDEFINED, Node, Operator, Value
from softmachine.languages.rasp.functions import CONSTANTS, GIVEN, LONGEST_LIST, given, table
from softmachine.languages.rasp.names import did_you_mean
from softmachine.languages.rasp.recording import Recorder
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
from softmachine.languages.rasp.trees import At, Expression, Statement
from softmachine.languages.rasp.validation import MOST_DEFINITIONS
from softmachine.languages.rasp.values import MOST_BITS, apply, identity, is_number, plain
from softmachine.languages.text.mistakes import Mistake

MOST_STEPS: Final = 200_000
"""So many expressions are evaluated while a text is read."""
DEEPEST_CALL: Final = 24


class Elaborator:
    """Goes through the statements of a text and records what they define.

    Args:
        source: Where the text comes from.
        alphabet: The letters of the input.
        letters: What they mean.
        library: The functions that every text may use.
        load: The statements of a file that a text loads.
        exact: Whether each statement is one definition, and has its name.
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
        self.source = source
        self.alphabet, self.meanings = tuple(alphabet), tuple(letters)
        self.recorder = Recorder(exact)
        self.notes: list[str] = []
        self.output: str | None = None
        self.output_at = At(1, 1)
        self._load = load
        known = Scope()
        for definition in library:
            assert isinstance(definition, trees.Function)
            known.names[definition.name] = Closure(definition, known, known=True)
        self.scope = self.top = Scope(known)
        self._calls: list[Closure] = []
        self._steps = 0
        self._here = At(1, 1)

    # Statements

    def run(self, statements: Iterable[Statement]) -> None:
        """Elaborate statements one after the other."""
        for statement in statements:
            self._step(statement.at)
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case trees.Assignment():
                self._assign(statement)
            case trees.Function():
                self._define(statement.name, Closure(statement, self.scope), statement.at)
            case trees.For():
                for entry in self.items(self.evaluate(statement.iterable), statement.iterable):
                    self._spread(statement.names, entry, statement.at)
                    self.run(statement.body)
            case trees.Loop():
                self._loop(statement)
            case trees.Shown():
                self._shown(statement)
            case trees.Load():
                self.run(self._load(statement.file, statement.at))
            case trees.Returned():
                raise Mistake(
                    "there is no function here to return from", *_place(statement.at), "return stands in a def"
                )

    def _assign(self, statement: trees.Assignment) -> None:
        things = [self.evaluate(value) for value in statement.values]
        things = [self.made(thing.node) if isinstance(thing, LoopThing) else thing for thing in things]
        if len(things) == 1:
            self._spread(statement.names, things[0], statement.at)
        else:
            self._spread(statement.names, tuple(things), statement.at)

    def _spread(self, names: tuple[str, ...], thing: Thing, at: At) -> None:
        """Give several names to as many things."""
        if len(names) == 1:
            self._define(names[0], thing, at)
            return
        if not isinstance(thing, list | tuple | str) or len(thing) != len(names):
            found = f"{len(thing)} values" if isinstance(thing, list | tuple) else described(thing)
            raise Mistake(f"there are {len(names)} names for {found}", *_place(at), "each name gets one value")
        for name, part in zip(names, thing, strict=True):
            self._define(name, part, at)

    def _define(self, name: str, thing: Thing, at: At) -> None:
        if name in CONSTANTS:
            raise Mistake(f"{name!r} is a word of the language", *_place(at), "call it something else")
        if isinstance(thing, SequenceThing | SelectorThing) and not self._in_library:
            thing = type(thing)(self.recorder.call(thing.reference, name))
        if self.scope is self.top and isinstance(thing, SequenceThing | LoopThing):
            self.output, self.output_at = name, at
        self.scope.names[name] = thing

    def _shown(self, statement: trees.Shown) -> None:
        expression = statement.expression
        if isinstance(expression, trees.Call) and isinstance(expression.function, trees.Name):
            function = expression.function.name
            scope = self.scope.find(function)
            if function == "draw" or (scope and isinstance(scope.names[function], SequenceThing)):
                self.notes.append(f"line {statement.at.line}: what a shell would show is left out")
                return
        thing = self.evaluate(expression)
        if self.scope is self.top and isinstance(thing, SequenceThing | LoopThing):
            reference = self.sequence(thing, expression)
            self.output, self.output_at = "the last expression", statement.at
            self.scope.names[self.output] = SequenceThing(reference)

    def _loop(self, statement: trees.Loop) -> None:
        if self.recorder.inside:
            message = "a loop cannot stand in another one"
            raise Mistake(message, *_place(statement.at), "make it one loop with more variables")
        names = [name for name, _ in statement.starts]
        if len(set(names)) < len(names):
            raise Mistake("a loop has two variables of the same name", *_place(statement.at), "call one otherwise")
        starts = [self.sequence(self.evaluate(start), start) for _, start in statement.starts]
        outer = self.scope
        variables = self.recorder.enter(names)
        self.scope = Scope(outer, {name: SequenceThing(own) for name, own in zip(names, variables, strict=True)})
        self.run(statement.body)
        self._step(statement.at)
        following = [self.sequence(self.scope.names[name], trees.Name(name, statement.at)) for name in names]
        self.scope = outer
        results = self.recorder.leave(starts, following)
        for name, node in zip(names, results, strict=True):
            self._define(name, LoopThing(node), statement.at)

    # Expressions

    def evaluate(self, expression: Expression) -> Thing:
        """What an expression stands for."""
        self._step(expression.at)
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
                things = [self.evaluate(part) for part in parts]
                return things if is_list else tuple(things)
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
        thing = given(self, name.name)
        if thing is None:
            hint = did_you_mean(name.name, {*self.scope.known(), *GIVEN}) or "define it before this line"
            raise self.mistake(f"there is no {name.name!r}", name, hint)
        return thing

    def _operation(self, expression: trees.Operation) -> Thing:
        # A long sum is a deep tree on its left: it is gone down without recursion.
        spine: list[trees.Operation] = []
        part: Expression = expression
        while isinstance(part, trees.Operation) and len(part.operands) == 2 and part.operator not in _JOINING:
            spine.append(part)
            part = part.operands[0]
        if expression.operator is Operator.CHOOSE:
            return self._choice(expression)
        if not spine:
            things = [(self.evaluate(operand), operand) for operand in expression.operands]
            return self.applied(expression.operator, things, expression)
        thing = self.evaluate(part)
        for operation in reversed(spine):
            left, right = operation.operands
            thing = self.applied(operation.operator, [(thing, left), (self.evaluate(right), right)], operation)
        return thing

    def _choice(self, expression: trees.Operation) -> Thing:
        """Of a condition that is known only the branch that is taken means anything."""
        then, condition, otherwise = expression.operands
        known = self.evaluate(condition)
        if is_value(known) and is_number(known):
            return self.evaluate(then if known else otherwise)
        things = [(self.evaluate(then), then), (known, condition), (self.evaluate(otherwise), otherwise)]
        return self.applied(Operator.CHOOSE, things, expression)

    def applied(self, operator: Operator, operands: list[tuple[Thing, Expression]], at: Expression) -> Thing:
        """What an operator makes of things: a value of values, a sequence operator if there is one among them."""
        things = [thing for thing, _ in operands]
        if any(isinstance(thing, SelectorThing) for thing in things):
            return self._selectors(operator, operands, at)
        if all(map(is_value, things)):
            return self._value(operator, things, at)
        references = [self.sequence(thing, written) for thing, written in operands]
        self._here = at.at
        if operator not in _JOINING:
            return self.made(core.Apply(operator, tuple(references)))
        joined = references[0]
        for reference in references[1:]:
            joined = self.add(core.Apply(operator, (joined, reference)))
        return SequenceThing(joined)

    def _selectors(self, operator: Operator, operands: list[tuple[Thing, Expression]], at: Expression) -> Thing:
        if operator not in (Operator.AND, Operator.OR, Operator.NOT):
            hint = "selectors are joined by and, or and not; aggregate makes a sequence operator of one"
            raise self.mistake(f"{operator.value!r} does not apply to a selector", at, hint)
        for thing, written in operands:
            if not isinstance(thing, SelectorThing):
                hint = "a selector is joined with selectors; select(x, True, ==) makes one of x"
                raise self.mistake(f"this is {described(thing)}, not a selector", written, hint)
        return self.selector(core.Combine(operator, tuple(thing.reference for thing, _ in operands)))  # type: ignore[union-attr]

    def _value(self, operator: Operator, values: Sequence[Any], at: Expression) -> Value:
        result = values[0]
        pairs = [values] if operator not in _JOINING else [(value,) for value in values[1:]]
        for pair in pairs:
            result = apply(operator, pair if operator not in _JOINING else (result, *pair))
        if result is UNDEFINED:
            operands = " and ".join(map(described, values))
            raise self.mistake(f"{operator.value!r} means nothing for {operands} like these", at, "check the values")
        large = (
            is_number(result) and max(abs(plain(result).numerator), plain(result).denominator).bit_length() > MOST_BITS
        )
        if large:
            raise self.mistake("this value becomes too large", at, "use smaller ones")
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
        self._step(call.at)
        match function:
            case Primitive():
                if len(arguments) not in function.counts:
                    raise self._arity(function.name, min(function.counts), len(arguments), call, function.usage)
                return function.call(self, arguments, call)
            case Closure():
                return self._closure(function, arguments, call)
            case _:
                hint = "only functions are called; a sequence operator is run with: softmachine run FILE WORD"
                raise self.mistake(f"this is {described(function)}, not a function", call, hint)

    def _closure(self, function: Closure, arguments: list[Thing], call: trees.Call) -> Thing:
        definition = function.definition
        if len(arguments) != len(definition.parameters):
            usage = f"{function.name}({', '.join(definition.parameters)})"
            raise self._arity(function.name, len(definition.parameters), len(arguments), call, usage)
        if any(running.definition is definition for running in self._calls):
            hint = "a program is read to its end before it runs; use a for over a list, or repeat"
            raise self.mistake(f"{function.name!r} calls itself, which would never end", call, hint)
        if len(self._calls) == DEEPEST_CALL:
            raise self.mistake(f"functions call each other more than {DEEPEST_CALL} deep", call, "use fewer")
        outer = self.scope
        self.scope = Scope(function.scope, dict(zip(definition.parameters, arguments, strict=True)))
        self._calls.append(function)
        try:
            *body, last = definition.body or (None,)
            self.run(statement for statement in body if statement is not None)
            if not isinstance(last, trees.Returned):
                hint = "end it with: return x;"
                raise Mistake(f"the function {function.name!r} returns nothing", *_place(definition.at), hint)
            values = [self.evaluate(value) for value in last.values]
        finally:
            self._calls.pop()
            self.scope = outer
        self._step(call.at)
        return values[0] if len(values) == 1 else tuple(values)

    def _arity(self, name: str, wanted: int, found: int, call: trees.Call, usage: str) -> Mistake:
        message = (
            f"{name!r} takes {wanted} argument{'s' * (wanted != 1)}, but {found} {'is' if found == 1 else 'are'} given"
        )
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
                raise self.mistake("there is no such key in the dictionary", indices[0][1], "check the key")
            return operand[identity(key)][1]  # type: ignore[no-any-return]
        index, written = indices[0]
        if len(indices) > 1 or not isinstance(index, int):
            raise self.mistake(f"an index is an integer, not {described(index)}", written, "as in x[0]")
        if isinstance(operand, SequenceThing | LoopThing):
            return self._at(self.sequence(operand, expression.operand), index)
        if not isinstance(operand, list | tuple | str):
            raise self.mistake(f"{described(operand)} has no entries", expression.operand, "lists and symbols have")
        if not -len(operand) <= index < len(operand):
            raise self.mistake(f"there is no entry {index}: there are {len(operand)}", written, "they count from 0")
        return operand[index]

    def _at(self, sequence: str, index: int) -> Thing:
        """A sequence operator at a position, counted from the end if it is negative."""
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
            self._spread(expression.names, entry, expression.at)
            if expression.key is None:
                made.append(self.evaluate(expression.value))
            else:
                made.append(self._entry(expression.key, expression.value))
            self.scope = outer
        return made if expression.key is None else dict(made)

    def _entry(self, key: Expression, value: Expression) -> tuple[object, tuple[Value, Thing]]:
        found = self.evaluate(key)
        if not is_value(found):
            raise self.mistake(f"the key of a dictionary is a value, not {described(found)}", key, 'as in {"a": 1}')
        return identity(found), (found, self.evaluate(value))

    def entries(self, dictionary: dict[Any, Any]) -> Iterable[tuple[Value, Thing]]:
        """The keys of a dictionary, with what they stand for."""
        return dictionary.values()

    def items(self, thing: Thing, written: Expression) -> list[Any]:
        """What can be gone through: the entries of a list, the keys of a dictionary, the characters of a symbol."""
        if isinstance(thing, dict):
            return [key for key, _ in self.entries(thing)]
        if not isinstance(thing, list | tuple | str):
            raise self.mistake(f"this is {described(thing)}, not a list", written, "write a list, as in [1, 2]")
        if len(thing) > LONGEST_LIST:
            raise self.mistake(f"a list has at most {LONGEST_LIST:,} entries", written, "")
        return list(thing)

    # What is recorded

    def add(self, node: Node) -> str:
        """Record an operation at the place that is being elaborated."""
        if len(self.recorder.builder) > MOST_DEFINITIONS:
            raise Mistake(
                f"there are more than {MOST_DEFINITIONS:,} operations up to here", *_place(self._here), "use fewer"
            )
        return self.recorder.add(node, Place(self.source, self._here.line, self._here.column))

    def made(self, node: core.SequenceOperator) -> SequenceThing:
        """Record a sequence operator."""
        return SequenceThing(self.add(node))

    def selector(self, node: core.Selector) -> SelectorThing:
        """Record a selector."""
        return SelectorThing(self.add(node))

    def sequence(self, thing: Thing, written: Expression) -> str:
        """The sequence operator that something stands for: a value is the same everywhere."""
        match thing:
            case SequenceThing(reference=reference):
                return reference
            case LoopThing(node=node):
                return self.add(node)
            case _ if is_value(thing):
                return self.add(core.Constant(thing))
            case _:
                hint = "aggregate makes one of a selector" if isinstance(thing, SelectorThing) else "as tokens is one"
                raise self.mistake(f"this is {described(thing)}, not a sequence operator", written, hint)

    def letters(self, kind: str) -> SequenceThing:
        """The input as numbers, Booleans or symbols; undefined where a letter is none."""
        if kind == "str" and self.meanings == self.alphabet:
            return self.made(core.Tokens())
        rows = [((meant,), _read(letter, kind)) for letter, meant in zip(self.alphabet, self.meanings, strict=True)]
        known = tuple((values, result) for values, result in rows if result is not None)
        if not known:
            message = f"no letter of the alphabet is a value for tokens_{kind}"
            raise Mistake(message, *_place(self._here), "use tokens, or write the alphabet: # alphabet: 0 1 2")
        return self.made(core.Table((self.add(core.Tokens()),), known))

    def mistake(self, message: str, written: Expression, hint: str) -> Mistake:
        """A mistake where something is written, or where a function of the library is called."""
        at = self._here if self._in_library else written.at
        return Mistake(message, *_place(at), hint or None)

    @property
    def _in_library(self) -> bool:
        return any(call.known for call in self._calls)

    def _step(self, at: At) -> None:
        self._steps += 1
        if not self._in_library:
            self._here = at
        if self._steps > MOST_STEPS:
            raise Mistake(f"reading takes more than {MOST_STEPS:,} steps up to here", *_place(at), "use shorter lists")


_JOINING: Final = (Operator.AND, Operator.OR)


def _place(at: At) -> tuple[int, int]:
    return at.line, at.column


def _read(letter: str, kind: str) -> Value:
    """A letter as a value of a kind; None if it is none."""
    if kind == "str":
        return letter
    if kind == "bool":
        return {"T": True, "True": True, "F": False, "False": False, "1": True, "0": False}.get(letter)
    try:
        number = plain(Fraction(letter))
    except (ValueError, ZeroDivisionError):
        return None
    return number if kind == "float" or isinstance(number, int) else None
