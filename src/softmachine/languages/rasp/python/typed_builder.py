"""Typed builder of RASP definitions: infers the type of each operation as it is added, and handles None."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from softmachine.languages.rasp.inference import RaspTypeInference
from softmachine.languages.rasp.ir import Apply, Constant, Definition, DefinitionBuilder, Node, Operator, Table, Value
from softmachine.languages.rasp.python.symbolic_terms import ArgumentTerm, LiteralTerm, Term
from softmachine.languages.rasp.types import FiniteType, Type
from softmachine.languages.rasp.values import identity_key, is_number
from softmachine.languages.text.diagnostics import validation_error
from softmachine.support.errors import SourceLocation


@dataclass(frozen=True)
class NullableSequence:
    """A nullable sequence operator, for dialects that have None.

    Args:
        reference: The value; arbitrary where it is None.
        presence: The flag that is True where the value is not None; None if the value is never None, or if it has a
            finite domain, which then contains None itself.
    """

    reference: str
    presence: str | None = None


class TypedBuilder:
    """Builds definitions with their types, which determine how functions of them are lowered.

    Args:
        letters: The values of the letters of the alphabet.
        causal: Whether selectors see only keys up to the query.
    """

    def __init__(self, letters: Sequence[Value], *, causal: bool) -> None:
        self.builder = DefinitionBuilder()
        self.letters = tuple(letters)
        self.causal = causal
        self.place: SourceLocation | None = None
        self._inference = RaspTypeInference(self.letters, causal)

    def add(self, node: Node) -> str:
        """Add an operation and return its reference.

        Raises:
            InvalidError: If it has a type error.
        """
        reference = self.builder.add(node, self.place)
        if reference not in self._inference.nodes:
            self._inference.infer([Definition(reference, node, self.place)])
            if self._inference.problems:
                raise validation_error("a RASP expression", self._inference.problems, None)
        return reference

    def is_well_typed(self, node: Node) -> bool:
        """Whether an operation type-checks."""
        trial = "?"
        self._inference.infer([Definition(trial, node)])
        fitting = not self._inference.problems
        self._inference.problems.clear()
        return fitting

    def type_of(self, reference: str) -> Type:
        """The type of a sequence operator."""
        found = self._inference.types[reference]
        assert found is not None
        return found

    def finite_domain(self, reference: str) -> tuple[Value, ...] | None:
        """The domain of a sequence operator if it is finite, otherwise None."""
        kind = self.type_of(reference)
        return kind.values if isinstance(kind, FiniteType) else None

    def is_numeric(self, reference: str) -> bool:
        """Whether all values of a sequence operator are numbers."""
        return all(map(is_number, self.finite_domain(reference) or ()))

    def always_selects(self, selector: str) -> bool:
        """Whether every query provably selects a key."""
        facts = self._inference.facts[selector]
        return facts is not None and not facts.may_select_none

    def constant(self, value: Value) -> str:
        """Add a constant."""
        return self.add(Constant(value))

    def apply(self, operator: Operator, *operands: str) -> str:
        """Add an elementwise operation."""
        return self.add(Apply(operator, operands))

    def emit(self, term: Term, arguments: Sequence[str]) -> str:
        """Add the operations that compute a term over sequence operators."""
        if isinstance(term, ArgumentTerm):
            return arguments[term.index]
        if isinstance(term, LiteralTerm):
            return self.constant(term.value)
        return self.apply(term.operator, *(self.emit(operand, arguments) for operand in term.operands))

    def membership(self, operand: str, values: Sequence[Value]) -> str:
        """Add a membership test of a sequence operator with a finite domain."""
        members = set(map(identity_key, values))
        return self.add(
            Table((operand,), tuple(((x,), identity_key(x) in members) for x in self.finite_domain(operand) or ()))
        )

    def presence(self, column: NullableSequence) -> str | None:
        """The flag that is True where a column is not None; None if the column is never None."""
        domain = self.finite_domain(column.reference) or ()
        if None in domain:
            return self.membership(column.reference, [value for value in domain if value is not None])
        return column.presence

    def column(self, value: str, presence_flags: Sequence[str]) -> NullableSequence:
        """A column that is None unless all flags hold; over a finite domain, None becomes one of the values."""
        flags = list(dict.fromkeys(presence_flags))
        if not flags:
            return NullableSequence(value)
        together = flags[0]
        for flag in flags[1:]:
            together = self.apply(Operator.AND, together, flag)
        if self.finite_domain(value) is None:
            return NullableSequence(value, together)
        return NullableSequence(self.apply(Operator.CHOOSE, value, together, self.constant(None)))

    def fill_none(self, reference: str) -> str:
        """Replace None in a finite domain by another of its values."""
        domain = self.finite_domain(reference) or ()
        if None not in domain:
            return reference
        others = [value for value in domain if value is not None]
        stand_in = others[0] if others else 0
        rows = tuple(((value,), stand_in if value is None else value) for value in domain)
        return self.add(Table((reference,), rows))

    def none_as_undefined(self, column: NullableSequence) -> str:
        """The value of a column, with None turned into undefined."""
        if column.presence is None:
            return column.reference
        certain = self.add(Table((column.presence,), (((True,), True),)))
        return self.apply(Operator.CHOOSE, column.reference, certain, column.reference)
