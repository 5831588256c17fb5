"""Base class of the expressions of the Python dialects, and argument checks."""

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
    """The current line of the user's program: the innermost stack frame outside softmachine."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)


class Expression(ABC):
    """A sequence operator or a selector.

    Expressions are compared by identity, may have a name, and record the source line that created them.
    """

    default_name: str
    kind: str
    """``sequence operator`` or ``selector``, for messages."""

    def __init__(self) -> None:
        self.place = place_of_caller()
        self._annotations: dict[str, Any] = {}

    @property
    @abstractmethod
    def children(self) -> Sequence[Expression]:
        """The operand expressions."""

    @abstractmethod
    def define(self, builder: Draft, *children: Any) -> Column | str:
        """Add the operations that compute the expression, given the lowered children."""

    @property
    def name(self) -> str:
        """The name given by the user, or the default name of the class."""
        return str(self._annotations.get("name", self.default_name))

    @property
    def label(self) -> str:
        """Alias of `name`."""
        return self.name

    @property
    def is_named(self) -> bool:
        """Whether the user has given it a name."""
        return "name" in self._annotations

    @property
    def annotations(self) -> Mapping[str, Any]:
        """All annotations, including the name."""
        return MappingProxyType({"name": self.name, **self._annotations})

    def annotated(self, **marks: Any) -> Self:
        """Add annotations and return the expression itself."""
        self._annotations.update(marks)
        return self

    def named(self, name: str) -> Self:
        """Set the name and return the expression itself."""
        return self.annotated(name=name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


ExpressionT = TypeVar("ExpressionT", bound=Expression)


def annotate(expression: ExpressionT, **marks: Any) -> ExpressionT:
    """Add annotations to an expression and return it."""
    return expression.annotated(**marks)


def checked_value(item: object, place: Place | None) -> Value:
    """Convert a Python object to a constant of a program.

    Raises:
        UsageError: If it is not a value.
    """
    if isinstance(item, Expression):
        raise UsageError(f"expected a value, not the expression {item.name!r}")
    try:
        return value_of(item)
    except ValueError as error:
        raise usage(f"invalid constant: {error}", place) from None


def checked_function(item: object, what: str, place: Place | None, hint: str) -> Callable[..., Any]:
    """Check that an argument is a function and return it.

    Raises:
        UsageError: If it is not a function.
    """
    if not callable(item) or isinstance(item, Expression):
        raise usage(f"{what} must be a function, not {described(item)}", place, hint)
    return item


def usage(message: str, place: Place | None, hint: str | None = None) -> UsageError:
    """A usage error in the construction of an expression, with its place."""
    error = UsageError(message, hint=hint)
    error.place = place
    return error


def described(item: object) -> str:
    """The kind of an object, for messages."""
    return f"the {item.kind} {item.name!r}" if isinstance(item, Expression) else f"a {type(item).__name__}"
