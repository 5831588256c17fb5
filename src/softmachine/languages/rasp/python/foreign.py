"""Programs of the other RASP library, taken without importing it: by the names of its classes and attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from softmachine.languages.rasp.program import Program
from softmachine.languages.rasp.python import selectors, sequences
from softmachine.languages.rasp.python.expressions import Expression
from softmachine.languages.rasp.python.programs import in_order, program
from softmachine.support.arguments import validated
from softmachine.support.errors import UsageError

_MISSING: Final = object()


@dataclass(frozen=True)
class Kind:
    """A class of the other library.

    Args:
        make: Our class.
        parts: Its attributes that are expressions, in the order of our arguments.
        others: Its other attributes, likewise after those.
    """

    make: Callable[..., Expression]
    parts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


KINDS: Final[Mapping[str, Kind]] = {
    "TokensType": Kind(sequences.TokensType),
    "IndicesType": Kind(sequences.IndicesType),
    "LengthType": Kind(sequences.LengthType),
    "Full": Kind(sequences.Full, others=("fill",)),
    "Map": Kind(lambda inner, f: sequences.Map(f, inner), ("inner",), ("f",)),
    "SequenceMap": Kind(lambda fst, snd, f: sequences.SequenceMap(f, fst, snd), ("fst", "snd"), ("f",)),
    "LinearSequenceMap": Kind(sequences.LinearSequenceMap, ("fst", "snd"), ("fst_fac", "snd_fac")),
    "ConstantSOp": Kind(sequences.ConstantSOp, others=("value", "check_length")),
    "Select": Kind(
        lambda keys, queries, predicate: selectors.Select(keys, queries, _predicate(predicate)),
        ("keys", "queries"),
        ("predicate",),
    ),
    "ConstantSelector": Kind(selectors.ConstantSelector, others=("value", "check_length")),
    "SelectorAnd": Kind(selectors.SelectorAnd, ("fst", "snd")),
    "SelectorOr": Kind(selectors.SelectorOr, ("fst", "snd")),
    "SelectorNot": Kind(selectors.SelectorNot, ("inner",)),
    "SelectorWidth": Kind(selectors.SelectorWidth, ("selector",)),
    "Aggregate": Kind(selectors.Aggregate, ("selector", "sop"), ("default",)),
}
OPTIONAL: Final[Mapping[str, object]] = {"default": None, "check_length": True}
"""Attributes that need not be there."""


@validated
def from_tracr(
    output: object,
    vocabulary: Iterable[object],
    *,
    name: str | None = None,
    causal: bool = False,
    example: Iterable[object] = (),
) -> Program:
    """A program that was written as objects of the other library, which is not imported.

    Args:
        output: Its output: a sequence operator of that library.
        vocabulary: The letters that an input may have: symbols, numbers, Booleans.
        name: What people call the program; by default the name of the output.
        causal: Whether selectors see only keys up to the query.
        example: The input that it suggests.

    Raises:
        UsageError: If something in it is not known.
        ConstructionError: If it is computed from itself, is too large, or has a function that cannot be traced.
        InvalidError: If something in it means nothing.
    """
    return program(converted(output), vocabulary, name=name, causal=causal, example=example)


def converted(output: object) -> Expression:
    """Our expression for one of the other library.

    Raises:
        UsageError: If something in it is not known.
        ConstructionError: If it is computed from itself, or is too large.
    """
    done: dict[int, Expression] = {}
    for item in in_order(output, _parts, lambda item: repr(_name(item) or type(item).__name__)):
        kind, name = _kind(item), _name(item)
        others = [_attribute(item, other) for other in kind.others]
        made = kind.make(*(done[id(part)] for part in _parts(item)), *others)
        done[id(item)] = made.named(name) if name else made
    return done[id(output)]


def _kind(item: object) -> Kind:
    for base in type(item).__mro__:
        if base.__name__ in KINDS:
            return KINDS[base.__name__]
    raise UsageError(
        f"{type(item).__module__}.{type(item).__qualname__} is not known: a program is made of {', '.join(KINDS)}",
        hint="give the sequence operator that is the output of the program",
    )


def _parts(item: object) -> list[object]:
    return [_attribute(item, part) for part in _kind(item).parts]


def _attribute(item: object, name: str) -> Any:
    found = getattr(item, name, OPTIONAL.get(name, _MISSING))
    if found is _MISSING:
        raise UsageError(f"a {type(item).__name__} of the program has no attribute {name!r}")
    return found


def _name(item: object) -> str | None:
    """The name that somebody has given to an object, which is not the one that all of its class have."""
    name = getattr(item, "name", None)
    default = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(item).__name__).lower()
    return name if isinstance(name, str) and name not in (default, default.removesuffix("_type")) else None


def _predicate(predicate: Any) -> Any:
    """A comparison of the other library as ours; a function as it is."""
    if isinstance(predicate, Enum) and predicate.name in selectors.Comparison.__members__:
        return selectors.Comparison[predicate.name]
    return predicate
