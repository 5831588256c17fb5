"""Emitter of operations during elaboration, with source positions, resource limits and diagnostics.

Loop-invariant operations are hoisted out of the loop body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count
from typing import Final

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.builder import DefinitionBuilder
from softmachine.languages.rasp.environment import (
    Closure,
    CompileTimeValue,
    LoopValue,
    SelectorValue,
    SequenceValue,
    describe_value,
    is_value,
)
from softmachine.languages.rasp.ir import ANONYMOUS, Definition, Node, Repeat, Value, is_name, operands
from softmachine.languages.rasp.syntax_tree import Expression, SourcePosition
from softmachine.languages.rasp.validation import MAX_DEFINITIONS
from softmachine.languages.rasp.values import normalise_number
from softmachine.languages.text.diagnostics import SyntaxDiagnostic
from softmachine.support.errors import SourceLocation


class LoopBuilder:
    """Builds definitions inside and outside loops. Operations independent of the loop variables precede the loop.

    Args:
        exact: Whether equal operations stay separate and every definition keeps its assigned name.
    """

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact
        self.builder: DefinitionBuilder = _UnsharedBuilder() if exact else DefinitionBuilder()
        self._loop: _OpenLoop | None = None
        self._loops = count(1)

    @property
    def is_in_loop(self) -> bool:
        """Whether a loop is open."""
        return self._loop is not None

    def add(self, node: Node, place: SourceLocation | None) -> str:
        """Add an operation and return its reference."""
        loop = self._loop
        if loop is not None and (self.exact or any(name in loop.names for name in operands(node))):
            return loop.add(node, place)
        return self.builder.add(node, place)

    def set_name(self, reference: str, name: str) -> str:
        """Give an operation a user-visible name if possible; returns its reference afterwards."""
        if self._loop is not None and reference in self._loop.names:
            return self._loop.set_name(reference, name, self.builder)
        if isinstance(self.builder, _UnsharedBuilder):
            return self.builder.rename(reference, name)
        if not ANONYMOUS.fullmatch(name):
            self.builder.set_name(reference, name)
        return reference

    def open_loop(self, variables: Sequence[str]) -> list[str]:
        """Open a loop; returns the names of its variables in the body."""
        self._loop = _OpenLoop(next(self._loops), self.exact)
        return [self._loop.declare_variable(name, self.builder) for name in variables]

    def close_loop(self, starts: Sequence[str], next_values: Sequence[str]) -> list[Repeat]:
        """Close the loop; returns one operation per variable."""
        loop = self._loop
        assert loop is not None
        self._loop = None
        body = tuple(loop.definitions())
        names = tuple(zip(loop.variables, starts, strict=True))
        after = tuple(loop.name(reference) for reference in next_values)
        return [Repeat(names, body, after, variable) for variable in loop.variables]


class _OpenLoop:
    """The open loop.

    Args:
        number: The number of the loop, for generated names.
        exact: Whether equal operations stay separate.
    """

    def __init__(self, number: int, exact: bool) -> None:
        self.variables: list[str] = []
        self.names: set[str] = set()
        self._inner: DefinitionBuilder = (
            _UnsharedBuilder(f"_{number}_") if exact else DefinitionBuilder(prefix=f"_{number}_")
        )

    def declare_variable(self, name: str, outer: DefinitionBuilder) -> str:
        """Declare a variable; returns its name, with a suffix if the name is taken."""
        own = next(
            own for own in _candidates(name) if is_name(own) and outer.reserve_name(own) and own not in self.names
        )
        self.variables.append(own)
        self.names.add(own)
        return own

    def add(self, node: Node, place: SourceLocation | None) -> str:
        """Add an operation to the loop body and return its reference."""
        reference = self._inner.add(node, place)
        self.names.add(reference)
        return reference

    def set_name(self, reference: str, name: str, outer: DefinitionBuilder) -> str:
        """Give an operation of the body a name, unless an outer definition has it."""
        if reference in self.variables:
            return reference
        if isinstance(self._inner, _UnsharedBuilder):
            new = self._inner.rename(reference, name)
            self.names.add(new)
            return new
        if not ANONYMOUS.fullmatch(name) and name not in self.names and outer.reserve_name(name):
            self._inner.set_name(reference, name)
            self.names.add(name)
        return reference

    def name(self, reference: str) -> str:
        """The final name of a reference."""
        return self._inner.name(reference)

    def definitions(self) -> tuple[Definition, ...]:
        """The definitions of the loop body."""
        return self._inner.definitions()


class _UnsharedBuilder(DefinitionBuilder):
    """A builder that shares nothing and keeps every operation under its assigned name."""

    def __init__(self, prefix: str = "_") -> None:
        super().__init__(prefix=prefix)
        self._all: list[Definition] = []
        self._temporary = count(1)

    def __len__(self) -> int:
        return len(self._all)

    def add(self, node: Node, place: SourceLocation | None = None) -> str:
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

    def reserve_name(self, name: str) -> bool:  # noqa: ARG002
        """Every name is available."""
        return True

    def definitions(self) -> tuple[Definition, ...]:
        """All definitions in order of creation."""
        return tuple(self._all)


def _candidates(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(1))


MAX_STEPS: Final = 200_000
"""Limit of expressions evaluated during elaboration."""
NUMBER_PATTERN: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:/[0-9]{1,18})?", re.ASCII)


class Emitter:
    """Emits operations at the current source position and counts elaboration steps.

    Args:
        source: The origin of the program text.
        alphabet: The letters of the input.
        letters: The values of the letters.
        exact: Whether each statement is exactly one definition with the statement's name.
    """

    def __init__(self, source: str, alphabet: Sequence[str], letters: Sequence[Value], exact: bool) -> None:
        self.source = source
        self.alphabet, self.letter_values = tuple(alphabet), tuple(letters)
        self.recorder = LoopBuilder(exact)
        self.position = SourcePosition(1, 1)
        self.call_stack: list[Closure] = []
        """The call stack."""
        self.load_position: SourcePosition | None = None
        """The position of the load statement of the current file, if it was loaded."""
        self._steps = 0

    def emit(self, node: Node) -> str:
        """Emit an operation at the current source position and return its reference."""
        if len(self.recorder.builder) > MAX_DEFINITIONS:
            raise SyntaxDiagnostic(
                f"the program has more than {MAX_DEFINITIONS:,} operations up to here",
                *self.position.line_and_column,
                "use fewer",
            )
        return self.recorder.add(node, SourceLocation(self.source, self.position.line, self.position.column))

    def emit_sequence(self, node: ir.SequenceOperator) -> SequenceValue:
        """Emit a sequence operator."""
        return SequenceValue(self.emit(node))

    def emit_selector(self, node: ir.Selector) -> SelectorValue:
        """Emit a selector."""
        return SelectorValue(self.emit(node))

    def to_sequence(self, item: CompileTimeValue, expression: Expression) -> str:
        """Convert to a sequence operator; a value becomes a constant."""
        match item:
            case SequenceValue(reference=reference):
                return reference
            case LoopValue(node=node):
                return self.emit(node)
            case _ if is_value(item):
                return self.emit(ir.Constant(item))
            case _:
                hint = "use aggregate" if isinstance(item, SelectorValue) else "use for example tokens"
                raise self.diagnostic(f"expected a sequence operator, not {describe_value(item)}", expression, hint)

    def emit_converted_tokens(self, kind: str) -> SequenceValue:
        """The input converted to numbers, Booleans or symbols; undefined at letters that do not convert."""
        if kind == "str" and self.letter_values == self.alphabet:
            return self.emit_sequence(ir.Tokens())
        rows = [
            ((meant,), _convert_letter(letter, kind))
            for letter, meant in zip(self.alphabet, self.letter_values, strict=True)
        ]
        known = tuple((values, result) for values, result in rows if result is not None)
        if not known:
            message = f"no letter of the alphabet converts to a value of tokens_{kind}"
            raise SyntaxDiagnostic(
                message, *self.position.line_and_column, "use tokens, or declare the alphabet: # alphabet: 0 1 2"
            )
        return self.emit_sequence(ir.Table((self.emit(ir.Tokens()),), known))

    def diagnostic(self, message: str, expression: Expression, hint: str) -> SyntaxDiagnostic:
        """A diagnostic at an expression or, inside library code, at the call of the library function."""
        at = self.position if self.is_in_library else expression.position
        return SyntaxDiagnostic(message, *at.line_and_column, hint or None)

    @property
    def is_in_library(self) -> bool:
        """Whether the current code comes from the library or a loaded file instead of the program text."""
        return any(call.is_library for call in self.call_stack)

    def count_step(self, at: SourcePosition) -> None:
        """Move to a source position and count one elaboration step."""
        self._steps += 1
        if not self.is_in_library:
            self.position = self.load_position or at
        if self._steps > MAX_STEPS:
            raise SyntaxDiagnostic(
                f"elaboration takes more than {MAX_STEPS:,} steps up to here", *at.line_and_column, "use shorter lists"
            )


def _convert_letter(letter: str, kind: str) -> Value:
    """Convert a letter to a value of a kind; None if it does not convert."""
    if kind == "str":
        return letter
    if kind == "bool":
        return {"T": True, "True": True, "F": False, "False": False, "1": True, "0": False}.get(letter)
    if not NUMBER_PATTERN.fullmatch(letter):
        return None
    try:
        number = normalise_number(Fraction(letter))
    except (ValueError, ZeroDivisionError):
        return None
    return number if kind == "float" or isinstance(number, int) else None
