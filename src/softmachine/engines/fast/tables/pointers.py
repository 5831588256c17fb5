"""Arrays as addresses: what compiled code reads and writes without asking how large an array is.

For every index of an array numba asks whether it is negative, and then counts from the end. That takes as long as all
that a large model is to do with the number, so its code is given addresses. Nothing may be read or written outside of
the array; and the array has to be there as long as its address is.
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
    """The address of integers that do not change: what was read need not be read again after something was written."""

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
    """The address of an array of integers, indexed as the array is; in plain Python, the array."""
    return array


def constants(array: Integers) -> Integers:
    """The same of an array that nobody changes as long as the code runs."""
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
# Numba asks for functions of the same names; of anything but such arrays there is none.
overload(pointer)(lambda array: (lambda array: _pointer(array)) if array == WHOLE else None)  # noqa: PLW0108
overload(constants)(lambda array: (lambda array: _constants(array)) if array == WHOLE else None)  # noqa: PLW0108


def inlined(function: Function) -> Function:
    """A kernel that becomes part of every function that calls it: a call takes as long as what it does."""
    compiled: Function = numba.njit(inline="always")(function)
    return compiled
