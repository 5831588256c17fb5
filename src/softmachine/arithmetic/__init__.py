"""What a number is: exact rationals, and floats that know how wrong they can be."""

from __future__ import annotations

from typing import Any

from softmachine.arithmetic.base import Arithmetic, Tensor, UndecidedError
from softmachine.errors import UsageError

__all__ = ["ARITHMETICS", "Arithmetic", "Tensor", "UndecidedError", "arithmetic"]

ARITHMETICS = ("exact", "float64", "float32")


def arithmetic(name: str | Arithmetic[Any]) -> Arithmetic[Any]:
    """The arithmetic of this name."""
    if isinstance(name, Arithmetic):
        return name
    if name == "exact":
        from softmachine.arithmetic.exact import Exact

        return Exact()
    if name in ARITHMETICS:
        from softmachine.arithmetic.floating import Float

        return Float(name)
    raise UsageError(f"there is no arithmetic {name!r}", hint=f"choose one of {', '.join(ARITHMETICS)}")
