"""Emitter of operations during elaboration, with source positions, resource limits and diagnostics."""

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
"""Limit of expressions evaluated during elaboration."""
NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:/[0-9]{1,18})?", re.ASCII)


class Making:
    """Emits operations at the current source position and counts elaboration steps.

    Args:
        source: The origin of the program text.
        alphabet: The letters of the input.
        letters: The values of the letters.
        exact: Whether each statement is exactly one definition with the statement's name.
    """

    def __init__(self, source: str, alphabet: Sequence[str], letters: Sequence[Value], exact: bool) -> None:
        self.source = source
        self.alphabet, self.meanings = tuple(alphabet), tuple(letters)
        self.recorder = Recorder(exact)
        self.here = At(1, 1)
        self.calls: list[Closure] = []
        """The call stack."""
        self.loading: At | None = None
        """The position of the load statement of the current file, if it was loaded."""
        self._steps = 0

    def add(self, node: Node) -> str:
        """Emit an operation at the current source position and return its reference."""
        if len(self.recorder.builder) > MOST_DEFINITIONS:
            raise Mistake(
                f"the program has more than {MOST_DEFINITIONS:,} operations up to here", *self.here.place, "use fewer"
            )
        return self.recorder.add(node, Place(self.source, self.here.line, self.here.column))

    def made(self, node: core.SequenceOperator) -> SequenceThing:
        """Emit a sequence operator."""
        return SequenceThing(self.add(node))

    def selector(self, node: core.Selector) -> SelectorThing:
        """Emit a selector."""
        return SelectorThing(self.add(node))

    def sequence(self, item: Thing, written: Expression) -> str:
        """Convert to a sequence operator; a value becomes a constant."""
        match item:
            case SequenceThing(reference=reference):
                return reference
            case LoopThing(node=node):
                return self.add(node)
            case _ if is_value(item):
                return self.add(core.Constant(item))
            case _:
                hint = "use aggregate" if isinstance(item, SelectorThing) else "use for example tokens"
                raise self.mistake(f"expected a sequence operator, not {described(item)}", written, hint)

    def letters(self, kind: str) -> SequenceThing:
        """The input converted to numbers, Booleans or symbols; undefined at letters that do not convert."""
        if kind == "str" and self.meanings == self.alphabet:
            return self.made(core.Tokens())
        rows = [((meant,), _read(letter, kind)) for letter, meant in zip(self.alphabet, self.meanings, strict=True)]
        known = tuple((values, result) for values, result in rows if result is not None)
        if not known:
            message = f"no letter of the alphabet converts to a value of tokens_{kind}"
            raise Mistake(message, *self.here.place, "use tokens, or declare the alphabet: # alphabet: 0 1 2")
        return self.made(core.Table((self.add(core.Tokens()),), known))

    def mistake(self, message: str, written: Expression, hint: str) -> Mistake:
        """A diagnostic at an expression or, inside library code, at the call of the library function."""
        at = self.here if self.in_library else written.at
        return Mistake(message, *at.place, hint or None)

    @property
    def in_library(self) -> bool:
        """Whether the current code comes from the library or a loaded file instead of the program text."""
        return any(call.known for call in self.calls)

    def step(self, at: At) -> None:
        """Move to a source position and count one elaboration step."""
        self._steps += 1
        if not self.in_library:
            self.here = self.loading or at
        if self._steps > MOST_STEPS:
            raise Mistake(
                f"elaboration takes more than {MOST_STEPS:,} steps up to here", *at.place, "use shorter lists"
            )


def _read(letter: str, kind: str) -> Value:
    """Convert a letter to a value of a kind; None if it does not convert."""
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
