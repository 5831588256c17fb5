"""Intrinsics of compiled code: unchecked array access by raw pointers, and single-instruction bit functions.

numba checks every array index for being negative, to count from the end. That costs as much as the rest of a large
model's work on the number, so its code gets pointers. Nothing may be read or written outside of the array, and the
array has to outlive the pointer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.extending import intrinsic, models, overload, register_model

from softmachine.engines.fast.indexes.kernels import Function, Integers


class Constants(numba.types.CPointer):  # type: ignore[misc]
    """A pointer to integers that do not change: a load need not be repeated after a store elsewhere."""

    def __init__(self) -> None:
        super().__init__(numba.types.int64)
        self.name = "constants"


POINTER, CONSTANTS = numba.types.CPointer(numba.types.int64), Constants()
register_model(Constants)(models.PointerModel)


@lower_builtin(operator.getitem, Constants, numba.types.Integer)  # type: ignore[untyped-decorator]
def _read_constant(_: Any, builder: Any, __: Any, given: tuple[Any, ...]) -> Any:
    number = builder.load(builder.gep(given[0], [given[1]]))
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return number


def pointer(array: Integers) -> Integers:
    """A pointer to an array of integers, indexed like the array; in plain Python, the array."""
    return array


def constants(array: Integers) -> Integers:
    """A pointer to an array that is not modified while the code runs."""
    return array


def _address(context: Any, builder: Any, signature: Any, given: tuple[Any, ...]) -> Any:
    return cgutils.create_struct_proxy(signature.args[0])(context, builder, given[0]).data


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(_: Any, array: Any) -> tuple[Any, Callable[..., Any]]:
    return POINTER(array), _address


@intrinsic  # type: ignore[untyped-decorator]
def _constants(_: Any, array: Any) -> tuple[Any, Callable[..., Any]]:
    return CONSTANTS(array), _address


CONTIGUOUS = numba.types.int64[::1]
# numba requires the parameter names to be the same; only contiguous int64 arrays are supported
overload(pointer)(lambda array: (lambda array: _pointer(array)) if array == CONTIGUOUS else None)  # noqa: PLW0108
overload(constants)(lambda array: (lambda array: _constants(array)) if array == CONTIGUOUS else None)  # noqa: PLW0108


def inline_kernel(function: Function) -> Function:
    """A kernel that is inlined into its callers: a call costs as much as its body."""
    compiled: Function = numba.njit(inline="always")(function)
    return compiled


WORD_BITS = 64
_WORD, _INTEGER = ir.IntType(WORD_BITS), numba.types.int64


def popcount(bits: int) -> int:
    """Population count of a nonnegative number."""
    return int(bits).bit_count()


def count_trailing_zeros(bits: int) -> int:
    """The index of the lowest bit that is 1, of a nonzero number."""
    bits = int(bits)
    return (bits & -bits).bit_length() - 1


def rotate_left(bits: int, count: int) -> int:
    """A 64-bit word rotated to the left."""
    whole = int(bits) & (1 << WORD_BITS) - 1
    moved = (whole << int(count) | whole >> WORD_BITS - int(count)) & (1 << WORD_BITS) - 1
    return moved - (moved >> WORD_BITS - 1 << WORD_BITS)


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
overload(popcount)(lambda bits: lambda bits: _ctpop(bits))  # noqa: ARG005, PLW0108
overload(count_trailing_zeros)(lambda bits: lambda bits: _cttz(bits))  # noqa: ARG005, PLW0108
overload(rotate_left)(lambda bits, count: lambda bits, count: _fshl(bits, count))  # noqa: ARG005, PLW0108
