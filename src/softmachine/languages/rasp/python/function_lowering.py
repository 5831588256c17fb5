"""Lowering of elementwise Python functions: tables over finite domains, symbolic execution otherwise.

Core operations as Python functions on concrete and symbolic values.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from typing import Any, Final

from softmachine.languages.rasp.ir import COMPARISONS, UNDEFINED, Operator, Table, Value
from softmachine.languages.rasp.python.symbolic_execution import Untraceable, traced
from softmachine.languages.rasp.python.symbolic_terms import (
    Argument,
    Literal,
    Operation,
    Term,
    computed,
    literal,
    operation,
)
from softmachine.languages.rasp.python.typed_builder import Column, Draft
from softmachine.languages.rasp.python.values import python_value, value_of
from softmachine.languages.rasp.types import Finite, Ratio, Type
from softmachine.languages.rasp.validation import MOST_ROWS
from softmachine.languages.rasp.values import Number, Result, is_number, same, spelled
from softmachine.support.errors import ConstructionError, InvalidError, Place

_FUNCTIONS: Final[Mapping[Operator, Callable[..., Any]]] = {
    Operator.ADD: python.add,
    Operator.SUBTRACT: python.sub,
    Operator.MULTIPLY: python.mul,
    Operator.DIVIDE: python.truediv,
    Operator.FLOOR_DIVIDE: python.floordiv,
    Operator.MODULO: python.mod,
    Operator.POWER: python.pow,
    Operator.NEGATE: python.neg,
    Operator.ABSOLUTE: abs,
    Operator.EQUAL: python.eq,
    Operator.UNEQUAL: python.ne,
    Operator.LESS: python.lt,
    Operator.AT_MOST: python.le,
    Operator.GREATER: python.gt,
    Operator.AT_LEAST: python.ge,
    Operator.AND: lambda left, right: left and right,
    Operator.OR: lambda left, right: left or right,
    Operator.NOT: python.not_,
}


@dataclass(frozen=True)
class Elementary:
    """An operation of both Python and the core.

    Args:
        operator: The core operator.
    """

    operator: Operator

    @property
    def __name__(self) -> str:
        return self.operator.value

    def __call__(self, *operands: Any) -> Any:
        """Apply the operation as Python does."""
        return _FUNCTIONS[self.operator](*operands)

    def agrees(self, domains: Sequence[Sequence[Value] | None]) -> bool:
        """Whether the core and Python agree on these domains; None stands for unbounded numbers."""
        values = [value for domain in domains for value in domain or ()]
        if self.operator in (Operator.AND, Operator.OR, Operator.NOT):
            return None not in domains and all(isinstance(value, bool) for value in values)
        if self.operator in COMPARISONS and all(isinstance(value, str) for value in values) and None not in domains:
            return True
        if self.operator in (Operator.EQUAL, Operator.UNEQUAL):
            return None not in values
        return all(map(is_number, values))


MOST_SAMPLES: Final = 12
"""Sampled values per unbounded argument when a function is compared with its traced term."""
MOST_COMPARED: Final = 1 << 12
SAMPLED_LENGTH: Final = 8
CLOSE: Final = Fraction(1, 10**9)
"""Relative tolerance for the rounding of Python's floats."""


def mapped(builder: Draft, function: Callable[..., Any], columns: Sequence[Column]) -> Column:
    """Lower an elementwise function of one or two columns. It is not called on None, which stays None.

    Args:
        builder: The program under construction.
        function: A Python function without side effects.
        columns: Its arguments.

    Raises:
        InvalidError: If it raises an error or returns an invalid value.
        ConstructionError: If an argument is unbounded and the function cannot be traced.
    """
    domains = [builder.finite(column.reference) for column in columns]
    if None not in domains:
        return Column(_table(builder, function, columns, [domain or () for domain in domains]))
    present = [flag for column in columns if (flag := builder.presence(column))]
    references = [builder.filled(column.reference) for column in columns]
    cases = term_cases(builder, function, references)
    value = _by_cases(builder, [(test, builder.emit(_without_none(term), references)) for test, term in cases])
    if any(_may_be_none(term) for _, term in cases):
        flags = [(test, builder.emit(_presence(term), references)) for test, term in cases]
        present.append(_by_cases(builder, flags))
    return builder.column(value, present)


