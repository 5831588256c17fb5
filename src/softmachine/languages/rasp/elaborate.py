"""From trees to definitions: functions are called, lists gone through, and what is left are operations."""

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
        """Elaborate statements one after the other."""
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
                raise Mistake("there is no function here to return from", *statement.at.place, "return stands in a def")

    def _loaded(self, statement: trees.Load) -> None:
        """Run another file; what is wrong in it is wrong where it is loaded."""
        statements = self._load(statement.file, statement.at)
        outer, self.loading = self.loading, self.loading or statement.at
        try:
            self.run(statements)
        except Mistake as mistake:
            prefix = "" if mistake.message.startswith("in '") else f"in {statement.file!r}, line {mistake.line}: "
            raise Mistake(prefix + mistake.message, *statement.at.place, mistake.hint) from None
        finally:
            self.loading = outer

    def _assign(self, statement: trees.Assignment) -> None:
        things = [self.evaluate(value) for value in statement.values]
        things = [self.made(thing.node) if isinstance(thing, LoopThing) else thing for thing in things]
        if len(things) == 1:
            self.spread(statement.names, things[0], statement.at)
        else:
            self.spread(statement.names, tuple(things), statement.at)

    def spread(self, names: tuple[str, ...], thing: Thing, at: At) -> None:
        """Give several names to as many things."""
        if len(names) == 1:
            self._define(names[0], thing, at)
            return
        if not isinstance(thing, list | tuple | str) or len(thing) != len(names):
            found = f"{len(thing)} values" if isinstance(thing, list | tuple) else described(thing)
            raise Mistake(f"there are {len(names)} names for {found}", *at.place, "each name gets one value")
        for name, part in zip(names, thing, strict=True):
            self._define(name, part, at)

    def _define(self, name: str, thing: Thing, at: At) -> None:
        if name in CONSTANTS:
            raise Mistake(f"{name!r} is a word of the language", *at.place, "call it something else")
        if isinstance(thing, SequenceThing | SelectorThing) and not self.in_library:
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
            raise Mistake(message, *statement.at.place, "make it one loop with more variables")
        names = [name for name, _ in statement.starts]
        if len(set(names)) < len(names):
            raise Mistake("a loop has two variables of the same name", *statement.at.place, "call one otherwise")
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
        """What a function returns, which may not be called while it is being called."""
        definition = function.definition
        if len(arguments) != len(definition.parameters):
            usage = f"{function.name}({', '.join(definition.parameters)})"
            raise self.arity(function.name, len(definition.parameters), len(arguments), call, usage)
        if any(running.definition is definition for running in self.calls):
            hint = "a program is read to its end before it runs; use a for over a list, or repeat"
            raise self.mistake(f"{function.name!r} calls itself, which would never end", call, hint)
        if len(self.calls) == DEEPEST_CALL:
            raise self.mistake(f"functions call each other more than {DEEPEST_CALL} deep", call, "use fewer")
        outer = self.scope
        self.scope = Scope(function.scope, dict(zip(definition.parameters, arguments, strict=True)))
        self.calls.append(function)
        try:
            *body, last = definition.body or (None,)
            self.run(statement for statement in body if statement is not None)
            if not isinstance(last, trees.Returned):
                hint = "end it with: return x;"
                raise Mistake(f"the function {function.name!r} returns nothing", *definition.at.place, hint)
            values = [self.evaluate(value) for value in last.values]
        finally:
            self.calls.pop()
            self.scope = outer
        self.step(call.at)
        return values[0] if len(values) == 1 else tuple(values)
