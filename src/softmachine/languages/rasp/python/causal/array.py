"""Sequences of the causal dialect, which replace the integer numpy arrays of RASP-L."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Collection
from typing import Any, Final, NoReturn

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import Operator, Value
from softmachine.languages.rasp.python.expression import Expression, described, usage
from softmachine.languages.rasp.python.function_lowering import Elementary
from softmachine.languages.rasp.python.sequences import Full, SOp, elementwise
from softmachine.languages.rasp.python.typed_builder import Column, Draft
from softmachine.languages.rasp.types import Ratio
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

    def __init__(self, make: Callable[..., Column], *parts: Expression) -> None:
        super().__init__()
        self._make = make
        self._parts = parts

    @property
    def children(self) -> Collection[Expression]:
        """The operand expressions."""
        return self._parts

    def define(self, builder: Draft, *children: Any) -> Column:
        """Add the operations."""
        return self._make(builder, *children)

    def operate(self, operator: Operator, *operands: object) -> Sequence:
        """Build an elementwise operation with the semantics of numpy arrays."""
        return pointwise(ArrayOperation(operator), *operands)

    def __iter__(self) -> NoReturn:
        raise UsageError("a sequence is not iterable", hint="use tok_map or seq_map for elementwise functions")

    def __getitem__(self, index: object) -> NoReturn:
        raise UsageError("a sequence cannot be indexed", hint="use index_select(x, idx) to read other positions")

    def __len__(self) -> NoReturn:
        raise UsageError(
            "the length of a sequence is unknown at compile time", hint="indices(x) + 1 is the length of the prefix"
        )


class ArrayOperation(Elementary):
    """An operation with the semantics of numpy arrays: sums of Booleans are ``or``, products are ``and``."""

    def __call__(self, *operands: Any) -> Any:
        """Apply the operation as numpy does."""
        booleans = all(item is True or item is False for item in operands)
        if booleans and self.operator in (Operator.SUBTRACT, Operator.NEGATE):
            raise TypeError("Booleans cannot be subtracted; multiply by 1 first")
        found = _OF_BOOLEANS.get(self.operator) if booleans else _OF_NUMBERS.get(self.operator)
        return found(*operands) if found else super().__call__(*operands)

    def agrees(self, domains: Collection[Collection[Value] | None]) -> bool:
        """Whether the core and numpy agree on these domains."""
        booleans = None not in domains and all(isinstance(value, bool) for domain in domains for value in domain or ())
        return super().agrees(domains) and not (booleans and self.operator in _OTHERWISE)


_OTHERWISE: Final = (Operator.ADD, Operator.MULTIPLY, Operator.SUBTRACT, Operator.NEGATE)
"""Operations that do not treat Booleans as numbers."""
_OF_BOOLEANS: Final[Mapping[Operator, Callable[..., Any]]] = {
    Operator.ADD: python.or_,
    Operator.MULTIPLY: python.and_,
    Operator.NOT: python.not_,
}
_OF_NUMBERS: Final[Mapping[Operator, Callable[..., Any]]] = {
    Operator.AND: python.and_,
    Operator.OR: python.or_,
    Operator.NOT: lambda number: -number - 1,
}


def sequence(item: object) -> Sequence:
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
            return sequence(Full(item))
    raise usage(f"expected a sequence, not {described(item)}", None, hint)


def pointwise(function: Callable[..., Any], *operands: object) -> Sequence:
    """Apply a function elementwise."""
    return Sequence(lambda builder, *columns: elementwise(builder, function, *columns), *map(sequence, operands))


def integers(item: object) -> Sequence:
    """Integer parts, as in an integer array: True and False become 1 and 0. Symbols are unchanged."""
    return Sequence(_integral, sequence(item))


def _integral(builder: Draft, column: Column) -> Column:
    domain, kind = builder.finite(column.reference), builder.type(column.reference)
    rounded = isinstance(kind, Ratio) or any(is_number(value) and type(value) is not int for value in domain or ())
    if rounded and all(map(is_number, domain or ())):
        return Column(builder.apply(Operator.TRUNCATE, column.reference))
    return column


def truth(item: object) -> Sequence:
    """True where the value is not 0."""
    return Sequence(_true, sequence(item))


def _true(builder: Draft, column: Column) -> Column:
    domain = builder.finite(column.reference)
    if domain is not None and all(isinstance(value, bool) for value in domain):
        return column
    return Column(builder.apply(Operator.UNEQUAL, column.reference, builder.constant(0)))


def chosen(condition: object, then: object, otherwise: object) -> Sequence:
    """Elementwise choice between two values by a condition."""
    return Sequence(_choose, truth(condition), integers(then), integers(otherwise))


def _choose(builder: Draft, condition: Column, then: Column, otherwise: Column) -> Column:
    return Column(builder.apply(Operator.CHOOSE, then.reference, condition.reference, otherwise.reference))


def positions() -> Sequence:
    """The position, counted from 0."""
    return Sequence(lambda builder: Column(builder.add(ir.Indices())))
