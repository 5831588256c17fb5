"""Typed builder of RASP definitions: infers the type of each operation as it is added, and handles None."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from softmachine.languages.rasp.builder import Builder
from softmachine.languages.rasp.inference import Inference
from softmachine.languages.rasp.ir import Apply, Constant, Definition, Node, Operator, Table, Value
from softmachine.languages.rasp.python.symbolic_terms import Argument, Literal, Term
from softmachine.languages.rasp.types import Finite, Type
from softmachine.languages.rasp.values import identity, is_number
from softmachine.languages.text.diagnostics import invalid
from softmachine.support.errors import Place


@dataclass(frozen=True)
class Column:
    """A nullable sequence operator, for dialects that have None.

    Args:
        reference: The value; arbitrary where it is None.
        present: The flag that is True where the value is not None; None if the value is never None, or if it has a
            finite domain, which then contains None itself.
    """

    reference: str
    present: str | None = None


class Draft:
    """Builds definitions with their types, which determine how functions of them are lowered.

    Args:
        letters: The values of the letters of the alphabet.
        causal: Whether selectors see only keys up to the query.
    """

    def __init__(self, letters: Sequence[Value], *, causal: bool) -> None:
        self.builder = Builder()
        self.letters = tuple(letters)
        self.causal = causal
        self.place: Place | None = None
        self._inference = Inference(self.letters, causal)

    def add(self, node: Node) -> str:
        """Add an operation and return its reference.

        Raises:
            InvalidError: If it has a type error.
        """
        reference = self.builder.add(node, self.place)
        if reference not in self._inference.nodes:
            self._inference.infer([Definition(reference, node, self.place)])
            if self._inference.problems:
                raise invalid("a RASP expression", self._inference.problems, None)
        return reference

    def fits(self, node: Node) -> bool:
        """Whether an operation type-checks."""
        trial = "?"
        self._inference.infer([Definition(trial, node)])
        fitting = not self._inference.problems
        self._inference.problems.clear()
        return fitting

    def type(self, reference: str) -> Type:
        """The type of a sequence operator."""
        found = self._inference.types[reference]
        assert found is not None
        return found

    def finite(self, reference: str) -> tuple[Value, ...] | None:
        """The domain of a sequence operator if it is finite, otherwise None."""
        kind = self.type(reference)
        return kind.values if isinstance(kind, Finite) else None

    def numeric(self, reference: str) -> bool:
        """Whether all values of a sequence operator are numbers."""
        return all(map(is_number, self.finite(reference) or ()))

    def always_selects(self, selector: str) -> bool:
        """Whether every query provably selects a key."""
        facts = self._inference.facts[selector]
        return facts is not None and not facts.empty

    def constant(self, value: Value) -> str:
        """Add a constant."""
        return self.add(Constant(value))

    def apply(self, operator: Operator, *operands: str) -> str:
        """Add an elementwise operation."""
        return self.add(Apply(operator, operands))

    def emit(self, term: Term, arguments: Sequence[str]) -> str:
        """Add the operations that compute a term over sequence operators."""
        if isinstance(term, Argument):
            return arguments[term.index]
        if isinstance(term, Literal):
            return self.constant(term.value)
        return self.apply(term.operator, *(self.emit(operand, arguments) for operand in term.operands))

    def among(self, operand: str, values: Sequence[Value]) -> str:
        """Add a membership test of a sequence operator with a finite domain."""
        members = set(map(identity, values))
        return self.add(Table((operand,), tuple(((x,), identity(x) in members) for x in self.finite(operand) or ())))

    def presence(self, column: Column) -> str | None:
        """The flag that is True where a column is not None; None if the column is never None."""
        domain = self.finite(column.reference) or ()
        if None in domain:
            return self.among(column.reference, [value for value in domain if value is not None])
        return column.present

    def column(self, value: str, present: Sequence[str]) -> Column:
        """A column that is None unless all flags hold; over a finite domain, None becomes one of the values."""
        flags = list(dict.fromkeys(present))
        if not flags:
            return Column(value)
        together = flags[0]
        for flag in flags[1:]:
            together = self.apply(Operator.AND, together, flag)
        if self.finite(value) is None:
            return Column(value, together)
        return Column(self.apply(Operator.CHOOSE, value, together, self.constant(None)))

    def filled(self, reference: str) -> str:
        """Replace None in a finite domain by another of its values."""
        domain = self.finite(reference) or ()
        if None not in domain:
            return reference
        others = [value for value in domain if value is not None]
        stand_in = others[0] if others else 0
        rows = tuple(((value,), stand_in if value is None else value) for value in domain)
        return self.add(Table((reference,), rows))

    def defined(self, column: Column) -> str:
        """The value of a column, with None turned into undefined."""
        if column.present is None:
            return column.reference
        certain = self.add(Table((column.present,), (((True,), True),)))
        return self.apply(Operator.CHOOSE, column.reference, certain, column.reference)
