"""Lowering of elementwise Python functions: tables over finite domains, symbolic execution otherwise.

Core operations are available as Python functions on concrete and symbolic values.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from typing import Any, Final

from softmachine.languages.rasp.ir import COMPARISONS, UNDEFINED, Operator, Table, Value
from softmachine.languages.rasp.python.symbolic_execution import UntraceableError, execute_symbolically
from softmachine.languages.rasp.python.symbolic_terms import (
    ArgumentTerm,
    LiteralTerm,
    OperationTerm,
    Term,
    evaluate_term,
    make_literal,
    make_operation,
)
from softmachine.languages.rasp.python.typed_builder import NullableSequence, TypedBuilder
from softmachine.languages.rasp.types import FiniteType, FractionType, Type
from softmachine.languages.rasp.validation import MAX_ROWS
from softmachine.languages.rasp.values import (
    PartialValue,
    Rational,
    format_value,
    is_identical,
    is_number,
    to_python,
    to_value,
)
from softmachine.support.errors import ConstructionError, InvalidError, SourceLocation

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
class CoreFunction:
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

    def agrees_with_python(self, domains: Sequence[Sequence[Value] | None]) -> bool:
        """Whether the core and Python agree on these domains; None stands for unbounded numbers."""
        values = [value for domain in domains for value in domain or ()]
        if self.operator in (Operator.AND, Operator.OR, Operator.NOT):
            return None not in domains and all(isinstance(value, bool) for value in values)
        if self.operator in COMPARISONS and all(isinstance(value, str) for value in values) and None not in domains:
            return True
        if self.operator in (Operator.EQUAL, Operator.UNEQUAL):
            return None not in values
        return all(map(is_number, values))


MAX_SAMPLES: Final = 12
"""Sampled values per unbounded argument when a function is compared with its traced term."""
MAX_COMPARISONS: Final = 1 << 12
SAMPLE_LENGTH: Final = 8
RELATIVE_TOLERANCE: Final = Fraction(1, 10**9)
"""Relative tolerance for the rounding of Python's floats."""


def lower_function(
    builder: TypedBuilder, function: Callable[..., Any], columns: Sequence[NullableSequence]
) -> NullableSequence:
    """Lower an elementwise function of one or two columns. It is not called on None, which stays None.

    Args:
        builder: The program under construction.
        function: A Python function without side effects.
        columns: Its arguments.

    Raises:
        InvalidError: If it raises an error or returns an invalid value.
        ConstructionError: If an argument is unbounded and the function cannot be traced.
    """
    domains = [builder.finite_domain(column.reference) for column in columns]
    if None not in domains:
        return NullableSequence(_lower_table(builder, function, columns, [domain or () for domain in domains]))
    present = [flag for column in columns if (flag := builder.presence(column))]
    references = [builder.fill_none(column.reference) for column in columns]
    cases = trace_cases(builder, function, references)
    value = _lower_cases(builder, [(test, builder.emit(_without_none(term), references)) for test, term in cases])
    if any(_may_be_none(term) for _, term in cases):
        flags = [(test, builder.emit(_presence(term), references)) for test, term in cases]
        present.append(_lower_cases(builder, flags))
    return builder.column(value, present)


def trace_cases(
    builder: TypedBuilder, function: Callable[..., Any], references: Sequence[str]
) -> list[tuple[str | None, Term]]:
    """The terms that a function of unbounded numbers computes, each with its condition.

    A condition is a sequence operator that tests the argument with a finite domain; the last term has no condition.

    Raises:
        InvalidError: If the function raises an error.
        ConstructionError: If it cannot be traced.
    """
    types, place = [builder.type_of(reference) for reference in references], builder.place
    domains = {index: kind.values for index, kind in enumerate(types) if isinstance(kind, FiniteType)}
    numeric = all(is_number(value) for domain in domains.values() for value in domain)
    try:
        if numeric:
            return [
                (None, trace_function(function, [_argument(k, kind) for k, kind in enumerate(types)], types, place))
            ]
    except (ConstructionError, InvalidError):
        if not domains:
            raise
    ((index, domain),) = domains.items()
    found: dict[Term, list[Value]] = {}
    for value in domain:
        arguments = [value if index == k else _argument(k, kind) for k, kind in enumerate(types)]
        found.setdefault(trace_function(function, arguments, types, place), []).append(value)
    if not found:  # the domain is empty: the result is None or undefined where the argument is
        return [(None, ArgumentTerm(index))]
    cases = [(builder.membership(references[index], values), term) for term, values in found.items()]
    return [*cases[:-1], (None, cases[-1][1])]


