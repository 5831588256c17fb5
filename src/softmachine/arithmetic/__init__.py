"""What a number is: rationals, floats that know how wrong they can be or do not, balls around reals, fixed point."""

from __future__ import annotations

from typing import Any

from softmachine.arithmetic.base import Arithmetic, Tensor, UndecidedError, UnrepresentableError
from softmachine.errors import UsageError

__all__ = [
    "ARITHMETICS",
    "LOW",
    "PLAIN",
    "Arithmetic",
    "Tensor",
    "UndecidedError",
    "UnrepresentableError",
    "arithmetic",
]

ARITHMETICS = ("exact", "float64", "float32", "ball", "fixed:B")
LOW = ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int8")
"""Small formats, in which numbers are stored; sums are computed wide."""
PLAIN = ("float64", "float32", "float16")


def arithmetic(name: str | Arithmetic[Any]) -> Arithmetic[Any]:
    """The arithmetic of this name.

    "ball:256" are balls of 256 bits, "float32:plain" is float32 without bounds; "fixed:8" are fixed-point numbers with
    8 integer and 8 fractional bits, and "fixed:8:20" has 20 of each inside attention.
    """
    if isinstance(name, Arithmetic):
        return name
    if name == "exact":
        from softmachine.arithmetic.exact import Exact

        return Exact()
    kind, _, bits = name.partition(":")
    if kind == "ball" and (name == kind or bits.isdecimal()):
        from softmachine.arithmetic.ball import BITS, Ball

        return Ball(int(bits or BITS))
    if kind == "fixed":
        from softmachine.arithmetic.fixed import Fixed

        return Fixed(*_precisions(name, bits))
    if kind in PLAIN and bits == "plain":
        from softmachine.arithmetic.plain import PlainFloat

        return PlainFloat(kind)
    if name == "int8":
        from softmachine.arithmetic.integers import Int8

        return Int8()
    if name in LOW:
        from softmachine.arithmetic.rounded import Rounded

        return Rounded(name)
    if name in ("float64", "float32"):
        from softmachine.arithmetic.floating import Float

        return Float(name)
    raise UsageError(
        f"there is no arithmetic {name!r}",
        hint=f"choose {', '.join(ARITHMETICS + LOW)}; ball:256 are balls of 256 bits, float32:plain is float32 without "
        "error bounds, fixed:8 has 8 integer and 8 fractional bits",
    )


def _precisions(name: str, bits: str) -> list[int]:
    """The one or two precisions in the name of a fixed-point arithmetic."""
    parts = bits.split(":")
    if len(parts) > 2 or not all(part.isascii() and part.isdecimal() and len(part) < 100 for part in parts):
        raise UsageError(
            f"{name!r} does not say how many bits fixed-point numbers have",
            hint="write fixed:8 for 8 integer and 8 fractional bits, fixed:8:20 for 20 of each inside attention",
        )
    return list(map(int, parts))
