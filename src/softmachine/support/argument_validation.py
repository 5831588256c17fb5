"""Argument validation: the values that a public function is called with, checked against its annotations.

Arguments that several functions and commands have are described once, in `SHARED_ARGUMENTS`.

Annotations are read as text, since many of their names are imported only by type checkers. A class that the module of
the function does not import is recognised by its name, along the bases of the value's class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, wraps
from inspect import cleandoc, signature
from numbers import Integral
from operator import index
from pathlib import Path
from sys import float_info
from textwrap import wrap
from typing import Any, TypeVar, cast

from softmachine.support.errors import UsageError
from softmachine.support.text import LONE_SURROGATE, did_you_mean, truncate

MAX_INTEGER = 2**63 - 1
"""The largest length, count or scale: saved models store 64-bit integers, and error bounds stay finite in floats."""
MIN_BY_PARAMETER: Mapping[str, int] = {
    "sample": 1,
    "sharpness": 1,
    "workers": 1,
    "seed": -MAX_INTEGER,
    "position": -MAX_INTEGER,
}
"""The smallest value of an integer parameter, by its name; 0 for all others."""
TYPE_DESCRIPTIONS: Mapping[str, str] = {
    "bool": "True or False",
    "int": "a whole number",
    "float": "a finite number",
    "str": "a string",
    "Tell": "a function",
    "ProgressCallback": "a function",
    "Arithmetic": "an Arithmetic",
    "Iterable[str]": "an iterable of symbols",
    "Iterable[object]": "an iterable",
}
"""Descriptions of types in messages; the default is the type's name."""
TYPE_TESTS: Mapping[str, Callable[[Any], bool]] = {
    "None": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    "float": lambda value: type(value) in (int, float) and abs(value) <= float_info.max,
    "str": lambda value: isinstance(value, str),
    "object": lambda _value: True,
    "Tell": callable,
    "ProgressCallback": callable,
    "Iterable[object]": lambda value: isinstance(value, Iterable) and not isinstance(value, bytes | Mapping),
    # Symbols may be integers, as in the vocabulary of a RASP program.
    "Iterable[str]": lambda value: (
        TYPE_TESTS["Iterable[object]"](value) and all(issubclass(kind, str | int) for kind in set(map(type, value)))
    ),
}
"""Whether a value has a type, for all that are not classes of softmachine."""
FORMER_NAMES = {
    "construction": "theorem",
    "bound": "context",
    "certified": "context",
    "length": "context",
    "inputs": "length",
}
"""Parameters that had another name in earlier versions, for hints; options have the same names."""
SHARED_ARGUMENTS: Mapping[str, str] = {
    "theorem": "The theorem to compile a source with, or its name. Default: the first that applies.",
    "attention": "``hard`` or ``soft`` attention. Default: the theorem's preference.",
    "context": "Number of positions that the weights are built for, if they depend on it.",
    "length": "With soft attention: certifies every input up to this length (for decoders, input and run together). If "
    "only one of ``context`` and ``length`` is given, it is used for both.",
    "alphabet": "Additional input symbols of a formula, separated by spaces if longer than one character.",
    "format": "Format of the source. Default: detected.",
    "seed": "Seed of the random inputs.",
    "force": "Replaces a model that was written there before; other files stay.",
    "yes": "Proceeds even if the estimate exceeds ten minutes or half of the free memory.",
}
"""Descriptions of arguments, for the docstrings of public functions and for the help of commands."""
DOCSTRING_WIDTH = 108
"""Columns of the lines of a docstring, without indentation."""
_ALTERNATIVES = re.compile(r" \| (?![^\[]*\])")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

Function = TypeVar("Function", bound=Callable[..., Any])


def validate_arguments(function: Function) -> Function:
    """A function that validates its arguments before it is entered.

    Every argument must have one of the types of its annotation. A Boolean is not an integer; one of another library,
    such as NumPy's, is passed on as ``int``, and an iterator as a tuple. The docstring is completed by the descriptions
    of `SHARED_ARGUMENTS`.

    Raises:
        UsageError: If an argument is missing, unknown, of another type, or out of range; it names the parameter.
    """

    @wraps(function)
    def called(*args: object, **named: object) -> object:
        try:
            bound = _signature(function).bind(*args, **named)
        except TypeError as error:
            known = _signature(function).parameters
            unknown = next((name for name in named if name not in known), None)
            hint = None if unknown is None else did_you_mean(unknown, known, "", FORMER_NAMES) or None
            raise UsageError(f"{function.__name__}(): {error}", hint=hint) from None
        for name, value in bound.arguments.items():
            annotation = bound.signature.parameters[name].annotation
            bound.arguments[name] = _convert_argument(
                name, value, _ALTERNATIVES.split(annotation), function.__globals__
            )
        return function(*bound.args, **bound.kwargs)

    called.__doc__ = complete_docstring(function.__doc__ or "", _signature(function).parameters)
    return cast("Function", called)


