"""Symbolic execution of Python functions of unbounded numbers, along every path.

A function is executed as a copy in which built-in functions are replaced.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import CellType, FunctionType
from typing import Any, Final, NoReturn

from softmachine.languages.rasp.ir import Operator, Value
from softmachine.languages.rasp.python.expression import Operators
from softmachine.languages.rasp.python.symbolic_terms import (
    ArgumentTerm,
    LiteralTerm,
    Term,
    is_boolean,
    make_choice,
    make_literal,
    make_operation,
    negate,
    truth_term,
)
from softmachine.languages.rasp.values import is_number, to_python, to_value

MAX_COPIED_FUNCTIONS: Final = 200
"""Maximal number of copied functions; the rest of a large library stays unchanged."""


def replace_builtins(function: Callable[..., Any], names: Mapping[str, Any]) -> Callable[..., Any]:
    """A copy of a function in which names of built-ins, such as ``int``, resolve to replacements.

    The replacement extends to called functions that are written in Python and referenced by name. Names that a module
    defines itself are not replaced.

    Args:
        function: The function; it is not modified.
        names: The replacements, by name of the built-in function.
    """
    replaced = {id(getattr(builtins, name)): item for name, item in names.items()}
    done: dict[int, Callable[..., Any]] = {}

    def new(item: Any) -> Any:
        if isinstance(item, partial):
            return partial(new(item.func), *item.args, **item.keywords)
        if not isinstance(item, FunctionType) or (len(done) >= MAX_COPIED_FUNCTIONS and id(item) not in done):
            return replaced.get(id(item), item)
        if id(item) not in done:
            copy(item)
        return done[id(item)]

    def copy(item: FunctionType) -> None:
        space = dict(item.__globals__)
        closure = tuple(CellType() for _ in item.__closure__ or ())
        made = FunctionType(item.__code__, space, item.__name__, item.__defaults__, closure or None)
        made.__kwdefaults__ = item.__kwdefaults__
        done[id(item)] = made
        made.__defaults__ = item.__defaults__ and tuple(map(new, item.__defaults__))
        for cell, old in zip(closure, item.__closure__ or (), strict=True):
            if not _is_empty(old):
                cell.cell_contents = new(old.cell_contents)
        for name in _referenced_names(item):
            if name in space:
                space[name] = new(space[name])
            elif name in names:
                space[name] = names[name]

    result: Callable[..., Any] = new(function)
    return result


def _referenced_names(function: FunctionType) -> tuple[str, ...]:
    """The names that a function references, including those in nested functions."""
    codes, names = [function.__code__], list[str]()
    while codes:
        code = codes.pop()
        names += code.co_names
        codes += [constant for constant in code.co_consts if isinstance(constant, type(code))]
    return tuple(names)


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - the access raises if the cell is empty
    except ValueError:
        return True
    return False


MAX_CALLS: Final = 1000
"""Maximal number of calls of a traced function; each path takes at most two."""
MAX_BRANCHES: Final = 64
"""Maximal number of branches on one path."""
MAX_TERM_SIZE: Final = 2000
MAX_TERM_DEPTH: Final = 150
SUPPORTED_OPERATIONS_HINT: Final = (
    "write it with + - * / // % ** comparisons, and, or, not, if, abs, min, max, round and int"
)


class UntraceableError(BaseException):
    """A function applies an unsupported operation to a symbol. A BaseException, so that the function cannot catch it.

    Args:
        message: The unsupported operation, as a verb phrase.
        hint: How to avoid it.
    """

    def __init__(self, message: str, hint: str = SUPPORTED_OPERATIONS_HINT) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class _Fork(BaseException):
    """The function branches on a condition that is undecided on the current path."""

    def __init__(self, test: Term) -> None:
        super().__init__()
        self.test = test


class SymbolicNumber(Operators["SymbolicNumber"]):
    """A symbolic number. Operators build terms; ``bool`` selects the path.

    Args:
        term: The term of the number.
        decided: The conditions decided on the current path.
    """

    __array_ufunc__ = None  # numpy defers the operation to the symbol

    def __init__(self, term: Term, decided: Mapping[Term, bool]) -> None:
        self.term = term
        self._decided = decided

    def operate(self, operator: Operator, *operands: object) -> SymbolicNumber:
        """Build the term of an operation."""
        terms = [_to_term(operand) for operand in operands]
        if operator in (Operator.EQUAL, Operator.UNEQUAL) and any(_is_not_a_number(term) for term in terms):
            return SymbolicNumber(make_literal(operator is Operator.UNEQUAL), self._decided)
        if operator is Operator.POWER and isinstance(terms[1], LiteralTerm) and not isinstance(terms[1].value, int):
            raise UntraceableError("takes a root of an unbounded number")
        if operator in (Operator.AND, Operator.OR) and not all(map(is_boolean, terms)):
            raise UntraceableError("combines the bits of a number", "use and, or, not; or & and | between comparisons")
        if operator is Operator.NOT:  # bitwise complement of a Python integer
            return -self - 1
        if operator is Operator.MULTIPLY and is_boolean(terms[0]) != is_boolean(terms[1]):
            mask, number = terms if is_boolean(terms[0]) else terms[::-1]
            return SymbolicNumber(_check_size(make_choice(number, mask, make_literal(0))), self._decided)
        return SymbolicNumber(_check_size(make_operation(operator, *terms)), self._decided)

    def truth(self) -> SymbolicNumber:
        """The truth value as a symbol."""
        return SymbolicNumber(truth_term(self.term), self._decided)

    def __bool__(self) -> bool:
        test = truth_term(self.term)
        if isinstance(test, LiteralTerm):
            return bool(test.value)
        opposite = negate(test)
        if test not in self._decided and opposite not in self._decided:
            raise _Fork(test)
        return self._decided[test] if test in self._decided else not self._decided[opposite]

    def __round__(self, digits: int | None = None) -> SymbolicNumber:
        if not digits:
            return self.operate(Operator.ROUND, self)
        return self.operate(Operator.DIVIDE, round(self * 10**digits), 10**digits)

    def __trunc__(self) -> SymbolicNumber:
        return self.operate(Operator.TRUNCATE, self)

    def __floor__(self) -> SymbolicNumber:
        return self // 1

    def __ceil__(self) -> SymbolicNumber:
        return -(-self // 1)

    def __pos__(self) -> SymbolicNumber:
        return self

    def __divmod__(self, other: object) -> tuple[SymbolicNumber, SymbolicNumber]:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> tuple[SymbolicNumber, SymbolicNumber]:
        return other // self, other % self

    def __hash__(self) -> NoReturn:
        raise UntraceableError("looks an unbounded number up in a set or a dict", "use a tuple, or a chain of ifs")

    def __index__(self) -> NoReturn:
        raise UntraceableError("uses an unbounded number as an index, in range(), or in an int() that is not traced")

    __int__ = __index__

    def __float__(self) -> NoReturn:
        raise UntraceableError("converts an unbounded number to a float, as functions of math do")

    def __complex__(self) -> NoReturn:
        raise UntraceableError("converts an unbounded number to a complex number")

    def __str__(self) -> NoReturn:
        raise UntraceableError("converts an unbounded number to a string")

    def __format__(self, form: str) -> str:
        return str(self)

    def __iter__(self) -> NoReturn:
        raise UntraceableError("iterates over an unbounded number")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python itself looks up some of these
            raise AttributeError(name)
        raise UntraceableError(f"uses .{name} of an unbounded number")


def execute_symbolically(function: Callable[..., Any], arguments: Sequence[ArgumentTerm | Value]) -> Term:
    """Execute a function symbolically on symbolic and concrete arguments; returns the term of its result.

    The function is called once per path: at an undecided condition it is called again for both outcomes.

    Raises:
        UntraceableError: If the result is not expressible as a term, or if the function has too many paths.
    """
    return _Tracer(replace_builtins(function, BUILTINS), arguments).explore({})


class _Tracer:
    def __init__(self, function: Callable[..., Any], arguments: Sequence[ArgumentTerm | Value]) -> None:
        self.function = function
        self.arguments = arguments
        self.calls = 0

    def explore(self, decided: Mapping[Term, bool]) -> Term:
        """The term of the result under decided conditions."""
        self.calls += 1
        if self.calls > MAX_CALLS or len(decided) > MAX_BRANCHES:
            raise UntraceableError(
                f"has more than {MAX_CALLS // 2} paths, or more than {MAX_BRANCHES} branches on one path",
                "a loop over an unbounded number does not end; use a closed form",
            )
        symbols = [
            SymbolicNumber(item, decided) if isinstance(item, ArgumentTerm) else to_python(item)
            for item in self.arguments
        ]
        try:
            result = _check_size(_to_term(self.function(*symbols)))
        except _Fork as fork:
            test = fork.test
        else:
            return make_literal(decided[result]) if result in decided else result
        then, otherwise = (self.explore({**decided, test: answer}) for answer in (True, False))
        return _check_size(make_choice(then, test, otherwise))


def _to_term(item: object) -> Term:
    if isinstance(item, SymbolicNumber):
        return item.term
    if isinstance(item, list | tuple):
        raise UntraceableError(
            f"returns a {type(item).__name__} of an unbounded number", "use one sequence operator per entry"
        )
    try:
        return make_literal(to_value(item))
    except ValueError as error:
        raise UntraceableError(f"returns an invalid value: {error}") from None


def _is_not_a_number(term: Term) -> bool:
    return isinstance(term, LiteralTerm) and not is_number(term.value)


def _check_size(term: Term) -> Term:
    if term.size > MAX_TERM_SIZE or term.depth > MAX_TERM_DEPTH:
        raise UntraceableError(
            f"computes a term of more than {MAX_TERM_SIZE:,} operations or more than {MAX_TERM_DEPTH} levels of nesting"
        )
    return term


class _Numbers(type):
    """Metaclass of numeric types to which symbols convert; ``isinstance`` of a symbol is undecidable."""

    def __instancecheck__(cls, item: object) -> bool:
        if isinstance(item, SymbolicNumber):
            raise UntraceableError("tests the type of an unbounded number", "omit the test: the argument is a number")
        return isinstance(item, cls.__mro__[1])


class _Int(int, metaclass=_Numbers):
    def __new__(cls, *arguments: Any) -> Any:
        return math.trunc(arguments[0]) if _symbolic(arguments) else int(*arguments)


class _Float(float, metaclass=_Numbers):
    def __new__(cls, *arguments: Any) -> Any:
        return arguments[0] if _symbolic(arguments) else float(*arguments)


def _bool(*arguments: Any) -> Any:
    return arguments[0].truth() if _symbolic(arguments) else bool(*arguments)


def _symbolic(arguments: tuple[Any, ...]) -> bool:
    return len(arguments) == 1 and type(arguments[0]) is SymbolicNumber


BUILTINS: Final[Mapping[str, Any]] = {"int": _Int, "float": _Float, "bool": _bool}
"""Replacements of the built-in conversions, whose results cannot be symbols."""
