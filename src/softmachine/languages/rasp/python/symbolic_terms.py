"""Symbolic terms over the arguments of a Python function, in core operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from softmachine.languages.rasp.ir import COMPARISONS, Operator, Value
from softmachine.languages.rasp.values import Result, apply

LOGICAL: Final = (*COMPARISONS, Operator.AND, Operator.OR, Operator.NOT)
"""Operations with Boolean results."""
OPPOSITE: Final[Mapping[Operator, Operator]] = {
    one: other
    for pair in (
        (Operator.EQUAL, Operator.UNEQUAL),
        (Operator.LESS, Operator.AT_LEAST),
        (Operator.GREATER, Operator.AT_MOST),
    )
    for one, other in (pair, pair[::-1])
}
PARTIAL: Final = (Operator.DIVIDE, Operator.FLOOR_DIVIDE, Operator.MODULO, Operator.POWER)
"""Numeric operations that may be undefined."""


@dataclass(frozen=True)
class Argument:
    """An argument of the function.

    Args:
        index: The index of the argument, counted from 0.
        boolean: Whether the argument is Boolean.
    """

    index: int
    boolean: bool = False
    size: int = field(default=1, compare=False, repr=False)
    depth: int = field(default=1, compare=False, repr=False)


@dataclass(frozen=True)
class Literal:
    """A value that does not depend on the arguments.

    Args:
        value: The value.
        boolean: Whether the value is Boolean; distinguishes True from 1, which Python considers equal.
    """

    value: Value
    boolean: bool
    size: int = field(default=1, compare=False, repr=False)
    depth: int = field(default=1, compare=False, repr=False)


@dataclass(frozen=True)
class Operation:
    """An operation on terms."""

    operator: Operator
    operands: tuple[Term, ...]
    size: int = field(compare=False, repr=False)
    depth: int = field(compare=False, repr=False)


Term: TypeAlias = Argument | Literal | Operation
TRUE: Final = Literal(True, boolean=True)
FALSE: Final = Literal(False, boolean=True)


def literal(value: Value) -> Literal:
    """Build a literal."""
    return Literal(value, isinstance(value, bool))


def operation(operator: Operator, *operands: Term) -> Operation:
    """Build an operation on terms."""
    size, depth = sum(operand.size for operand in operands), max(operand.depth for operand in operands)
    return Operation(operator, operands, 1 + size, 1 + depth)


def is_boolean(term: Term) -> bool:
    """Whether a term is Boolean wherever it is defined."""
    match term:
        case Operation(operator=Operator.CHOOSE, operands=(then, _, otherwise)):
            return is_boolean(then) and is_boolean(otherwise)
        case Operation():
            return term.operator in LOGICAL
        case _:
            return term.boolean


def is_total(term: Term) -> bool:
    """Whether a term is defined for all numeric arguments."""
    if not isinstance(term, Operation):
        return True
    second = term.operands[-1]
    harmless = isinstance(second, Literal) and isinstance(second.value, int) and second.value > 0
    return (term.operator not in PARTIAL or harmless) and all(map(is_total, term.operands))


def condition(term: Term) -> Term:
    """The truth value of a term; a number is true unless it is 0."""
    match term:
        case Literal():
            return literal(bool(term.value))
        case Operation(operator=Operator.CHOOSE, operands=(then, test, otherwise)):
            return choice(condition(then), test, condition(otherwise))
        case _:
            return term if is_boolean(term) else operation(Operator.UNEQUAL, term, literal(0))


def negation(term: Term) -> Term:
    """The negation of a condition."""
    match term:
        case Literal():
            return FALSE if term.value else TRUE
        case Operation(operator=Operator.NOT, operands=(inner,)):
            return inner
        case Operation() if term.operator in OPPOSITE:
            return operation(OPPOSITE[term.operator], *term.operands)
        case _:
            return operation(Operator.NOT, term)


def choice(then: Term, test: Term, otherwise: Term) -> Term:
    """``then if test else otherwise``, simplified to a logical operation, a minimum or a maximum where possible.

    A choice needs only the taken branch to be defined, so branches that may be undefined are not simplified.
    """
    if then == otherwise and is_total(test):
        return then
    logical = all(is_boolean(term) and is_total(term) for term in (then, otherwise))
    joined = (logical and _joined(then, test, otherwise)) or _extreme(then, test, otherwise)
    return joined or operation(Operator.CHOOSE, then, test, otherwise)


def _joined(then: Term, test: Term, otherwise: Term) -> Term | None:
    """A Boolean choice as a conjunction or disjunction with the test."""
    if then == TRUE:
        return test if otherwise == FALSE else operation(Operator.OR, test, otherwise)
    if then == FALSE:
        return negation(test) if otherwise == TRUE else operation(Operator.AND, negation(test), otherwise)
    if otherwise == TRUE:
        return operation(Operator.OR, negation(test), then)
    return operation(Operator.AND, test, then) if otherwise == FALSE else None


_SMALLER: Final = (Operator.LESS, Operator.AT_MOST)
_LARGER: Final = (Operator.GREATER, Operator.AT_LEAST)


def _extreme(then: Term, test: Term, otherwise: Term) -> Term | None:
    """A choice between two compared terms as their minimum or maximum."""
    if not isinstance(test, Operation) or test.operator not in (*_SMALLER, *_LARGER):
        return None
    if test.operands not in ((then, otherwise), (otherwise, then)):
        return None
    smaller = (test.operator in _SMALLER) == (test.operands == (then, otherwise))
    return operation(Operator.MINIMUM if smaller else Operator.MAXIMUM, then, otherwise)


def computed(term: Term, arguments: Sequence[Value]) -> Result:
    """Evaluate a term."""
    match term:
        case Argument():
            return arguments[term.index]
        case Literal():
            return term.value
        case Operation():
            return apply(term.operator, [computed(operand, arguments) for operand in term.operands])


def arguments_of(term: Term) -> frozenset[int]:
    """The indices of the arguments that a term depends on."""
    match term:
        case Argument():
            return frozenset({term.index})
        case Literal():
            return frozenset()
        case Operation():
            return frozenset().union(*map(arguments_of, term.operands))


def rebuilt(term: Term, change: Callable[[Term], Term | None]) -> Term:
    """Replace subterms: ``change`` returns the replacement of a subterm, or None to descend into its operands."""
    new = change(term)
    if new is not None or not isinstance(term, Operation):
        return new or term
    return operation(term.operator, *(rebuilt(operand, change) for operand in term.operands))
