"""Conversion of tracr programs, matched by class and attribute names without importing tracr."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from softmachine.languages.rasp.program import RaspProgram
from softmachine.languages.rasp.python import selectors, sequences
from softmachine.languages.rasp.python.expression import Expression
from softmachine.languages.rasp.python.lowering import program, topological_order
from softmachine.support.argument_validation import validate_arguments
from softmachine.support.errors import UsageError

_MISSING: Final = object()


@dataclass(frozen=True)
class NodeKind:
    """The conversion of one tracr class.

    Args:
        build: The corresponding class, or a function that builds it.
        operands: The attributes that are expressions, in the order of the arguments of ``make``.
        options: The other attributes, which follow in the arguments.
    """

    build: Callable[..., Expression]
    operands: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


KINDS: Final[Mapping[str, NodeKind]] = {
    "TokensType": NodeKind(sequences.TokensType),
    "IndicesType": NodeKind(sequences.IndicesType),
    "LengthType": NodeKind(sequences.LengthType),
    "Full": NodeKind(sequences.Full, options=("fill",)),
    "Map": NodeKind(lambda inner, f: sequences.Map(f, inner), ("inner",), ("f",)),
    "SequenceMap": NodeKind(lambda fst, snd, f: sequences.SequenceMap(f, fst, snd), ("fst", "snd"), ("f",)),
    "LinearSequenceMap": NodeKind(sequences.LinearSequenceMap, ("fst", "snd"), ("fst_fac", "snd_fac")),
    "ConstantSOp": NodeKind(sequences.ConstantSOp, options=("value", "check_length")),
    "Select": NodeKind(
        lambda keys, queries, predicate: selectors.Select(keys, queries, _predicate(predicate)),
        ("keys", "queries"),
        ("predicate",),
    ),
    "ConstantSelector": NodeKind(selectors.ConstantSelector, options=("value", "check_length")),
    "SelectorAnd": NodeKind(selectors.SelectorAnd, ("fst", "snd")),
    "SelectorOr": NodeKind(selectors.SelectorOr, ("fst", "snd")),
    "SelectorNot": NodeKind(selectors.SelectorNot, ("inner",)),
    "SelectorWidth": NodeKind(selectors.SelectorWidth, ("selector",)),
    "Aggregate": NodeKind(selectors.Aggregate, ("selector", "sop"), ("default",)),
}
OPTIONAL_ATTRIBUTES: Final[Mapping[str, object]] = {"default": None, "check_length": True}
"""Optional attributes with their defaults."""


@validate_arguments
def from_tracr(
    output: object,
    vocabulary: Iterable[object],
    *,
    name: str | None = None,
    causal: bool = False,
    example: Iterable[object] = (),
) -> RaspProgram:
    """Convert a tracr program. tracr is not imported.

    Args:
        output: The output of the program: a sequence operator of tracr.
        vocabulary: The input letters: symbols, numbers, Booleans.
        name: The name of the program; by default the name of the output.
        causal: Whether selectors see only keys up to the query.
        example: The suggested input.

    Raises:
        UsageError: If it contains an object of an unknown class.
        ConstructionError: If it is cyclic or too large, or has a function that cannot be traced.
        InvalidError: If an expression is invalid.
    """
    return program(convert(output), vocabulary, name=name, causal=causal, example=example)


def convert(output: object) -> Expression:
    """Convert a tracr expression.

    Raises:
        UsageError: If it contains an object of an unknown class.
        ConstructionError: If it is cyclic or too large.
    """
    done: dict[int, Expression] = {}
    for item in topological_order(output, _parts, lambda item: repr(_name(item) or type(item).__name__)):
        kind, name = _kind(item), _name(item)
        others = [_attribute(item, other) for other in kind.options]
        made = kind.build(*(done[id(part)] for part in _parts(item)), *others)
        done[id(item)] = made.named(name) if name else made
    return done[id(output)]


def _kind(item: object) -> NodeKind:
    for base in type(item).__mro__:
        if base.__name__ in KINDS:
            return KINDS[base.__name__]
    raise UsageError(
        f"unknown class {type(item).__module__}.{type(item).__qualname__}; a program may contain {', '.join(KINDS)}",
        hint="pass the sequence operator that is the output of the program",
    )


def _parts(item: object) -> list[object]:
    return [_attribute(item, part) for part in _kind(item).operands]


def _attribute(item: object, name: str) -> Any:
    found = getattr(item, name, OPTIONAL_ATTRIBUTES.get(name, _MISSING))
    if found is _MISSING:
        raise UsageError(f"a {type(item).__name__} of the program has no attribute {name!r}")
    return found


def _name(item: object) -> str | None:
    """The name that the user has given to an object; None if it is the default name of its class."""
    name = getattr(item, "name", None)
    default = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(item).__name__).lower()
    return name if isinstance(name, str) and name not in (default, default.removesuffix("_type")) else None


def _predicate(predicate: Any) -> Any:
    """Convert a tracr comparison; functions are returned unchanged."""
    if isinstance(predicate, Enum) and predicate.name in selectors.Comparison.__members__:
        return selectors.Comparison[predicate.name]
    return predicate
