"""What all expressions of the Python dialects have in common: names, marks, and how one is made into a program."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self, TypeVar

from softmachine.languages.rasp.core import Value
from softmachine.languages.rasp.python.draft import Column, Draft
from softmachine.languages.rasp.python.python_values import value_of
from softmachine.support.errors import Place, UsageError

HERE: Final = str(Path(__file__).parents[3])


def place_of_caller() -> Place | None:
    """The line of the user's program that is being executed."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)


class Expression(ABC):
    """A sequence operator or a selector.

    It is told apart from others by identity, can have a name, and remembers where it was written.
    """

    default_name: str
    kind: str
    """Sequence operator, or selector."""

    def __init__(self) -> None:
        self.place = place_of_caller()
        self._annotations: dict[str, Any] = {}

    @property
    @abstractmethod
    def children(self) -> Sequence[Expression]:
        """The expressions that it is computed from."""

    @abstractmethod
    def define(self, draft: Draft, *children: Any) -> Column | str:
        """Add the operations that compute it, from what its children have become."""

    @property
    def name(self) -> str:
        """What people call it."""
        return str(self._annotations.get("name", self.default_name))

    @property
    def label(self) -> str:
        """The same."""
        return self.name

    @property
    def is_named(self) -> bool:
        """Whether somebody has given it a name."""
        return "name" in self._annotations

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The marks that it has."""
        return MappingProxyType({"name": self.name, **self._annotations})

    def annotated(self, **marks: Any) -> Self:
        """The same expression, with marks."""
        self._annotations.update(marks)
        return self

    def named(self, name: str) -> Self:
        """The same expression, with a name."""
        return self.annotated(name=name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


ExpressionT = TypeVar("ExpressionT", bound=Expression)


def annotate(expression: ExpressionT, **marks: Any) -> ExpressionT:
    """The same expression, with marks."""
    return expression.annotated(**marks)


def checked_value(item: object, place: Place | None) -> Value:
    """A constant of a program.

    Raises:
        UsageError: If it is no value.
    """
    if isinstance(item, Expression):
        raise UsageError(f"a value is needed, and {item.name!r} is an expression")
    try:
        return value_of(item)
    except ValueError as error:
        raise usage(f"this constant means nothing: {error}", place) from None


def checked_function(item: object, what: str, place: Place | None, hint: str) -> Callable[..., Any]:
    """A function.

    Raises:
        UsageError: If it is none.
    """
    if not callable(item) or isinstance(item, Expression):
        raise usage(f"{what} is a function, not {described(item)}", place, hint)
    return item


def usage(message: str, place: Place | None, hint: str | None = None) -> UsageError:
    """A mistake in how an expression is made, with the line where it is."""
    error = UsageError(message, hint=hint)
    error.place = place
    return error


def described(item: object) -> str:
    """What something is, in words."""
    return f"the {item.kind} {item.name!r}" if isinstance(item, Expression) else f"a {type(item).__name__}"
