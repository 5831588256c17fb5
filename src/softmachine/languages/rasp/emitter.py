"""Emitter of operations during elaboration, with source positions, resource limits and diagnostics.

Loop-aware builder of definitions: hoists loop-invariant operations out of the loop body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count
from typing import Final

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.builder import Builder
from softmachine.languages.rasp.environment import (
    Closure,
    LoopThing,
    SelectorThing,
    SequenceThing,
    Thing,
    described,
    is_value,
)
from softmachine.languages.rasp.ir import ANONYMOUS, Definition, Node, Repeat, Value, is_name, operands
from softmachine.languages.rasp.syntax_tree import At, Expression
from softmachine.languages.rasp.validation import MOST_DEFINITIONS
from softmachine.languages.rasp.values import plain
from softmachine.languages.text.diagnostics import Mistake
from softmachine.support.errors import Place


class Recorder:
    """Builds definitions inside and outside loops. Operations independent of the loop variables precede the loop.

    Args:
        exact: Whether equal operations stay separate and every definition keeps its assigned name.
    """

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact
        self.builder: Builder = _Apart() if exact else Builder()
        self._loop: _Loop | None = None
        self._loops = count(1)

    @property
    def inside(self) -> bool:
        """Whether a loop is open."""
        return self._loop is not None

    def add(self, node: Node, place: Place | None) -> str:
        """Add an operation and return its reference."""
        loop = self._loop
        if loop is not None and (self.exact or any(name in loop.names for name in operands(node))):
            return loop.add(node, place)
        return self.builder.add(node, place)

    def call(self, reference: str, name: str) -> str:
        """Give an operation a user-visible name if possible; returns its reference afterwards."""
        if self._loop is not None and reference in self._loop.names:
            return self._loop.call(reference, name, self.builder)
        if isinstance(self.builder, _Apart):
            return self.builder.rename(reference, name)
        if not ANONYMOUS.fullmatch(name):
            self.builder.call(reference, name)
        return reference

    def enter(self, variables: Sequence[str]) -> list[str]:
        """Open a loop; returns the names of its variables in the body."""
        self._loop = _Loop(next(self._loops), self.exact)
        return [self._loop.variable(name, self.builder) for name in variables]

    def leave(self, starts: Sequence[str], following: Sequence[str]) -> list[Repeat]:
        """Close the loop; returns one operation per variable."""
        loop = self._loop
        assert loop is not None
        self._loop = None
        body = tuple(loop.definitions())
        names = tuple(zip(loop.variables, starts, strict=True))
        after = tuple(loop.name(reference) for reference in following)
        return [Repeat(names, body, after, variable) for variable in loop.variables]


class _Loop:
    """The open loop.

    Args:
        number: The number of the loop, for generated names.
        exact: Whether equal operations stay separate.
    """

    def __init__(self, number: int, exact: bool) -> None:
        self.variables: list[str] = []
        self.names: set[str] = set()
        self._inner: Builder = _Apart(f"_{number}_") if exact else Builder(prefix=f"_{number}_")

    def variable(self, name: str, outer: Builder) -> str:
        """Declare a variable; returns its name, with a suffix if the name is taken."""
        own = next(own for own in _candidates(name) if is_name(own) and outer.reserve(own) and own not in self.names)
        self.variables.append(own)
        self.names.add(own)
        return own

    def add(self, node: Node, place: Place | None) -> str:
        """Add an operation to the loop body and return its reference."""
        reference = self._inner.add(node, place)
        self.names.add(reference)
        return reference

    def call(self, reference: str, name: str, outer: Builder) -> str:
        """Give an operation of the body a name, unless an outer definition has it."""
        if reference in self.variables:
            return reference
        if isinstance(self._inner, _Apart):
            new = self._inner.rename(reference, name)
            self.names.add(new)
            return new
        if not ANONYMOUS.fullmatch(name) and name not in self.names and outer.reserve(name):
            self._inner.call(reference, name)
            self.names.add(name)
        return reference

    def name(self, reference: str) -> str:
        """The final name of a reference."""
        return self._inner.name(reference)

    def definitions(self) -> tuple[Definition, ...]:
        """The definitions of the loop body."""
        return self._inner.definitions()


class _Apart(Builder):
    """A builder that shares nothing and keeps every operation under its assigned name."""

    def __init__(self, prefix: str = "_") -> None:
        super().__init__(prefix=prefix)
        self._all: list[Definition] = []
        self._temporary = count(1)

    def __len__(self) -> int:
        return len(self._all)

    def add(self, node: Node, place: Place | None = None) -> str:
        """Add an operation; its temporary reference cannot be written in a program text."""
        self._all.append(Definition(f"?{next(self._temporary)}", node, place))
        return self._all[-1].name

    def rename(self, reference: str, name: str) -> str:
        """Name the latest operation if it has no name yet."""
        if not self._all or self._all[-1].name != reference or not reference.startswith("?"):
            return reference
        latest = self._all.pop()
        self._all.append(Definition(name, latest.node, latest.place))
        return name

    def name(self, reference: str) -> str:
        """References are names already."""
        return reference

    def reserve(self, name: str) -> bool:  # noqa: ARG002
        """Every name is available."""
        return True

    def definitions(self) -> tuple[Definition, ...]:
        """All definitions in order of creation."""
        return tuple(self._all)


def _candidates(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(1))


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

    def made(self, node: ir.SequenceOperator) -> SequenceThing:
        """Emit a sequence operator."""
        return SequenceThing(self.add(node))

    def selector(self, node: ir.Selector) -> SelectorThing:
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
                return self.add(ir.Constant(item))
            case _:
                hint = "use aggregate" if isinstance(item, SelectorThing) else "use for example tokens"
                raise self.mistake(f"expected a sequence operator, not {described(item)}", written, hint)

    def letters(self, kind: str) -> SequenceThing:
        """The input converted to numbers, Booleans or symbols; undefined at letters that do not convert."""
        if kind == "str" and self.meanings == self.alphabet:
            return self.made(ir.Tokens())
        rows = [((meant,), _read(letter, kind)) for letter, meant in zip(self.alphabet, self.meanings, strict=True)]
        known = tuple((values, result) for values, result in rows if result is not None)
        if not known:
            message = f"no letter of the alphabet converts to a value of tokens_{kind}"
            raise Mistake(message, *self.here.place, "use tokens, or declare the alphabet: # alphabet: 0 1 2")
        return self.made(ir.Table((self.add(ir.Tokens()),), known))

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
