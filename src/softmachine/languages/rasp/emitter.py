"""Emitter of operations during elaboration, with source positions, resource limits and diagnostics.

Loop-invariant operations are hoisted out of the loop body.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, count
from typing import Final, TypeAlias

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.environment import (
    Closure,
    CompileTimeValue,
    LoopValue,
    SelectorValue,
    SequenceValue,
    describe_value,
    is_value,
)
from softmachine.languages.rasp.ir import DefinitionBuilder, Repeat, Value, is_name, operands
from softmachine.languages.rasp.syntax_tree import Node, Position
from softmachine.languages.rasp.validation import MAX_DEFINITIONS
from softmachine.languages.rasp.values import normalise_number
from softmachine.languages.text.diagnostics import SyntaxDiagnostic
from softmachine.support.errors import SourceLocation

Operand: TypeAlias = tuple[CompileTimeValue, Node]
"""A compile-time value with the expression that denotes it, for messages."""
MAX_STEPS: Final = 200_000
"""Limit of expressions evaluated during elaboration."""
NUMBER_PATTERN: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:/[0-9]{1,18})?", re.ASCII)


class Emitter:
    """Emits operations at the current source position, inside and outside loops, and counts elaboration steps.

    Args:
        source: The origin of the program text.
        alphabet: The letters of the input.
        letters: The values of the letters.
        exact: Whether each statement is exactly one definition with the statement's name.
    """

    def __init__(self, source: str, alphabet: Sequence[str], letters: Sequence[Value], exact: bool) -> None:
        self.source = source
        self.alphabet, self.letter_values = tuple(alphabet), tuple(letters)
        self.builder = DefinitionBuilder(exact=exact)
        self.position: Position = (1, 1)
        self.call_stack: list[Closure] = []
        """The call stack."""
        self.load_position: Position | None = None
        """The position of the load statement of the current file, if it was loaded."""
        self.loop: DefinitionBuilder | None = None
        """The body of the open loop."""
        self._loop_variables: list[str] = []
        self._loop_names: set[str] = set()
        """The variables, references and names in the body of the open loop."""
        self._loop_numbers = count(1)
        self._steps = 0

    def emit(self, node: ir.Node) -> str:
        """Emit an operation at the current source position and return its reference.

        Inside a loop, operations independent of the loop variables precede the loop.
        """
        if len(self.builder) > MAX_DEFINITIONS:
            message = f"the program has more than {MAX_DEFINITIONS:,} operations up to here"
            raise SyntaxDiagnostic(message, *self.position, "use fewer")
        place = SourceLocation(self.source, *self.position)
        if self.loop is None or not (self.builder.exact or self._loop_names.intersection(operands(node))):
            return self.builder.add(node, place)
        reference = self.loop.add(node, place)
        self._loop_names.add(reference)
        return reference

    def set_name(self, reference: str, name: str) -> None:
        """Give an operation a user-visible name if possible; inside a loop, unless an outer definition has it."""
        if self.loop is None or reference not in self._loop_names:
            self.builder.set_name(reference, name)
        elif reference not in self._loop_variables and (
            self.builder.exact or (name not in self._loop_names and self.builder.reserve_name(name))
        ):
            self.loop.set_name(reference, name)
            self._loop_names.add(name)

    def open_loop(self, variables: Sequence[str]) -> list[str]:
        """Open a loop; returns the names of its variables in the body, with suffixes where names are taken."""
        self.loop = DefinitionBuilder(prefix=f"_{next(self._loop_numbers)}_", exact=self.builder.exact)
        self._loop_variables, self._loop_names = [], set()
        for name in variables:
            candidates = chain([name], (f"{name}_{number}" for number in count(1)))
            free = (own for own in candidates if is_name(own) and self.builder.reserve_name(own))
            own = next(own for own in free if own not in self._loop_names)
            self._loop_variables.append(own)
            self._loop_names.add(own)
        return self._loop_variables

    def close_loop(self, starts: Sequence[str], next_values: Sequence[str]) -> list[Repeat]:
        """Close the loop; returns one operation per variable."""
        loop, self.loop = self.loop, None
        assert loop is not None
        initial_values = tuple(zip(self._loop_variables, starts, strict=True))
        body, after = loop.definitions(), tuple(map(loop.name, next_values))
        return [Repeat(initial_values, body, after, variable) for variable in self._loop_variables]

    def emit_sequence(self, node: ir.SequenceOperator) -> SequenceValue:
        """Emit a sequence operator."""
        return SequenceValue(self.emit(node))

    def emit_selector(self, node: ir.Selector) -> SelectorValue:
        """Emit a selector."""
        return SelectorValue(self.emit(node))

    def to_sequence(self, item: CompileTimeValue, expression: Node) -> str:
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
        letters = zip(self.alphabet, self.letter_values, strict=True)
        rows = [((meant,), _convert_letter(letter, kind)) for letter, meant in letters]
        known = tuple((values, result) for values, result in rows if result is not None)
        if not known:
            message = f"no letter of the alphabet converts to a value of tokens_{kind}"
            hint = "use tokens, or declare the alphabet: # alphabet: 0 1 2"
            raise SyntaxDiagnostic(message, *self.position, hint)
        return self.emit_sequence(ir.Table((self.emit(ir.Tokens()),), known))

    def diagnostic(self, message: str, expression: Node, hint: str) -> SyntaxDiagnostic:
        """A diagnostic at an expression or, inside library code, at the call of the library function."""
        return SyntaxDiagnostic(message, *(self.position if self.is_in_library else expression.position), hint or None)

    @property
    def is_in_library(self) -> bool:
        """Whether the current code comes from the library or a loaded file instead of the program text."""
        return any(call.is_library for call in self.call_stack)

    def count_step(self, at: Position) -> None:
        """Move to a source position and count one elaboration step."""
        self._steps += 1
        if not self.is_in_library:
            self.position = self.load_position or at
        if self._steps > MAX_STEPS:
            message = f"elaboration takes more than {MAX_STEPS:,} steps up to here"
            raise SyntaxDiagnostic(message, *at, "use shorter lists")


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
