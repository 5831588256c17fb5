"""Arrays as addresses: what compiled code reads and writes without asking how large an array is.

For every index of an array numba asks whether it is negative, and then counts from the end. That takes as long as all
that a large model is to do with the number, so its code is given addresses. Nothing may be read or written outside of
the array; and the array has to be there as long as its address is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import cgutils
from numba.extending import intrinsic, overload

from softmachine.engines.fast.indexes.kernels import Function, Integers

POINTER = numba.types.CPointer(numba.types.int64)


def pointer(array: Integers) -> Integers:
    """The address of an array of integers, indexed as the array is; in plain Python, the array."""
    return array


@intrinsic  # type: ignore[untyped-decorator]
def _address(_: Any, array: numba.types.Array) -> tuple[Any, Callable[..., Any]]:
    def found(context: Any, builder: Any, signature: Any, arguments: tuple[Any, ...]) -> Any:
        return cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0]).data

    return POINTER(array), found


@overload(pointer)  # type: ignore[untyped-decorator]
def _pointer(array: Any) -> Callable[..., Any] | None:
    def compiled(array: Any) -> Any:
        return _address(array)

    return compiled if array == numba.types.int64[::1] else None


def inlined(function: Function) -> Function:
    """A kernel that becomes part of every function that calls it: a call takes as long as what it does."""
    compiled: Function = numba.njit(inline="always")(function)
    return compiled
