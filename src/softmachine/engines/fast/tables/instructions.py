"""Bit functions that compile to a single processor instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic, overload

SIZE = 64
_WORD, _INTEGER = ir.IntType(SIZE), numba.types.int64


def how_many(bits: int) -> int:
    """Population count of a nonnegative number."""
    return int(bits).bit_count()


def first_bit(bits: int) -> int:
    """The index of the lowest bit that is 1, of a nonzero number."""
    bits = int(bits)
    return (bits & -bits).bit_length() - 1


def rotated(bits: int, count: int) -> int:
    """A 64-bit word rotated to the left."""
    whole = int(bits) & (1 << SIZE) - 1
    moved = (whole << int(count) | whole >> SIZE - int(count)) & (1 << SIZE) - 1
    return moved - (moved >> SIZE - 1 << SIZE)


@intrinsic  # type: ignore[untyped-decorator]
def _ctpop(_: Any, bits: Any) -> tuple[Any, Callable[..., Any]]:
    return _INTEGER(bits), lambda _, builder, __, given: builder.ctpop(given[0])


@intrinsic  # type: ignore[untyped-decorator]
def _cttz(_: Any, bits: Any) -> tuple[Any, Callable[..., Any]]:
    return _INTEGER(bits), lambda _, builder, __, given: builder.cttz(given[0], ir.Constant(ir.IntType(1), 1))


@intrinsic  # type: ignore[untyped-decorator]
def _fshl(_: Any, bits: Any, count: Any) -> tuple[Any, Callable[..., Any]]:
    def emitted(_: Any, builder: Any, __: Any, given: Any) -> Any:
        shifts = builder.module.declare_intrinsic("llvm.fshl", [_WORD], ir.FunctionType(_WORD, [_WORD] * 3))
        return builder.call(shifts, [given[0], given[0], given[1]])

    return _INTEGER(bits, count), emitted


# numba requires the parameter names to be the same
overload(how_many)(lambda bits: lambda bits: _ctpop(bits))  # noqa: ARG005, PLW0108
overload(first_bit)(lambda bits: lambda bits: _cttz(bits))  # noqa: ARG005, PLW0108
overload(rotated)(lambda bits, count: lambda bits, count: _fshl(bits, count))  # noqa: ARG005, PLW0108
