"""Mixin that maps Python's operators to core operations, for sequence operators and symbolic values."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from softmachine.languages.rasp.core import Operator

Result = TypeVar("Result")


class Operators(Generic[Result]):
    """Objects that support Python's operators.

    ``==`` creates a new object as well, so hashing is by identity.
    """

    @abstractmethod
    def operate(self, operator: Operator, *operands: object) -> Result:
        """Apply an operation to operands, one of which is this object."""

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Result:
        return self.operate(Operator.ADD, self, other)

    def __radd__(self, other: Any) -> Result:
        return self.operate(Operator.ADD, other, self)

    def __sub__(self, other: Any) -> Result:
        return self.operate(Operator.SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> Result:
        return self.operate(Operator.SUBTRACT, other, self)

    def __mul__(self, other: Any) -> Result:
        return self.operate(Operator.MULTIPLY, self, other)

    def __rmul__(self, other: Any) -> Result:
        return self.operate(Operator.MULTIPLY, other, self)

    def __truediv__(self, other: Any) -> Result:
        return self.operate(Operator.DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> Result:
        return self.operate(Operator.DIVIDE, other, self)

    def __floordiv__(self, other: Any) -> Result:
        return self.operate(Operator.FLOOR_DIVIDE, self, other)

    def __rfloordiv__(self, other: Any) -> Result:
        return self.operate(Operator.FLOOR_DIVIDE, other, self)

    def __mod__(self, other: Any) -> Result:
        return self.operate(Operator.MODULO, self, other)

    def __rmod__(self, other: Any) -> Result:
        return self.operate(Operator.MODULO, other, self)

    def __pow__(self, other: Any) -> Result:
        return self.operate(Operator.POWER, self, other)

    def __rpow__(self, other: Any) -> Result:
        return self.operate(Operator.POWER, other, self)

    def __neg__(self) -> Result:
        return self.operate(Operator.NEGATE, self)

    def __abs__(self) -> Result:
        return self.operate(Operator.ABSOLUTE, self)

    def __lt__(self, other: Any) -> Result:
        return self.operate(Operator.LESS, self, other)

    def __le__(self, other: Any) -> Result:
        return self.operate(Operator.AT_MOST, self, other)

    def __gt__(self, other: Any) -> Result:
        return self.operate(Operator.GREATER, self, other)

    def __ge__(self, other: Any) -> Result:
        return self.operate(Operator.AT_LEAST, self, other)

    def __eq__(self, other: Any) -> Result:  # type: ignore[override]
        return self.operate(Operator.EQUAL, self, other)

    def __ne__(self, other: Any) -> Result:  # type: ignore[override]
        return self.operate(Operator.UNEQUAL, self, other)

    def __and__(self, other: Any) -> Result:
        return self.operate(Operator.AND, self, other)

    def __rand__(self, other: Any) -> Result:
        return self.operate(Operator.AND, other, self)

    def __or__(self, other: Any) -> Result:
        return self.operate(Operator.OR, self, other)

    def __ror__(self, other: Any) -> Result:
        return self.operate(Operator.OR, other, self)

    def __invert__(self) -> Result:
        return self.operate(Operator.NOT, self)
