"""Base class of the expressions of the Python dialects, and argument checks.

A mixin maps Python's operators to core operations, for sequence operators and symbolic values.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

from softmachine.languages.rasp.ir import Operator, Value
from softmachine.languages.rasp.python.typed_builder import NullableSequence, TypedBuilder
from softmachine.languages.rasp.values import to_value
from softmachine.support.errors import SourceLocation, UsageError

PACKAGE_FOLDER: Final = str(Path(__file__).parents[3])


def find_caller() -> SourceLocation | None:
    """The current line of the user's program: the innermost stack frame outside softmachine."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno)


class Expression(ABC):
    """A sequence operator or a selector.

    Expressions are compared by identity, may have a name, and record the source line that created them.
    """

    default_name: str
    kind: str
    """``sequence operator`` or ``selector``, for messages."""
    operand_names: ClassVar[tuple[str, ...]] = ()
    """The attributes that are operands, in order."""

    def __init__(self) -> None:
        self.place = find_caller()
        self._annotations: dict[str, Any] = {}

    @property
    def children(self) -> Sequence[Expression]:
        """The operand expressions."""
        return [getattr(self, name) for name in self.operand_names]

    @abstractmethod
    def define(self, builder: TypedBuilder, *children: Any) -> NullableSequence | str:
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


def check_value(item: object, place: SourceLocation | None) -> Value:
    """Convert a Python object to a constant of a program.

    Raises:
        UsageError: If it is not a value.
    """
    if isinstance(item, Expression):
        raise UsageError(f"expected a value, not the expression {item.name!r}")
    try:
        return to_value(item)
    except ValueError as error:
        raise usage_error(f"invalid constant: {error}", place) from None


def check_function(item: object, description: str, place: SourceLocation | None, hint: str) -> Callable[..., Any]:
    """Check that an argument is a function and return it.

    Raises:
        UsageError: If it is not a function.
    """
    if not callable(item) or isinstance(item, Expression):
        raise usage_error(f"{description} must be a function, not {describe_object(item)}", place, hint)
    return item


def usage_error(message: str, place: SourceLocation | None, hint: str | None = None) -> UsageError:
    """A usage error in the construction of an expression, with its place."""
    error = UsageError(message, hint=hint)
    error.place = place
    return error


def describe_object(item: object) -> str:
    """The kind of an object, for messages."""
    return f"the {item.kind} {item.name!r}" if isinstance(item, Expression) else f"a {type(item).__name__}"


ResultT = TypeVar("ResultT")


class Operators(Generic[ResultT]):
    """Objects that support Python's operators.

    ``==`` creates a new object as well, so hashing is by identity.
    """

    @abstractmethod
    def operate(self, operator: Operator, *operands: object) -> ResultT:
        """Apply an operation to operands, one of which is this object."""

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> ResultT:
        return self.operate(Operator.ADD, self, other)

    def __radd__(self, other: Any) -> ResultT:
        return self.operate(Operator.ADD, other, self)

    def __sub__(self, other: Any) -> ResultT:
        return self.operate(Operator.SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> ResultT:
        return self.operate(Operator.SUBTRACT, other, self)

    def __mul__(self, other: Any) -> ResultT:
        return self.operate(Operator.MULTIPLY, self, other)

    def __rmul__(self, other: Any) -> ResultT:
        return self.operate(Operator.MULTIPLY, other, self)

    def __truediv__(self, other: Any) -> ResultT:
        return self.operate(Operator.DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> ResultT:
        return self.operate(Operator.DIVIDE, other, self)

    def __floordiv__(self, other: Any) -> ResultT:
        return self.operate(Operator.FLOOR_DIVIDE, self, other)

    def __rfloordiv__(self, other: Any) -> ResultT:
        return self.operate(Operator.FLOOR_DIVIDE, other, self)

    def __mod__(self, other: Any) -> ResultT:
        return self.operate(Operator.MODULO, self, other)

    def __rmod__(self, other: Any) -> ResultT:
        return self.operate(Operator.MODULO, other, self)

    def __pow__(self, other: Any) -> ResultT:
        return self.operate(Operator.POWER, self, other)

    def __rpow__(self, other: Any) -> ResultT:
        return self.operate(Operator.POWER, other, self)

    def __neg__(self) -> ResultT:
        return self.operate(Operator.NEGATE, self)

    def __abs__(self) -> ResultT:
        return self.operate(Operator.ABSOLUTE, self)

    def __lt__(self, other: Any) -> ResultT:
        return self.operate(Operator.LESS, self, other)

    def __le__(self, other: Any) -> ResultT:
        return self.operate(Operator.AT_MOST, self, other)

    def __gt__(self, other: Any) -> ResultT:
        return self.operate(Operator.GREATER, self, other)

    def __ge__(self, other: Any) -> ResultT:
        return self.operate(Operator.AT_LEAST, self, other)

    def __eq__(self, other: Any) -> ResultT:  # type: ignore[override]
        return self.operate(Operator.EQUAL, self, other)

    def __ne__(self, other: Any) -> ResultT:  # type: ignore[override]
        return self.operate(Operator.UNEQUAL, self, other)

    def __and__(self, other: Any) -> ResultT:
        return self.operate(Operator.AND, self, other)

    def __rand__(self, other: Any) -> ResultT:
        return self.operate(Operator.AND, other, self)

    def __or__(self, other: Any) -> ResultT:
        return self.operate(Operator.OR, self, other)

    def __ror__(self, other: Any) -> ResultT:
        return self.operate(Operator.OR, other, self)

    def __invert__(self) -> ResultT:
        return self.operate(Operator.NOT, self)
