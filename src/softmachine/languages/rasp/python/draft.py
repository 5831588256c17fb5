"""A program in the making: definitions with their types, and columns, which may be None somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from softmachine.languages.rasp.building import Builder
from softmachine.languages.rasp.core import Apply, Constant, Definition, Node, Operator, Table, Value
from softmachine.languages.rasp.inference import Inference
from softmachine.languages.rasp.python.terms import Argument, Literal, Term
from softmachine.languages.rasp.value_types import Finite, Type
from softmachine.languages.rasp.values import identity, is_number
from softmachine.languages.text.problems import invalid
from softmachine.support.errors import Place


@dataclass(frozen=True)
class Column:
    """A sequence operator of a dialect that has None.

    Args:
        reference: Its value; where it is None, any value.
        present: True where it is not None, False where it is; None if it is never None, or if None is one of finitely
            many values, as which it is found in the value itself.
    """

    reference: str
    present: str | None = None


class Draft:
    """Definitions in the making, each with its type, which decides how functions of it are made.

    Args:
        letters: What the letters of the alphabet mean.
        causal: Whether selectors see only keys up to the query.
    """

    def __init__(self, letters: Sequence[Value], *, causal: bool) -> None:
        self.builder = Builder()
        self.letters = tuple(letters)
        self.causal = causal
        self.place: Place | None = None
        self._inference = Inference(self.letters, causal)

    def add(self, node: Node) -> str:
        """A reference to an operation.

        Raises:
            InvalidError: If it does not fit the types of its operands.
        """
        reference = self.builder.add(node, self.place)
        if reference not in self._inference.nodes:
            self._inference.infer([Definition(reference, node, self.place)])
            if self._inference.problems:
                raise invalid("a RASP expression", self._inference.problems, None)
        return reference

    def fits(self, node: Node) -> bool:
        """Whether an operation fits the types of its operands."""
        trial = "?"
        self._inference.infer([Definition(trial, node)])
        fitting = not self._inference.problems
        self._inference.problems.clear()
        return fitting

    def type(self, reference: str) -> Type:
        """What is known of a sequence operator."""
        found = self._inference.types[reference]
        assert found is not None
        return found

    def finite(self, reference: str) -> tuple[Value, ...] | None:
        """All that a sequence operator may be, if these are finitely many values."""
        kind = self.type(reference)
        return kind.values if isinstance(kind, Finite) else None

    def numeric(self, reference: str) -> bool:
        """Whether a sequence operator is a number wherever it is defined."""
        return all(map(is_number, self.finite(reference) or ()))

    def always_selects(self, selector: str) -> bool:
        """Whether every query is known to select something."""
        facts = self._inference.facts[selector]
        return facts is not None and not facts.empty

    def constant(self, value: Value) -> str:
        """The same value everywhere."""
        return self.add(Constant(value))

    def apply(self, operator: Operator, *operands: str) -> str:
        """An elementwise operation."""
        return self.add(Apply(operator, operands))

    def emit(self, term: Term, arguments: Sequence[str]) -> str:
        """The definitions that compute a term of some sequence operators."""
        if isinstance(term, Argument):
            return arguments[term.index]
        if isinstance(term, Literal):
            return self.constant(term.value)
        return self.apply(term.operator, *(self.emit(operand, arguments) for operand in term.operands))

    def among(self, operand: str, values: Sequence[Value]) -> str:
        """Whether a sequence operator of finitely many values is one of some."""
        wanted = set(map(identity, values))
        return self.add(Table((operand,), tuple(((x,), identity(x) in wanted) for x in self.finite(operand) or ())))

    def presence(self, column: Column) -> str | None:
        """Where a column is not None; None if it never is."""
        domain = self.finite(column.reference) or ()
        if None in domain:
            return self.among(column.reference, [value for value in domain if value is not None])
        return column.present

    def column(self, value: str, present: Sequence[str]) -> Column:
        """A value that is None unless all of these hold; as one of finitely many values, if it is that."""
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
        """A sequence operator with another of its values where it is None."""
        domain = self.finite(reference) or ()
        if None not in domain:
            return reference
        others = [value for value in domain if value is not None]
        stand_in = others[0] if others else 0
        rows = tuple(((value,), stand_in if value is None else value) for value in domain)
        return self.add(Table((reference,), rows))

    def defined(self, column: Column) -> str:
        """The value of a column, undefined where it is None."""
        if column.present is None:
            return column.reference
        certain = self.add(Table((column.present,), (((True,), True),)))
        return self.apply(Operator.CHOOSE, column.reference, certain, column.reference)
