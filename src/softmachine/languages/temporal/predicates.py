"""Unary numerical predicates of positions and counts.

`predicate` registers a predicate:

    predicate("square", lambda number: math.isqrt(number) ** 2 == number)

Then ``square(i)`` and ``square(#<[Q_a])`` are formulas. A predicate is a total function on the natural numbers, 0
included, because a count may be 0.

A predicate may also depend on the length n of the word, as ``half``, ``middle``, ``divides`` and ``upto`` do (θ_n of
Definition 19 of Yang et al., "Simulating Hard Attention Using Soft Attention"):

    predicate("beyond", lambda number, n: 3 * number > 2 * n, of_length=True)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from softmachine.support.errors import InvalidError, UsageError

RESERVED = frozenset({
    "true", "false", "first", "last", "not", "and", "or", "i", "alphabet",
    "prev", "next", "since", "until", "once", "historically", "eventually", "always",
    "Y", "X", "S", "U", "O", "H", "F", "G",
})  # fmt: skip
"""Keywords of formulas."""
TESTED_NUMBERS = 32
"""A new predicate is tested on the numbers below this one."""


@dataclass(frozen=True)
class PredicateDefinition:
    """Definition of a numerical predicate.

    Args:
        function: The truth value, as a function of the number and the parameters.
        parameters: The names of the parameters, such as m and r in ``mod(i,m,r)``.
        find_problem: Validates the parameters: returns a message, or None if they are valid.
        depends_on_length: Whether the function also takes the length of the word, after the number: θ_n.
    """

    function: Callable[..., bool]
    parameters: tuple[str, ...] = ()
    find_problem: Callable[..., str | None] | None = None
    depends_on_length: bool = False


def _prime(number: int) -> bool:
    return number >= 2 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


def _mod_problem(modulus: int, remainder: int) -> str | None:
    if modulus < 1:
        return f"the modulus is {modulus}; it must be at least 1"
    if not 0 <= remainder < modulus:
        return f"{remainder} is not a remainder modulo {modulus}; write one from 0 to {modulus - 1}"
    return None


def _fraction_problem(over: int, under: int) -> str | None:
    if not 0 <= over <= under or not under:
        return f"{over}/{under} is not a fraction of the length; write numbers p and q with 0 ≤ p ≤ q and q ≥ 1"
    return None


_DEFINITIONS: dict[str, PredicateDefinition] = {
    "odd": PredicateDefinition(lambda number: number % 2 == 1),
    "prime": PredicateDefinition(_prime),
    "power2": PredicateDefinition(lambda number: number > 0 and number & (number - 1) == 0),
    "mod": PredicateDefinition(lambda number, m, r: number % m == r, ("m", "r"), _mod_problem),
    "half": PredicateDefinition(lambda number, n: 2 * number <= n, depends_on_length=True),
    "middle": PredicateDefinition(lambda number, n: number == (n + 1) // 2, depends_on_length=True),
    "divides": PredicateDefinition(lambda number, n: number > 0 and n % number == 0, depends_on_length=True),
    "upto": PredicateDefinition(
        lambda number, n, p, q: q * number <= p * n, ("p", "q"), _fraction_problem, depends_on_length=True
    ),
}
_BUILT_IN = frozenset(_DEFINITIONS)


def predicate(name: str, function: Callable[..., bool], *, depends_on_length: bool = False) -> None:
    """Define or redefine a predicate.

    Args:
        name: Its name in formulas.
        function: True or False for every natural number; with ``depends_on_length``, for every number up to every
            length n.
        depends_on_length: Whether the function also takes n, the length of the word.

    Raises:
        UsageError: If the name is reserved, or is not an identifier.
        InvalidError: If the function fails at one of the first numbers.
    """
    if not re.fullmatch(r"[^\W\d]\w*", name) or name.startswith("Q_"):
        raise UsageError(f"{name!r} cannot be the name of a predicate", hint="use letters, digits and underscores")
    if name in RESERVED or name in _BUILT_IN:
        raise UsageError(f"{name!r} is reserved in formulas", hint="choose another name")
    definition = PredicateDefinition(function, depends_on_length=depends_on_length)
    for number in range(TESTED_NUMBERS):
        for n in range(number, TESTED_NUMBERS) if depends_on_length else (None,):
            _evaluate(name, definition, number, (), n)
    _DEFINITIONS[name] = definition


def predicate_names() -> tuple[str, ...]:
    """The names of all predicates."""
    return tuple(_DEFINITIONS)


def depends_on_length(name: str, parameters: tuple[int, ...] = ()) -> bool:
    """Whether a predicate also depends on the length of the word."""
    return find_definition(name, parameters).depends_on_length


def predicate_holds(name: str, number: int, parameters: tuple[int, ...] = (), length: int | None = None) -> bool:
    """Whether a predicate holds for a number, in a word of this length.

    Raises:
        InvalidError: If the predicate does not exist, or has no truth value at this number.
    """
    return _evaluate(name, find_definition(name, parameters), number, parameters, length)


def find_definition(name: str, parameters: tuple[int, ...]) -> PredicateDefinition:
    """Look up a predicate and validate its parameters.

    Raises:
        InvalidError: If the predicate does not exist, or the parameters are invalid.
    """
    definition = _DEFINITIONS.get(name)
    problem = None
    if definition is None:
        known = ", ".join(_DEFINITIONS)
        problem = f"unknown predicate; the predicates are {known}; `predicate(name, function)` defines more"
    elif len(parameters) != len(definition.parameters):
        usage = ",".join(["i", *definition.parameters])
        problem = f"write {name}({usage}), with {len(definition.parameters)} parameters, not {len(parameters)}"
    elif definition.find_problem:
        problem = definition.find_problem(*parameters)
    if definition is None or problem:
        raise InvalidError(f"predicate {name!r}", [str(problem)])
    return definition


def _evaluate(
    name: str, definition: PredicateDefinition, number: int, parameters: tuple[int, ...], length: int | None
) -> bool:
    """The truth value; user-defined functions may raise or return a value that is not Boolean."""
    if definition.depends_on_length and length is None:
        raise InvalidError(f"predicate {name!r}", ["it depends on the length of the word, which is not known here"])
    numbers = (number, length) if definition.depends_on_length else (number,)
    at = f"at {number}" + (f" of {length}" if definition.depends_on_length else "")
    try:
        value: object = definition.function(*numbers, *parameters)
    except Exception as error:
        problem = f"{at} it raises {type(error).__name__}: {error}"
    else:
        if isinstance(value, bool):
            return value
        problem = f"{at} it is {value!r}, of type {type(value).__name__}"
    advice = "it must be True or False at every natural number, 0 included"
    raise InvalidError(f"predicate {name!r}", [f"{problem}; {advice}"])
