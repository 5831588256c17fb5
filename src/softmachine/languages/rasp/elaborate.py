"""Elaborator of statements: expands functions, loops over lists and loaded files into definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from softmachine.languages.rasp import trees
from softmachine.languages.rasp.core import Value
from softmachine.languages.rasp.functions import CONSTANTS
from softmachine.languages.rasp.terms import Terms
from softmachine.languages.rasp.things import (
    Closure,
    LoopThing,
    Scope,
    SelectorThing,
    SequenceThing,
    Thing,
    described,
)
from softmachine.languages.rasp.trees import At, Statement
from softmachine.languages.text.mistakes import Mistake

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
            assert isinstance(definition, trees.Function)
            known.names[definition.name] = Closure(definition, known, known=True)
        self.scope = self.top = Scope(known)

    def run(self, statements: Iterable[Statement]) -> None:
        """Elaborate statements in order."""
        for statement in statements:
            self.step(statement.at)
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case trees.Assignment():
                self._assign(statement)
            case trees.Function():
                foreign = self.loading is not None
                self._define(statement.name, Closure(statement, self.scope, known=foreign), statement.at)
            case trees.For():
                for entry in self.items(self.evaluate(statement.iterable), statement.iterable):
                    self.spread(statement.names, entry, statement.at)
                    self.run(statement.body)
            case trees.Loop():
                self._loop(statement)
            case trees.Shown():
                self._shown(statement)
            case trees.Load():
                self._loaded(statement)
            case trees.Returned():
                raise Mistake(
                    "return outside a function", *statement.at.place, "use return only as the last statement of a def"
                )

    def _loaded(self, statement: trees.Load) -> None:
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

    def _assign(self, statement: trees.Assignment) -> None:
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

    def _shown(self, statement: trees.Shown) -> None:
        expression = statement.expression
        if isinstance(expression, trees.Call) and isinstance(expression.function, trees.Name):
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

    def _loop(self, statement: trees.Loop) -> None:
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
        following = [self.sequence(self.scope.names[name], trees.Name(name, at=statement.at)) for name in names]
        self.scope = outer
        results = self.recorder.leave(starts, following)
        for name, node in zip(names, results, strict=True):
            self._define(name, LoopThing(node), statement.at)

    def called(self, function: Closure, arguments: list[Thing], call: trees.Call) -> Thing:
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
            if not isinstance(last, trees.Returned):
                hint = "end it with: return x;"
                raise Mistake(f"the function {function.name!r} does not end with a return", *definition.at.place, hint)
            values = [self.evaluate(value) for value in last.values]
        finally:
            self.calls.pop()
            self.scope = outer
        self.step(call.at)
        return values[0] if len(values) == 1 else tuple(values)
