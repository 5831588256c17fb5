"""Sequences of the causal dialect, which replace the integer numpy arrays of RASP-L."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Collection
from typing import Any, Final, NoReturn

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import Operator, Value
from softmachine.languages.rasp.python.expression import Expression, describe_object, usage_error
from softmachine.languages.rasp.python.function_lowering import CoreFunction
from softmachine.languages.rasp.python.sequences import Full, SOp, lower_elementwise
from softmachine.languages.rasp.python.typed_builder import NullableSequence, TypedBuilder
from softmachine.languages.rasp.types import FractionType
from softmachine.languages.rasp.values import is_number
from softmachine.support.errors import UsageError


class Sequence(SOp):
    """An integer, a Boolean or a symbol at every position.

    Args:
        make: Function that adds the operations of the sequence to a builder, given the lowered parts.
        parts: The operand expressions.
    """

    default_name = "sequence"
    __array_ufunc__ = None  # numpy defers the operation to the sequence

    def __init__(self, make: Callable[..., NullableSequence], *parts: Expression) -> None:
        super().__init__()
        self._make = make
        self._parts = parts

    @property
    def children(self) -> Collection[Expression]:
        """The operand expressions."""
        return self._parts

    def define(self, builder: TypedBuilder, *children: Any) -> NullableSequence:
        """Add the operations."""
        return self._make(builder, *children)

    def operate(self, operator: Operator, *operands: object) -> Sequence:
        """Build an elementwise operation with the semantics of numpy arrays."""
        return map_elementwise(ArrayOperation(operator), *operands)

    def __iter__(self) -> NoReturn:
        raise UsageError("a sequence is not iterable", hint="use tok_map or seq_map for elementwise functions")

    def __getitem__(self, index: object) -> NoReturn:
        raise UsageError("a sequence cannot be indexed", hint="use index_select(x, idx) to read other positions")

    def __len__(self) -> NoReturn:
        raise UsageError(
            "the length of a sequence is unknown at compile time", hint="indices(x) + 1 is the length of the prefix"
        )


class ArrayOperation(CoreFunction):
    """An operation with the semantics of numpy arrays: sums of Booleans are ``or``, products are ``and``."""

    def __call__(self, *operands: Any) -> Any:
        """Apply the operation as numpy does."""
        booleans = all(item is True or item is False for item in operands)
        if booleans and self.operator in (Operator.SUBTRACT, Operator.NEGATE):
            raise TypeError("Booleans cannot be subtracted; multiply by 1 first")
        found = _BOOLEAN_FUNCTIONS.get(self.operator) if booleans else _NUMBER_FUNCTIONS.get(self.operator)
        return found(*operands) if found else super().__call__(*operands)

    def agrees_with_python(self, domains: Collection[Collection[Value] | None]) -> bool:
        """Whether the core and numpy agree on these domains."""
        booleans = None not in domains and all(isinstance(value, bool) for domain in domains for value in domain or ())
        return super().agrees_with_python(domains) and not (booleans and self.operator in _NON_NUMERIC_OPERATORS)


_NON_NUMERIC_OPERATORS: Final = (Operator.ADD, Operator.MULTIPLY, Operator.SUBTRACT, Operator.NEGATE)
"""Operations that do not treat Booleans as numbers."""
_BOOLEAN_FUNCTIONS: Final[Mapping[Operator, Callable[..., Any]]] = {
    Operator.ADD: python.or_,
    Operator.MULTIPLY: python.and_,
    Operator.NOT: python.not_,
}
_NUMBER_FUNCTIONS: Final[Mapping[Operator, Callable[..., Any]]] = {
    Operator.AND: python.and_,
    Operator.OR: python.or_,
    Operator.NOT: lambda number: -number - 1,
}


def as_sequence(item: object) -> Sequence:
    """Convert to a sequence; a value becomes a constant sequence.

    Raises:
        UsageError: If it is a list or a selector.
    """
    match item:
        case Sequence():
            return item
        case SOp():
            return Sequence(lambda _builder, column: column, item)
        case list() | tuple():
            hint = "use causal.evaluate(function, xs), or build a program from the function"
        case Expression():
            hint = "use aggr, kqv or sel_width"
        case _:
            return as_sequence(Full(item))
    raise usage_error(f"expected a sequence, not {describe_object(item)}", None, hint)


def map_elementwise(function: Callable[..., Any], *operands: object) -> Sequence:
    """Apply a function elementwise."""
    return Sequence(
        lambda builder, *columns: lower_elementwise(builder, function, *columns), *map(as_sequence, operands)
    )


def integer_part(item: object) -> Sequence:
    """Integer parts, as in an integer array: True and False become 1 and 0. Symbols are unchanged."""
    return Sequence(_lower_integer_part, as_sequence(item))


def _lower_integer_part(builder: TypedBuilder, column: NullableSequence) -> NullableSequence:
    domain, kind = builder.finite_domain(column.reference), builder.type_of(column.reference)
    rounded = isinstance(kind, FractionType) or any(
        is_number(value) and type(value) is not int for value in domain or ()
    )
    if rounded and all(map(is_number, domain or ())):
        return NullableSequence(builder.apply(Operator.TRUNCATE, column.reference))
    return column


def truth_values(item: object) -> Sequence:
    """True where the value is not 0."""
    return Sequence(_lower_truth, as_sequence(item))


def _lower_truth(builder: TypedBuilder, column: NullableSequence) -> NullableSequence:
    domain = builder.finite_domain(column.reference)
    if domain is not None and all(isinstance(value, bool) for value in domain):
        return column
    return NullableSequence(builder.apply(Operator.UNEQUAL, column.reference, builder.constant(0)))


def choose(condition: object, then: object, otherwise: object) -> Sequence:
    """Elementwise choice between two values by a condition."""
    return Sequence(_lower_choice, truth_values(condition), integer_part(then), integer_part(otherwise))


def _lower_choice(
    builder: TypedBuilder, condition: NullableSequence, then: NullableSequence, otherwise: NullableSequence
) -> NullableSequence:
    return NullableSequence(builder.apply(Operator.CHOOSE, then.reference, condition.reference, otherwise.reference))


def positions() -> Sequence:
    """The position, counted from 0."""
    return Sequence(lambda builder: NullableSequence(builder.add(ir.Indices())))
