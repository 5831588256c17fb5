"""Compile-time values of the RASP text form and the scopes that bind them."""

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
    """A sequence operator of the program under construction."""

    reference: str


@dataclass(frozen=True)
class SelectorThing:
    """A selector of the program under construction."""

    reference: str


@dataclass(frozen=True)
class LoopThing:
    """A variable after its loop; becomes a sequence operator on first use."""

    node: core.Repeat


@dataclass(frozen=True)
class RelationThing:
    """A comparison operator such as ``==``, as an argument of select."""

    operator: Operator


@dataclass(frozen=True)
class Closure:
    """A user-defined function with its defining scope."""

    definition: trees.Function
    scope: Scope = field(repr=False)
    known: bool = False
    """Whether it comes from the library or from a loaded file; errors inside are reported at the call."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.definition.name


@dataclass(frozen=True)
class Primitive:
    """A built-in function.

    Args:
        name: The name.
        usage: A sample call, for messages.
        counts: The allowed numbers of arguments.
        call: The implementation.
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
    """A nested scope: bindings of names to compile-time values."""

    def __init__(self, outer: Scope | None = None, names: Mapping[str, Thing] | None = None) -> None:
        self.outer = outer
        self.names: dict[str, Thing] = dict(names or {})

    def find(self, name: str) -> Scope | None:
        """The innermost scope that binds a name."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope

    def known(self) -> set[str]:
        """All names that are bound here or in an enclosing scope."""
        return set(self.names) | (self.outer.known() if self.outer else set())


def is_value(value: Thing) -> TypeGuard[Value]:
    """Whether a compile-time value is a value that a sequence operator may have at a position."""
    if isinstance(value, tuple):
        return all(map(is_value, value))
    return value is None or isinstance(value, str) or is_number(value)  # type: ignore[arg-type]


def described(value: Thing) -> str:
    """The kind of a compile-time value, for messages."""
    match value:
        case SequenceThing() | LoopThing():
            return "a sequence operator"
        case SelectorThing():
            return "a selector"
        case RelationThing():
            return "a comparison"
        case Closure() | Primitive():
            return f"the function {value.name!r}"
        case list():
            return "a list"
        case dict():
            return "a dictionary"
        case str():
            return "a symbol"
        case bool() | None:
            return str(value)
        case tuple():
            return "a tuple"
        case _:
            return "a number"
