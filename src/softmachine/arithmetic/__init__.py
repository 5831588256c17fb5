"""What a number is: exact rationals, floats that know how wrong they can be or do not, balls around real numbers."""

from __future__ import annotations

from typing import Any

from softmachine.arithmetic.base import Arithmetic, Tensor, UndecidedError
from softmachine.errors import UsageError

__all__ = ["ARITHMETICS", "LOW", "PLAIN", "Arithmetic", "Tensor", "UndecidedError", "arithmetic"]

ARITHMETICS = ("exact", "float64", "float32", "ball")
LOW = ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int8")
"""Small formats, in which numbers are stored; sums are computed wide."""
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
    if name == "int8":
        from softmachine.arithmetic.integers import Int8

        return Int8()
    if name in LOW:
        from softmachine.arithmetic.rounded import Rounded

        return Rounded(name)
    if name in ARITHMETICS:
        from softmachine.arithmetic.floating import Float

        return Float(name)
    raise UsageError(
        f"there is no arithmetic {name!r}",
        hint=f"choose {', '.join(ARITHMETICS + LOW)}; ball:256 are balls of 256 bits, float32:plain has no bounds",
    )
