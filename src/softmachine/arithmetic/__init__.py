"""What a number is: exact rationals, floats that know how wrong they can be or do not, balls around real numbers."""

from __future__ import annotations

from typing import Any

from softmachine.arithmetic.base import Arithmetic, Tensor, UndecidedError
from softmachine.errors import UsageError

__all__ = ["ARITHMETICS", "PLAIN", "Arithmetic", "Tensor", "UndecidedError", "arithmetic"]

ARITHMETICS = ("exact", "float64", "float32", "ball")
PLAIN = ("float64", "float32", "float16")


def arithmetic(name: str | Arithmetic[Any]) -> Arithmetic[Any]:
    """The arithmetic of this name; "ball:256" are balls of 256 bits, "float32:plain" is float32 without bounds."""
    if isinstance(name, Arithmetic):
        return name
    if name == "exact":
        from softmachine.arithmetic.exact import Exact

        return Exact()
    kind, _, bits = name.partition(":")
    if kind == "ball" and (name == kind or bits.isdecimal()):
        from softmachine.arithmetic.ball import BITS, Ball

        return Ball(int(bits or BITS))
    if kind in PLAIN and bits == "plain":
        from softmachine.arithmetic.plain import PlainFloat

        return PlainFloat(kind)
    if name in ARITHMETICS:
        from softmachine.arithmetic.floating import Float

        return Float(name)
    raise UsageError(
        f"there is no arithmetic {name!r}",
        hint=f"choose one of {', '.join(ARITHMETICS)}; ball:256 are balls of 256 bits, float32:plain has no bounds",
    )