def complete_docstring(text: str, parameters: Iterable[str]) -> str:
    """Add descriptions of the shared arguments that a Google-style docstring does not describe itself."""
    text = cleandoc(text)
    before, _, rest = text.partition("\n\nArgs:\n")
    section, separator, after = rest.partition("\n\n")
    own = {entry.partition(":")[0]: entry for entry in re.split(r"^    (?=\w)", section, flags=re.MULTILINE)[1:]}
    described = [name for name in parameters if name in SHARED_ARGUMENTS]
    shared = {name: "\n        ".join(wrap(f"{name}: {SHARED_ARGUMENTS[name]}", DOCSTRING_WIDTH)) for name in described}
    entries = [own.get(name) or shared[name] for name in parameters if name in own or name in shared]
    if not rest or not shared.keys() - own.keys():
        return text
    lines = "\n".join(f"    {entry.rstrip()}" for entry in entries)
    return f"{before}\n\nArgs:\n{lines}{separator}{after}"


_signature = cache(signature)


def _convert_argument(name: str, value: Any, kinds: list[str], scope: Mapping[str, object]) -> object:
    """Convert an argument to the form that the function takes.

    Raises:
        UsageError: If it has none of the types, or is not valid for its type.
    """
    if isinstance(value, Iterator) and any(kind.startswith("Iterable") for kind in kinds):
        value = tuple(value)  # an iterator can be consumed only once
    kind = next((each for each in kinds if _is_a(value, each, scope)), None)
    if kind == "int":
        return require_in_range(name, index(value), MIN_BY_PARAMETER.get(name, 0))
    text = str(value) if isinstance(value, str | Path) else ""
    if problem := _text_problem(text, "Path" in kinds) if kind else f"is not {_describe_alternatives(kinds)}":
        raise UsageError(f"invalid value for {name!r}: {format_value(value)} {problem}")
    return value


def _is_a(value: object, kind: str, scope: Mapping[str, Any]) -> bool:
    """Whether a value has the type of this name."""
    if kind in TYPE_TESTS:
        return TYPE_TESTS[kind](value)
    if kind in scope:
        return isinstance(value, scope[kind]) and not isinstance(value, type)
    return any(base.__name__ == kind and base.__module__.startswith("softmachine.") for base in type(value).__mro__)


def require_in_range(name: str, value: int, minimum: int) -> int:
    """An integer, if it is in range.

    Raises:
        UsageError: If it is less than the least value, or more than the largest of all integers.
    """
    if minimum <= value <= MAX_INTEGER:
        return value
    problem = f"is less than {minimum}" if value < minimum else f"is more than {MAX_INTEGER:,}"
    raise UsageError(f"invalid value for {name!r}: {format_value(value)} {problem}")


def _text_problem(text: str, is_path: bool) -> str:
    """Why a text cannot be encoded, or used as a file name; "" if there is no problem."""
    # In the name of a file, these surrogates are bytes that are not UTF-8.
    found = LONE_SURROGATE.search(re.sub("[\udc80-\udcff]", "", text) if is_path else text)
    if found:
        return f"contains the lone surrogate {found[0]!r}, which UTF-8 cannot encode"
    return "contains a null character, which no file name has" if is_path and "\0" in text else ""


def format_value(value: object) -> str:
    """Format a value for a message: abbreviated, and without object addresses."""
    try:
        return truncate(_ADDRESS.sub("", repr(value)), 60)
    except Exception:  # an integer of too many digits, or an object whose repr fails
        return f"this {type(value).__name__}"


def _describe_alternatives(kinds: Iterable[str]) -> str:
    """Describe alternative types: "a string, a Path or a Model"."""
    *others, last = (TYPE_DESCRIPTIONS.get(kind, f"a {kind}") for kind in kinds if kind != "None")
    return f"{', '.join(others)} or {last}" if others else last
