"""Unary numerical predicates: named sets of natural numbers that a position or a count may be in.

`predicate` defines more of them:

    predicate("square", lambda number: math.isqrt(number) ** 2 == number)

after which ``square(i)`` and ``square(#<[Q_a])`` are formulas. A predicate is a total function: it has a truth value at
every natural number, 0 included, since a count may be 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from softmachine.errors import InvalidError, UsageError

RESERVED = frozenset({
    "true", "false", "first", "last", "not", "and", "or", "i", "alphabet",
    "prev", "next", "since", "until", "once", "historically", "eventually", "always",
    "Y", "X", "S", "U", "O", "H", "F", "G",
})  # fmt: skip
"""Words that mean something else in a formula."""
TRIED = 32
"""The numbers below this one are tried when a predicate is defined."""


@dataclass(frozen=True)
class Definition:
    """What a predicate's name means.

    Args:
        function: Takes a number and the parameters; says whether the number is in the set.
        parameters: The names of the parameters, as the m and r of ``mod(i,m,r)``.
        problem: Takes the parameters; says what is wrong with them, if anything is.
    """

    function: Callable[..., bool]
    parameters: tuple[str, ...] = ()
    problem: Callable[..., str | None] | None = None


def _prime(number: int) -> bool:
    return number >= 2 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


def _mod_problem(modulus: int, remainder: int) -> str | None:
    if modulus < 1:
        return f"the modulus is {modulus}; write one of at least 1"
    if not 0 <= remainder < modulus:
        return f"no remainder modulo {modulus} is {remainder}; write one from 0 to {modulus - 1}"
    return None


_DEFINITIONS: dict[str, Definition] = {
    "odd": Definition(lambda number: number % 2 == 1),
    "prime": Definition(_prime),
    "power2": Definition(lambda number: number > 0 and number & (number - 1) == 0),
    "mod": Definition(lambda number, m, r: number % m == r, ("m", "r"), _mod_problem),
}
_BUILT_IN = frozenset(_DEFINITIONS)


def predicate(name: str, function: Callable[[int], bool]) -> None:
    """Define a predicate, or define it anew.

    Args:
        name: What formulas call it.
        function: True or False for every natural number.

    Raises:
        UsageError: If the name is taken, or could not be read in a formula.
        InvalidError: If the function fails at one of the first numbers.
    """
    if not re.fullmatch(r"[^\W\d]\w*", name) or name.startswith("Q_"):
        raise UsageError(f"{name!r} cannot be the name of a predicate", hint="write letters, digits and underscores")
    if name in RESERVED or name in _BUILT_IN:
        raise UsageError(f"{name!r} already means something else in a formula", hint="choose another name")
    definition = Definition(function)
    for number in range(TRIED):
        _value(name, definition, number, ())
    _DEFINITIONS[name] = definition


def predicate_names() -> tuple[str, ...]:
    """The names of all predicates there are."""
    return tuple(_DEFINITIONS)


def holds(name: str, number: int, parameters: tuple[int, ...] = ()) -> bool:
    """Whether a predicate holds of a number.

    Raises:
        InvalidError: If there is no such predicate, or it has no truth value at this number.
    """
    return _value(name, definition_of(name, parameters), number, parameters)


def definition_of(name: str, parameters: tuple[int, ...]) -> Definition:
    """What a predicate with these parameters means.

    Raises:
        InvalidError: If there is no such predicate, or it does not take them.
    """
    definition = _DEFINITIONS.get(name)
    problem = None
    if definition is None:
        known = ", ".join(_DEFINITIONS)
        problem = f"there is no predicate of this name, only {known}; `predicate(name, function)` defines more"
    elif len(parameters) != len(definition.parameters):
        usage = ",".join(["i", *definition.parameters])
        problem = f"it is written {name}({usage}), with {len(definition.parameters)} parameters, not {len(parameters)}"
    elif definition.problem:
        problem = definition.problem(*parameters)
    if definition is None or problem:
        raise InvalidError(f"predicate {name!r}", [str(problem)])
    return definition


def _value(name: str, definition: Definition, number: int, parameters: tuple[int, ...]) -> bool:
    """The truth value, which a function that someone else wrote may fail to have."""
    try:
        value: object = definition.function(number, *parameters)
    except Exception as error:
        problem = f"at {number} it raises {type(error).__name__}: {error}"
    else:
        if isinstance(value, bool):
            return value
        problem = f"at {number} it is {value!r}, of type {type(value).__name__}"
    advice = "it should be True or False at every natural number, 0 included"
    raise InvalidError(f"predicate {name!r}", [f"{problem}; {advice}"])