def _lower_cases(builder: TypedBuilder, cases: Sequence[tuple[str | None, str]]) -> str:
    result = cases[-1][1]
    for test, value in reversed(cases):
        if test is not None:
            result = builder.apply(Operator.CHOOSE, value, test, result)
    return result


def _lower_table(
    builder: TypedBuilder,
    function: Callable[..., Any],
    columns: Sequence[NullableSequence],
    domains: Sequence[Sequence[Value]],
) -> str:
    size = 1
    for domain in domains:
        size *= len(domain)
    if size > MAX_ROWS:
        raise ConstructionError(
            f"{describe_function(function, builder.place)} would be called on {size:,} combinations of values; at most "
            f"{MAX_ROWS:,} are allowed",
            place=builder.place,
            hint="use a smaller vocabulary, or split the function into several steps",
        )
    rows: list[tuple[tuple[Value, ...], Value]] = []
    for values in product(*domains):
        try:
            rows.append((values, None if None in values else call_function(function, values, builder.place)))
        except ZeroDivisionError:  # undefined, as every division by 0
            continue
    return _simplify_table(builder, [column.reference for column in columns], rows)


def _simplify_table(
    builder: TypedBuilder, references: Sequence[str], rows: Sequence[tuple[tuple[Value, ...], Value]]
) -> str:
    """Simplify a table: drop constant operands; return the operand itself if the table is the identity."""
    kinds = [builder.type_of(reference) for reference in references]
    varying = [
        k for k, kind in enumerate(kinds) if kind.partial or not isinstance(kind, FiniteType) or len(kind.values) > 1
    ]
    if not varying and rows:
        return builder.constant(rows[0][1])
    kept = varying or range(len(references))
    shorter = [(tuple(values[k] for k in kept), result) for values, result in rows]
    total = isinstance(kinds[kept[0]], FiniteType) and len(shorter) == len(
        builder.finite_domain(references[kept[0]]) or ()
    )
    if len(kept) == 1 and total and all(is_identical(before, after) for (before,), after in shorter):
        return references[kept[0]]
    return builder.add(Table(tuple(references[k] for k in kept), tuple(shorter)))


def call_function(
    function: Callable[..., Any],
    values: Sequence[Value],
    place: SourceLocation | None,
    convert: Callable[[Any], Value] = to_value,
) -> Value:
    """Call a Python function on core values.

    Args:
        function: The function.
        values: The arguments.
        place: The place of the expression, for messages.
        convert: Converts the result to a value, or raises a ValueError.

    Raises:
        ZeroDivisionError: If the function raises it.
        InvalidError: If the function raises another error or returns an invalid value.
    """
    try:
        result = function(*map(to_python, values))
    except ZeroDivisionError:
        raise
    except Exception as error:
        raise function_error(
            function, f"called with {_format_values(values)}, it raises {_format_error(error)}", place
        ) from error
    try:
        return convert(result)
    except ValueError as error:
        raise function_error(
            function, f"called with {_format_values(values)}, it returns an invalid value: {error}", place
        ) from None


def _format_values(values: Sequence[Value]) -> str:
    return ", ".join(repr(to_python(value)) for value in values)


def _format_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def function_error(function: Callable[..., Any], problem: str, place: SourceLocation | None) -> InvalidError:
    """The error for a function that fails."""
    where = place or definition_place(function)
    return InvalidError(describe_function(function, omitted_place=where), [problem], place=where)


def definition_place(function: Callable[..., Any]) -> SourceLocation | None:
    """The place of the definition of a function, if it is written in Python."""
    code = getattr(function, "__code__", None)
    return SourceLocation(code.co_filename, code.co_firstlineno) if code else None


def describe_function(function: Callable[..., Any], omitted_place: SourceLocation | None = None) -> str:
    """A function as messages name it: its name and its place, unless that is ``omitted_place``."""
    if isinstance(function, CoreFunction):
        return f"operator {function.operator.value!r}"
    name = getattr(function, "__name__", None) or type(function).__name__
    what = "the lambda" if name == "<lambda>" else f"function {name!r}"
    where = definition_place(function)
    return what if where is None or where == omitted_place else f"{what} at {where}"


