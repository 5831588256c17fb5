"""Functions of unbounded numbers: traced terms equal the functions; functions that cannot be traced are reported."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import pytest

from softmachine.languages.rasp import FractionType, IntegerType, Operator
from softmachine.languages.rasp.ir import UNDEFINED
from softmachine.languages.rasp.python.function_lowering import trace_function
from softmachine.languages.rasp.python.symbolic_execution import UntraceableError, execute_symbolically
from softmachine.languages.rasp.python.symbolic_terms import ArgumentTerm, OperationTerm, Term, evaluate_term
from softmachine.languages.rasp.values import to_python
from softmachine.support.errors import ConstructionError, InvalidError
from softmachine.support.polynomial import Polynomial

INTEGER = IntegerType(Polynomial(0), Polynomial(0, 1))
RATIO = FractionType(Polynomial(-1), Polynomial(1), Polynomial(0, 1))


def half(number: Any) -> Any:
    return int(number / 2)


def clamp(number: Any, low: Any = 0, high: Any = 5) -> Any:
    if number < low:
        return low
    return high if number > high else number


def swallow(number: Any) -> Any:
    try:
        return number + 1
    except Exception:  # does not catch what tracing raises
        return 0


def steps(number: Any) -> Any:
    total = 0
    for threshold in (1, 2, 4):
        if number >= threshold:
            total += 1
    return total


ONE: list[Callable[[Any], Any]] = [
    lambda x: x + 1,
    lambda x: 1 + x,
    lambda x: 3 - x,
    lambda x: 2 * x,
    lambda x: x / 3,
    lambda x: 7 // (x + 1),
    lambda x: 7 % (x + 1),
    lambda x: x**2,
    lambda x: 2**0 * x,
    lambda x: -x,
    lambda x: +x,
    lambda x: abs(x - 3),
    lambda x: round(x / 2),
    lambda x: round(x / 4, 1),
    lambda x: int(x / 2),
    lambda x: int(x) if x > 2 else int("3"),
    lambda x: float(x) / 2,
    bool,
    lambda x: math.floor(x / 3),
    lambda x: math.ceil(x / 3),
    lambda x: math.trunc(x / 3),
    lambda x: min(x, 4),
    lambda x: max(2, x, 5),
    lambda x: x if x < 3 else 3,
    lambda x: divmod(x, 3)[1],
    lambda x: 0 < x < 4,
    lambda x: x in (1, 4),
    lambda x: x not in [2, 3],
    lambda x: x == 1 or x == 4,
    lambda x: not x,
    lambda x: (x > 1) & (x < 4),
    lambda x: (x < 1) | (x >= 4),
    lambda x: ~x,
    lambda x: "small" if x < 3 else "large",
    lambda x: None if x == 2 else x,
    lambda x: sum([x, x, 1]),
    lambda x: all([x > 1, x < 5]),
    lambda x: x == "a",
    lambda x: x != None,  # noqa: E711
    lambda x: x if x else -1,
    half,
    clamp,
    swallow,
    steps,
    lambda x: half(x) + clamp(x),
    partial(clamp, high=3),
    abs,
    int,
]
TWO: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + 2 * y,
    lambda x, y: x and y,
    lambda x, y: x or y,
    lambda x, y: x if x > y else y - 1,
    lambda x, y: x // y,
    lambda x, y: x / y if y else -1,
    lambda x, y: y != 0 and x % y == 0,
    min,
    max,
]


def agree(function: Callable[..., Any], term: Term, *numbers: Any) -> bool:
    """Whether a term equals a function on some numbers."""
    try:
        expected = function(*map(to_python, numbers))
    except ZeroDivisionError:
        return evaluate_term(term, numbers) is UNDEFINED
    found = evaluate_term(term, numbers)
    if isinstance(expected, float):
        return isinstance(found, int | Fraction) and math.isclose(found, expected, abs_tol=1e-12)
    return bool(found == expected)


@pytest.mark.parametrize("function", ONE)
def test_a_traced_function_is_the_function(function: Callable[[Any], Any]) -> None:
    term = trace_function(function, [ArgumentTerm(0)], [INTEGER])
    for number in range(40):
        assert agree(function, term, number), number


@pytest.mark.parametrize("function", TWO)
def test_a_traced_function_of_two_numbers_is_the_function(function: Callable[[Any, Any], Any]) -> None:
    term = trace_function(function, [ArgumentTerm(0), ArgumentTerm(1)], [INTEGER, INTEGER])
    for numbers in product(range(9), repeat=2):
        assert agree(function, term, *numbers), numbers


@pytest.mark.parametrize("function", ONE[:12])
def test_functions_of_fractions_are_traced_too(function: Callable[[Any], Any]) -> None:
    term = trace_function(function, [ArgumentTerm(0)], [RATIO])
    for number in (Fraction(k, 8) for k in range(-7, 9)):
        assert agree(function, term, number), number


def helper_of_closure() -> Callable[[Any], Any]:
    def inner(number: Any) -> Any:
        return int(number / 3)

    return lambda number: inner(number) + 1


def test_functions_that_a_function_closes_over_are_traced_too() -> None:
    term = trace_function(helper_of_closure(), [ArgumentTerm(0)], [INTEGER])
    assert [evaluate_term(term, [number]) for number in (0, 2, 3, 7)] == [1, 1, 2, 3]


def test_a_minimum_is_one_operation_however_it_is_written() -> None:
    for function in (min, lambda x, y: x if x < y else y, lambda x, y: y if x > y else x):
        term = trace_function(function, [ArgumentTerm(0), ArgumentTerm(1)], [INTEGER, INTEGER])
        assert isinstance(term, OperationTerm)
        assert term.operator is Operator.MINIMUM


def test_a_division_that_is_guarded_stays_guarded() -> None:
    term = trace_function(lambda x, y: y != 0 and x / y > 1, [ArgumentTerm(0), ArgumentTerm(1)], [INTEGER, INTEGER])
    assert evaluate_term(term, [3, 0]) is False


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (math.sqrt, "function 'sqrt' converts an unbounded number to a float"),
    (lambda x: {0: 1}[x], "looks an unbounded number up"),
    (lambda x: x in {1, 2}, "looks an unbounded number up"),
    (lambda x: [1, 2, 3][x], "uses an unbounded number as an index"),
    (lambda x: len(range(x)), "uses an unbounded number as an index"),
    (str, "converts an unbounded number to a string"),
    (lambda x: f"{x}", "converts an unbounded number to a string"),
    (lambda x: x.bit_length(), r"uses \.bit_length"),
    (lambda x: x & 1, "combines the bits"),
    (lambda x: (x, 1), "returns a tuple"),
    (list, "iterates over"),
    (lambda x: isinstance(x, int), "tests the type"),
    (lambda x: type(x) is int, "cannot be traced: called with 0"),
    (lambda x: object(), "returns an invalid value"),
    (complex, "converts an unbounded number to a complex"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED)
def test_what_cannot_be_traced_is_named(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ConstructionError, match=message) as caught:
        trace_function(function, [ArgumentTerm(0)], [INTEGER])
    assert caught.value.hint


def forever(number: Any) -> Any:
    while number > 0:
        number = number - 1
    return number


def deep(number: Any) -> Any:
    for _ in range(200):
        number = number * number + 1
    return number


@pytest.mark.parametrize(("function", "message"), [(forever, "paths"), (deep, "operations")])
def test_what_would_be_too_large_is_refused(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ConstructionError, match=message):
        trace_function(function, [ArgumentTerm(0)], [INTEGER])


def test_a_function_that_raises_an_error_is_named() -> None:
    def broken(number: Any) -> Any:
        raise LookupError("no such thing")

    with pytest.raises(
        InvalidError, match=r"(?s)function 'broken' .*any size, it raises LookupError: no such thing"
    ) as caught:
        trace_function(broken, [ArgumentTerm(0)], [INTEGER])
    assert "test_tracing.py" in str(caught.value)


def test_a_function_that_depends_on_something_else_is_found_out() -> None:
    calls: list[int] = []

    def counting(number: Any) -> Any:
        calls.append(1)
        return number + len(calls)

    with pytest.raises(ConstructionError, match="cannot be traced"):
        trace_function(counting, [ArgumentTerm(0)], [INTEGER])


def test_a_function_cannot_catch_the_exceptions_of_the_tracer() -> None:
    def careful(number: Any) -> Any:
        try:
            return 1 if number > 3 else 2
        except Exception:
            return 0

    assert evaluate_term(execute_symbolically(careful, [ArgumentTerm(0)]), [5]) == 1
    with pytest.raises(UntraceableError):
        execute_symbolically(hash, [ArgumentTerm(0)])