def term_cases(
    builder: Draft, function: Callable[..., Any], references: Sequence[str]
) -> list[tuple[str | None, Term]]:
    """The terms that a function of unbounded numbers computes, each with its condition.

    A condition is a sequence operator that tests the argument with a finite domain; the last term has no condition.

    Raises:
        InvalidError: If the function raises an error.
        ConstructionError: If it cannot be traced.
    """
    types, place = [builder.type(reference) for reference in references], builder.place
    domains = {index: kind.values for index, kind in enumerate(types) if isinstance(kind, Finite)}
    numeric = all(is_number(value) for domain in domains.values() for value in domain)
    try:
        if numeric:
            return [(None, trace(function, [_argument(k, kind) for k, kind in enumerate(types)], types, place))]
    except (ConstructionError, InvalidError):
        if not domains:
            raise
    ((index, domain),) = domains.items()
    found: dict[Term, list[Value]] = {}
    for value in domain:
        arguments = [value if index == k else _argument(k, kind) for k, kind in enumerate(types)]
        found.setdefault(trace(function, arguments, types, place), []).append(value)
    if not found:  # the domain is empty: the result is None or undefined where the argument is
        return [(None, Argument(index))]
    cases = [(builder.among(references[index], values), term) for term, values in found.items()]
    return [*cases[:-1], (None, cases[-1][1])]


def _by_cases(builder: Draft, cases: Sequence[tuple[str | None, str]]) -> str:
    result = cases[-1][1]
    for test, value in reversed(cases):
        if test is not None:
            result = builder.apply(Operator.CHOOSE, value, test, result)
    return result


def _table(
    builder: Draft, function: Callable[..., Any], columns: Sequence[Column], domains: Sequence[Sequence[Value]]
) -> str:
    size = 1
    for domain in domains:
        size *= len(domain)
    if size > MOST_ROWS:
        raise ConstructionError(
            f"{named(function, builder.place)} would be called on {size:,} combinations of values; at most "
            f"{MOST_ROWS:,} are allowed",
            place=builder.place,
            hint="use a smaller vocabulary, or split the function into several steps",
        )
    rows: list[tuple[tuple[Value, ...], Value]] = []
    for values in product(*domains):
        try:
            rows.append((values, None if None in values else called(function, values, builder.place)))
        except ZeroDivisionError:  # undefined, as every division by 0
            continue
    return _shortest(builder, [column.reference for column in columns], rows)


def _shortest(builder: Draft, references: Sequence[str], rows: Sequence[tuple[tuple[Value, ...], Value]]) -> str:
    """Simplify a table: drop constant operands; return the operand itself if the table is the identity."""
    kinds = [builder.type(reference) for reference in references]
    varying = [
        k for k, kind in enumerate(kinds) if kind.partial or not isinstance(kind, Finite) or len(kind.values) > 1
    ]
    if not varying and rows:
        return builder.constant(rows[0][1])
    kept = varying or range(len(references))
    shorter = [(tuple(values[k] for k in kept), result) for values, result in rows]
    total = isinstance(kinds[kept[0]], Finite) and len(shorter) == len(builder.finite(references[kept[0]]) or ())
    if len(kept) == 1 and total and all(same(before, after) for (before,), after in shorter):
        return references[kept[0]]
    return builder.add(Table(tuple(references[k] for k in kept), tuple(shorter)))


def called(
    function: Callable[..., Any],
    values: Sequence[Value],
    place: Place | None,
    read: Callable[[Any], Value] = value_of,
) -> Value:
    """Call a Python function on core values.

    Args:
        function: The function.
        values: The arguments.
        place: The place of the expression, for messages.
        read: Converts the result to a value, or raises a ValueError.

    Raises:
        ZeroDivisionError: If the function raises it.
        InvalidError: If the function raises another error or returns an invalid value.
    """
    try:
        result = function(*map(python_value, values))
    except ZeroDivisionError:
        raise
    except Exception as error:
        raise failed(function, f"called with {_shown(values)}, it raises {_said(error)}", place) from error
    try:
        return read(result)
    except ValueError as error:
        raise failed(function, f"called with {_shown(values)}, it returns an invalid value: {error}", place) from None


def _shown(values: Sequence[Value]) -> str:
    return ", ".join(repr(python_value(value)) for value in values)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def failed(function: Callable[..., Any], problem: str, place: Place | None) -> InvalidError:
    """The error for a function that fails."""
    where = place or place_of(function)
    return InvalidError(named(function, unless=where), [problem], place=where)


def place_of(function: Callable[..., Any]) -> Place | None:
    """The place of the definition of a function, if it is written in Python."""
    code = getattr(function, "__code__", None)
    return Place(code.co_filename, code.co_firstlineno) if code else None