def _argument(index: int, kind: Type) -> ArgumentTerm:
    boolean = isinstance(kind, FiniteType) and all(isinstance(value, bool) for value in kind.values)
    return ArgumentTerm(index, boolean)


def trace_function(
    function: Callable[..., Any],
    arguments: Sequence[ArgumentTerm | Value],
    types: Sequence[Type],
    place: SourceLocation | None = None,
) -> Term:
    """Trace a function to a term and test the term against the function on sampled arguments.

    Raises:
        ConstructionError: If the function cannot be traced, or if the term differs from it on a sample.
        InvalidError: If the function raises an error.
    """
    try:
        term = execute_symbolically(function, arguments)
    except UntraceableError as refusal:
        raise ConstructionError(
            f"{describe_function(function, place)} {refusal.message}; it must work for numbers of any size",
            place=place,
            hint=refusal.hint,
        ) from None
    except Exception as error:
        raise function_error(
            function, f"called with a number of any size, it raises {_format_error(error)}", place
        ) from error
    for values in islice(product(*map(_samples, arguments, types)), MAX_COMPARISONS):
        _compare(function, term, values, place)
    return term


def _samples(argument: ArgumentTerm | Value, kind: Type) -> Iterable[Value]:
    """Sample values of an argument; fractions are dyadic, so that floats represent them exactly."""
    if not isinstance(argument, ArgumentTerm):
        return (argument,)
    if isinstance(kind, FiniteType):
        return kind.values
    low, high = (int(end.at(SAMPLE_LENGTH)) for end in (kind.low, kind.high))
    if isinstance(kind, FractionType):
        quarters = (to_value(Fraction(k, 4)) for k in range(4 * max(low, -1), 4 * min(high, 1) + 1))
        return islice(quarters, MAX_SAMPLES)
    return sorted({*range(low, high + 1)[: MAX_SAMPLES // 2], *range(low, high + 1)[-MAX_SAMPLES // 2 :]})


def _compare(function: Callable[..., Any], term: Term, values: Sequence[Value], place: SourceLocation | None) -> None:
    try:
        expected: PartialValue = call_function(function, values, place)
    except ZeroDivisionError:
        expected = UNDEFINED
    found = evaluate_term(term, values)
    if expected == found or (is_number(expected) and is_number(found) and _is_close(expected, found)):
        return
    raise ConstructionError(
        f"{describe_function(function, place)} cannot be traced: called with {_format_values(values)} it returns "
        f"{expected!r}, "
        f"but its traced term evaluates to {format_value(found)}",
        place=place,
        hint="it must depend only on the values of its arguments, not on their type or identity or on other state",
    )


def _is_close(one: Rational, other: Rational) -> bool:
    exact = Fraction(other)
    return abs(Fraction(one) - exact) <= RELATIVE_TOLERANCE * max(Fraction(1), abs(exact))


def _choice_leaves(term: Term) -> Iterator[Term]:
    """The alternatives of a term: the leaves of its nested choices."""
    match term:
        case OperationTerm(operator=Operator.CHOOSE, operands=(then, _, otherwise)):
            yield from _choice_leaves(then)
            yield from _choice_leaves(otherwise)
        case _:
            yield term


def _may_be_none(term: Term) -> bool:
    return any(isinstance(leaf, LiteralTerm) and leaf.value is None for leaf in _choice_leaves(term))


def _with_leaves(term: Term, change: Callable[[Term], Term]) -> Term:
    match term:
        case OperationTerm(operator=Operator.CHOOSE, operands=(then, test, otherwise)):
            return make_operation(Operator.CHOOSE, _with_leaves(then, change), test, _with_leaves(otherwise, change))
        case _:
            return change(term)


def _without_none(term: Term) -> Term:
    """Replace None in a term by another of its alternatives, which keeps the type."""
    others = [leaf for leaf in _choice_leaves(term) if not (isinstance(leaf, LiteralTerm) and leaf.value is None)]
    stand_in = next((leaf for leaf in others if isinstance(leaf, LiteralTerm)), make_literal(0))
    return _with_leaves(term, lambda leaf: leaf if leaf in others else stand_in)


def _presence(term: Term) -> Term:
    return _with_leaves(term, lambda leaf: make_literal(not (isinstance(leaf, LiteralTerm) and leaf.value is None)))
