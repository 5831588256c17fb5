"""Argument validation: the values that a public function is called with, checked against its annotations.

Annotations are read as text, since many of their names are imported only by type checkers. A class that the module of
the function does not import is recognised by its name, along the bases of the value's class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from inspect import Signature, signature
from operator import index
from pathlib import Path
from sys import float_info
from typing import Any, TypeVar, cast

from softmachine.errors import UsageError
from softmachine.text import SURROGATE, clipped

MAX_INTEGER = 2**63 - 1
"""The largest length, count or scale: saved models store 64-bit integers, and error bounds stay finite in floats."""
MIN_INTEGERS: Mapping[str, int] = {
    "sample": 1,
    "sharpness": 1,
    "workers": 1,
    "seed": -MAX_INTEGER,
    "position": -MAX_INTEGER,
}
"""The smallest value of an integer parameter, by its name; 0 for all others."""
DESCRIPTIONS: Mapping[str, str] = {
    "bool": "True or False",
    "int": "a whole number",
    "float": "a finite number",
    "str": "a string",
    "Tell": "a function",
    "Iterable[str]": "an iterable of symbols",
    "Iterable[object]": "an iterable",
}
"""What messages call a type; by default its name."""
_ALTERNATIVES = re.compile(r" \| (?![^\[]*\])")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

Function = TypeVar("Function", bound=Callable[..., Any])


def validated(function: Function) -> Function:
    """A function that validates its arguments before it is entered.

    Every argument must have one of the types of its annotation. Integers are all values with ``__index__`` except
    Booleans; iterables are passed on as tuples.

    Raises:
        UsageError: If an argument is missing, unknown, of another type, or out of range; it names the parameter.
    """

    @wraps(function)
    def called(*args: object, **named: object) -> object:
        own = _signature(function)
        try:
            bound = own.bind(*args, **named)
        except TypeError as error:
            raise UsageError(f"{function.__name__}(): {error}") from None
        for name, value in bound.arguments.items():
            bound.arguments[name] = _argument(name, value, own.parameters[name].annotation, function.__globals__)
        return function(*bound.args, **bound.kwargs)

    return cast("Function", called)


@cache
def _signature(function: Callable[..., object]) -> Signature:
    return signature(function)


def _argument(name: str, value: Any, annotation: str, scope: Mapping[str, object]) -> object:
    """An argument as the function takes it.

    Raises:
        UsageError: If it has none of the types, or is not valid for the one that it has.
    """
    kinds = _ALTERNATIVES.split(annotation)
    kind = next((each for each in kinds if _is(value, each, scope)), None)
    problem = f"is not {_either(kinds)}"
    if kind == "int":
        value = index(value)
        problem = range_problem(value, MIN_INTEGERS.get(name, 0))
    elif kind is not None and kind.startswith("Iterable["):
        value, symbols = tuple(value), kind == "Iterable[str]"
        wrong = [each for each in value if type(each) is not str and symbols and not _is(each, "int", scope)]
        problem = f"is not {_either(kinds)}: {shown(wrong[0])} is not a symbol" if wrong else ""
    elif kind is not None:
        problem = _text_problem(str(value), "Path" in kinds) if isinstance(value, str | Path) else ""
    if problem:
        raise UsageError(f"invalid value for {name!r}: {shown(value)} {problem}")
    return value


def _is(value: Any, kind: str, scope: Mapping[str, object]) -> bool:
    """Whether a value has the type of this name."""
    match kind:
        case "None" | "bool":
            return value is None if kind == "None" else isinstance(value, bool)
        case "int":
            return hasattr(type(value), "__index__") and not isinstance(value, bool)
        case "float":
            return type(value) in (int, float) and abs(value) <= float_info.max
        case "Tell":
            return callable(value)
        case "Iterable[str]" | "Iterable[object]":
            return isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping)
    found = {"str": str, "object": object}.get(kind) or scope.get(kind)
    if isinstance(found, type):
        return isinstance(value, found) and not (isinstance(value, type) and found is not object)
    return any(base.__name__ == kind and base.__module__.startswith("softmachine.") for base in type(value).__mro__)


def range_problem(value: int, least: int) -> str:
    """Why an integer is out of range; "" if it is not."""
    if value < least:
        return f"is less than {least}"
    return f"is more than {MAX_INTEGER}" if value > MAX_INTEGER else ""


def _text_problem(text: str, is_path: bool) -> str:
    """Why a text cannot be written or a file cannot have this name; "" if nothing is wrong with it."""
    if is_path and "\0" in text:
        return "contains a null character, which no file name may have"
    surrogates = SURROGATE.findall(text)
    if is_path:  # the bytes of a file name that are not UTF-8 are surrogates
        surrogates = [each for each in surrogates if not "\udc80" <= each <= "\udcff"]
    return f"contains the lone surrogate {surrogates[0]!r}, which UTF-8 cannot encode" if surrogates else ""


def shown(value: object) -> str:
    """A value in a message: short, and without the address of an object."""
    try:
        return clipped(_ADDRESS.sub("", repr(value)), 60)
    except Exception:  # an integer of very many digits, or an object whose repr fails
        return f"this {type(value).__name__}"


def _either(kinds: Iterable[str]) -> str:
    """Type names for people: "a string, a Path or a Model"."""
    names = [
        DESCRIPTIONS.get(each) or f"{'an' if each[0] in 'AEIOU' else 'a'} {each}" for each in kinds if each != "None"
    ]
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
