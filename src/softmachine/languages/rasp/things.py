"""What names stand for while a text is read: sequence operators and selectors, and what is gone by the end of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from softmachine.languages.rasp import core, trees
from softmachine.languages.rasp.core import Operator, Value
from softmachine.languages.rasp.values import is_number

if TYPE_CHECKING:
    from softmachine.languages.rasp.terms import Terms


@dataclass(frozen=True)
class SequenceThing:
    """A sequence operator."""

    reference: str


@dataclass(frozen=True)
class SelectorThing:
    """A selector."""

    reference: str


@dataclass(frozen=True)
class LoopThing:
    """A variable after its loop: a sequence operator as soon as it is used."""

    node: core.Repeat


@dataclass(frozen=True)
class RelationThing:
    """``==`` and the like, as an argument of select."""

    operator: Operator


@dataclass(frozen=True)
class Closure:
    """A function that a text defines, with the names around it."""

    definition: trees.Function
    scope: Scope = field(repr=False)
    known: bool = False
    """Whether it is one of the library."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.definition.name


@dataclass(frozen=True)
class Primitive:
    """A function of the language itself.

    Args:
        name: What it is called.
        usage: How it is called, for messages.
        counts: How many arguments it takes.
        call: What it does.
    """

    name: str
    usage: str
    counts: tuple[int, ...]
    call: Callable[[Terms, list[Any], trees.Call], Thing]


Thing: TypeAlias = (
    Value
    | SequenceThing
    | SelectorThing
    | LoopThing
    | RelationThing
    | Closure
    | Primitive
    | list[Any]
    | dict[Any, Any]
    | tuple[Any, ...]
)


class Scope:
    """Names and what they stand for, inside of others."""

    def __init__(self, outer: Scope | None = None, names: Mapping[str, Thing] | None = None) -> None:
        self.outer = outer
        self.names: dict[str, Thing] = dict(names or {})

    def find(self, name: str) -> Scope | None:
        """The innermost scope that has a name."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope

    def known(self) -> set[str]:
        """All names."""
        return set(self.names) | (self.outer.known() if self.outer else set())


def is_value(thing: Thing) -> TypeGuard[Value]:
    """Whether something is a value that a sequence operator may have at a position."""
    if isinstance(thing, tuple):
        return all(map(is_value, thing))
    return thing is None or isinstance(thing, str) or is_number(thing)  # type: ignore[arg-type]


def described(thing: Thing) -> str:
    """What something is, in words."""
    match thing:
        case SequenceThing() | LoopThing():
            return "a sequence operator"
        case SelectorThing():
            return "a selector"
        case RelationThing():
            return "a comparison"
        case Closure() | Primitive():
            return f"the function {thing.name!r}"
        case list():
            return "a list"
        case dict():
            return "a dictionary"
        case str():
            return "a symbol"
        case bool() | None:
            return str(thing)
        case tuple():
            return "a tuple"
        case _:
            return "a number"
