"""Symbolic terms over the arguments of a Python function, in core operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from softmachine.languages.rasp.ir import COMPARISONS, Operator, Value
from softmachine.languages.rasp.values import PartialValue, apply

LOGICAL_OPERATORS: Final = (*COMPARISONS, Operator.AND, Operator.OR, Operator.NOT)
"""Operations with Boolean results."""
NEGATED_COMPARISON: Final[Mapping[Operator, Operator]] = {
    one: other
    for pair in (
        (Operator.EQUAL, Operator.UNEQUAL),
        (Operator.LESS, Operator.AT_LEAST),
        (Operator.GREATER, Operator.AT_MOST),
    )
    for one, other in (pair, pair[::-1])
}
PARTIAL_OPERATORS: Final = (Operator.DIVIDE, Operator.FLOOR_DIVIDE, Operator.MODULO, Operator.POWER)
"""Numeric operations that may be undefined."""


@dataclass(frozen=True)
class ArgumentTerm:
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
class LiteralTerm:
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
class OperationTerm:
    """An operation on terms."""

    operator: Operator
    operands: tuple[Term, ...]
    size: int = field(compare=False, repr=False)
    depth: int = field(compare=False, repr=False)


Term: TypeAlias = ArgumentTerm | LiteralTerm | OperationTerm
TRUE: Final = LiteralTerm(True, boolean=True)
FALSE: Final = LiteralTerm(False, boolean=True)


def make_literal(value: Value) -> LiteralTerm:
    """Build a literal."""
    return LiteralTerm(value, isinstance(value, bool))


def make_operation(operator: Operator, *operands: Term) -> OperationTerm:
    """Build an operation on terms."""
    size, depth = sum(operand.size for operand in operands), max(operand.depth for operand in operands)
    return OperationTerm(operator, operands, 1 + size, 1 + depth)


def is_boolean(term: Term) -> bool:
    """Whether a term is Boolean wherever it is defined."""
    match term:
        case OperationTerm(operator=Operator.CHOOSE, operands=(then, _, otherwise)):
            return is_boolean(then) and is_boolean(otherwise)
        case OperationTerm():
            return term.operator in LOGICAL_OPERATORS
        case _:
            return term.boolean


def is_total(term: Term) -> bool:
    """Whether a term is defined for all numeric arguments."""
    if not isinstance(term, OperationTerm):
        return True
    second = term.operands[-1]
    harmless = isinstance(second, LiteralTerm) and isinstance(second.value, int) and second.value > 0
    return (term.operator not in PARTIAL_OPERATORS or harmless) and all(map(is_total, term.operands))


def truth_term(term: Term) -> Term:
    """The truth value of a term; a number is true unless it is 0."""
    match term:
        case LiteralTerm():
            return make_literal(bool(term.value))
        case OperationTerm(operator=Operator.CHOOSE, operands=(then, test, otherwise)):
            return make_choice(truth_term(then), test, truth_term(otherwise))
        case _:
            return term if is_boolean(term) else make_operation(Operator.UNEQUAL, term, make_literal(0))


def negate(term: Term) -> Term:
    """The negation of a condition."""
    match term:
        case LiteralTerm():
            return FALSE if term.value else TRUE
        case OperationTerm(operator=Operator.NOT, operands=(inner,)):
            return inner
        case OperationTerm() if term.operator in NEGATED_COMPARISON:
            return make_operation(NEGATED_COMPARISON[term.operator], *term.operands)
        case _:
            return make_operation(Operator.NOT, term)


def make_choice(then: Term, test: Term, otherwise: Term) -> Term:
    """``then if test else otherwise``, simplified to a logical operation, a minimum or a maximum where possible.

    A choice needs only the taken branch to be defined, so branches that may be undefined are not simplified.
    """
    if then == otherwise and is_total(test):
        return then
    logical = all(is_boolean(term) and is_total(term) for term in (then, otherwise))
    joined = (logical and _join_choice(then, test, otherwise)) or _extremum(then, test, otherwise)
    return joined or make_operation(Operator.CHOOSE, then, test, otherwise)


def _join_choice(then: Term, test: Term, otherwise: Term) -> Term | None:
    """A Boolean choice as a conjunction or disjunction with the test."""
    if then == TRUE:
        return test if otherwise == FALSE else make_operation(Operator.OR, test, otherwise)
    if then == FALSE:
        return negate(test) if otherwise == TRUE else make_operation(Operator.AND, negate(test), otherwise)
    if otherwise == TRUE:
        return make_operation(Operator.OR, negate(test), then)
    return make_operation(Operator.AND, test, then) if otherwise == FALSE else None


_SMALLER: Final = (Operator.LESS, Operator.AT_MOST)
_LARGER: Final = (Operator.GREATER, Operator.AT_LEAST)


def _extremum(then: Term, test: Term, otherwise: Term) -> Term | None:
    """A choice between two compared terms as their minimum or maximum."""
    if not isinstance(test, OperationTerm) or test.operator not in (*_SMALLER, *_LARGER):
        return None
    if test.operands not in ((then, otherwise), (otherwise, then)):
        return None
    smaller = (test.operator in _SMALLER) == (test.operands == (then, otherwise))
    return make_operation(Operator.MINIMUM if smaller else Operator.MAXIMUM, then, otherwise)


def evaluate_term(term: Term, arguments: Sequence[Value]) -> PartialValue:
    """Evaluate a term."""
    match term:
        case ArgumentTerm():
            return arguments[term.index]
        case LiteralTerm():
            return term.value
        case OperationTerm():
            return apply(term.operator, [evaluate_term(operand, arguments) for operand in term.operands])


def find_arguments(term: Term) -> frozenset[int]:
    """The indices of the arguments that a term depends on."""
    match term:
        case ArgumentTerm():
            return frozenset({term.index})
        case LiteralTerm():
            return frozenset()
        case OperationTerm():
            return frozenset().union(*map(find_arguments, term.operands))


def substitute(term: Term, replacement: Callable[[Term], Term | None]) -> Term:
    """Replace subterms: ``replacement`` returns the replacement of a subterm, or None to descend into its operands."""
    new = replacement(term)
    if new is not None or not isinstance(term, OperationTerm):
        return new or term
    return make_operation(term.operator, *(substitute(operand, replacement) for operand in term.operands))
