"""Core operations as Python functions on concrete and symbolic values."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from softmachine.languages.rasp.core import COMPARISONS, Operator, Value
from softmachine.languages.rasp.values import is_number

_FUNCTIONS: Final[Mapping[Operator, Callable[..., Any]]] = {
    Operator.ADD: python.add,
    Operator.SUBTRACT: python.sub,
    Operator.MULTIPLY: python.mul,
    Operator.DIVIDE: python.truediv,
    Operator.FLOOR_DIVIDE: python.floordiv,
    Operator.MODULO: python.mod,
    Operator.POWER: python.pow,
    Operator.NEGATE: python.neg,
    Operator.ABSOLUTE: abs,
    Operator.EQUAL: python.eq,
    Operator.UNEQUAL: python.ne,
    Operator.LESS: python.lt,
    Operator.AT_MOST: python.le,
    Operator.GREATER: python.gt,
    Operator.AT_LEAST: python.ge,
    Operator.AND: lambda left, right: left and right,
    Operator.OR: lambda left, right: left or right,
    Operator.NOT: python.not_,
}


@dataclass(frozen=True)
class Elementary:
    """An operation of both Python and the core.

    Args:
        operator: The core operator.
    """

    operator: Operator

    @property
    def __name__(self) -> str:
        return self.operator.value

    def __call__(self, *operands: Any) -> Any:
        """Apply the operation as Python does."""
        return _FUNCTIONS[self.operator](*operands)

    def agrees(self, domains: Sequence[Sequence[Value] | None]) -> bool:
        """Whether the core and Python agree on these domains; None stands for unbounded numbers."""
        values = [value for domain in domains for value in domain or ()]
        if self.operator in (Operator.AND, Operator.OR, Operator.NOT):
            return None not in domains and all(isinstance(value, bool) for value in values)
        if self.operator in COMPARISONS and all(isinstance(value, str) for value in values) and None not in domains:
            return True
        if self.operator in (Operator.EQUAL, Operator.UNEQUAL):
            return None not in values
        return all(map(is_number, values))