def named(function: Callable[..., Any], unless: Place | None = None) -> str:
    """A function as messages name it: its name and its place, unless that is ``unless``."""
    if isinstance(function, Elementary):
        return f"operator {function.operator.value!r}"
    name = getattr(function, "__name__", None) or type(function).__name__
    what = "the lambda" if name == "<lambda>" else f"function {name!r}"
    where = place_of(function)
    return what if where is None or where == unless else f"{what} at {where}"


def _argument(index: int, kind: Type) -> Argument:
    boolean = isinstance(kind, Finite) and all(isinstance(value, bool) for value in kind.values)
    return Argument(index, boolean)


def trace(
    function: Callable[..., Any],
    arguments: Sequence[Argument | Value],
    types: Sequence[Type],
    place: Place | None = None,
) -> Term:
    """Trace a function to a term and test the term against the function on sampled arguments.

    Raises:
        ConstructionError: If the function cannot be traced, or if the term differs from it on a sample.
        InvalidError: If the function raises an error.
    """
    try:
        term = traced(function, arguments)
    except Untraceable as refusal:
        raise ConstructionError(
            f"{named(function, place)} {refusal.message}; it must work for numbers of any size",
            place=place,
            hint=refusal.hint,
        ) from None
    except Exception as error:
        raise failed(function, f"called with a number of any size, it raises {_said(error)}", place) from error
    for values in islice(product(*map(_samples, arguments, types)), MOST_COMPARED):
        _compare(function, term, values, place)
    return term


def _samples(argument: Argument | Value, kind: Type) -> Iterable[Value]:
    """Sample values of an argument; fractions are dyadic, so that floats represent them exactly."""
    if not isinstance(argument, Argument):
        return (argument,)
    if isinstance(kind, Finite):
        return kind.values
    low, high = kind.low.at(SAMPLED_LENGTH), kind.high.at(SAMPLED_LENGTH)
    if isinstance(kind, Ratio):
        quarters = (value_of(Fraction(k, 4)) for k in range(4 * max(low, -1), 4 * min(high, 1) + 1))
        return islice(quarters, MOST_SAMPLES)
    return sorted({*range(low, high + 1)[: MOST_SAMPLES // 2], *range(low, high + 1)[-MOST_SAMPLES // 2 :]})


def _compare(function: Callable[..., Any], term: Term, values: Sequence[Value], place: Place | None) -> None:
    try:
        expected: Result = called(function, values, place)
    except ZeroDivisionError:
        expected = UNDEFINED
    found = computed(term, values)
    if expected == found or (is_number(expected) and is_number(found) and _close(expected, found)):
        return
    raise ConstructionError(
        f"{named(function, place)} cannot be traced: called with {_shown(values)} it returns {expected!r}, "
        f"but its traced term evaluates to {spelled(found)}",
        place=place,
        hint="it must depend only on the values of its arguments, not on their type or identity or on other state",
    )


def _close(one: Number, other: Number) -> bool:
    exact = Fraction(other)
    return abs(Fraction(one) - exact) <= CLOSE * max(Fraction(1), abs(exact))


def _leaves(term: Term) -> Iterator[Term]:
    """The alternatives of a term: the leaves of its nested choices."""
    match term:
        case Operation(operator=Operator.CHOOSE, operands=(then, _, otherwise)):
            yield from _leaves(then)
            yield from _leaves(otherwise)
        case _:
            yield term


def _may_be_none(term: Term) -> bool:
    return any(isinstance(leaf, Literal) and leaf.value is None for leaf in _leaves(term))


def _with_leaves(term: Term, change: Callable[[Term], Term]) -> Term:
    match term:
        case Operation(operator=Operator.CHOOSE, operands=(then, test, otherwise)):
            return operation(Operator.CHOOSE, _with_leaves(then, change), test, _with_leaves(otherwise, change))
        case _:
            return change(term)


def _without_none(term: Term) -> Term:
    """Replace None in a term by another of its alternatives, which keeps the type."""
    others = [leaf for leaf in _leaves(term) if not (isinstance(leaf, Literal) and leaf.value is None)]
    stand_in = next((leaf for leaf in others if isinstance(leaf, Literal)), literal(0))
    return _with_leaves(term, lambda leaf: leaf if leaf in others else stand_in)


def _presence(term: Term) -> Term:
    return _with_leaves(term, lambda leaf: literal(not (isinstance(leaf, Literal) and leaf.value is None)))
