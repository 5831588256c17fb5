"""Arrays as raw pointers, which compiled code reads and writes without bounds handling.

numba checks every array index for being negative, to count from the end. That costs as much as the rest of a large
model's work on the number, so its code gets pointers. Nothing may be read or written outside of the array, and the
array has to outlive the pointer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numba
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


WHOLE = numba.types.int64[::1]
# numba requires the parameter names to be the same; only contiguous int64 arrays are supported
overload(pointer)(lambda array: (lambda array: _pointer(array)) if array == WHOLE else None)  # noqa: PLW0108
overload(constants)(lambda array: (lambda array: _constants(array)) if array == WHOLE else None)  # noqa: PLW0108


def inlined(function: Function) -> Function:
    """A kernel that is inlined into its callers: a call costs as much as its body."""
    compiled: Function = numba.njit(inline="always")(function)
    return compiled
