"""What a text makes while it is read: operations, at the place that is being read; and mistakes there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from softmachine.languages.rasp import core
from softmachine.languages.rasp.core import Node, Value
from softmachine.languages.rasp.recording import Recorder
from softmachine.languages.rasp.things import (
    Closure,
    LoopThing,
    SelectorThing,
    SequenceThing,
    Thing,
    described,
    is_value,
)
from softmachine.languages.rasp.trees import At, Expression
from softmachine.languages.rasp.validation import MOST_DEFINITIONS
from softmachine.languages.rasp.values import plain
from softmachine.languages.text.mistakes import Mistake
from softmachine.support.errors import Place

MOST_STEPS: Final = 200_000
"""So many expressions are evaluated while a text is read."""
NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:/[0-9]{1,18})?", re.ASCII)


class Making:
    """Records operations, knows where, and counts steps.

    Args:
        source: Where the text comes from.
        alphabet: The letters of the input.
        letters: What they mean.
        exact: Whether each statement is one definition, and has its name.
    """

    def __init__(self, source: str, alphabet: Sequence[str], letters: Sequence[Value], exact: bool) -> None:
        self.source = source
        self.alphabet, self.meanings = tuple(alphabet), tuple(letters)
        self.recorder = Recorder(exact)
        self.here = At(1, 1)
        self.calls: list[Closure] = []
        """The functions that are being called."""
        self.loading: At | None = None
        """Where the file that is being read was loaded."""
        self._steps = 0

    def add(self, node: Node) -> str:
        """Record an operation at the place that is being elaborated."""
        if len(self.recorder.builder) > MOST_DEFINITIONS:
            raise Mistake(
                f"there are more than {MOST_DEFINITIONS:,} operations up to here", *self.here.place, "use fewer"
            )
        return self.recorder.add(node, Place(self.source, self.here.line, self.here.column))

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
            raise Mistake(message, *self.here.place, "use tokens, or write the alphabet: # alphabet: 0 1 2")
        return self.made(core.Table((self.add(core.Tokens()),), known))

    def mistake(self, message: str, written: Expression, hint: str) -> Mistake:
        """A mistake where something is written, or where a function of the library is called."""
        at = self.here if self.in_library else written.at
        return Mistake(message, *at.place, hint or None)

    @property
    def in_library(self) -> bool:
        """Whether what is read is not in the text itself, but in the library or in a file that was loaded."""
        return any(call.known for call in self.calls)

    def step(self, at: At) -> None:
        """Go on to another place."""
        self._steps += 1
        if not self.in_library:
            self.here = self.loading or at
        if self._steps > MOST_STEPS:
            raise Mistake(f"reading takes more than {MOST_STEPS:,} steps up to here", *at.place, "use shorter lists")


def _read(letter: str, kind: str) -> Value:
    """A letter as a value of a kind; None if it is none."""
    if kind == "str":
        return letter
    if kind == "bool":
        return {"T": True, "True": True, "F": False, "False": False, "1": True, "0": False}.get(letter)
    if not NUMBER.fullmatch(letter):
        return None
    try:
        number = plain(Fraction(letter))
    except (ValueError, ZeroDivisionError):
        return None
    return number if kind == "float" or isinstance(number, int) else None
