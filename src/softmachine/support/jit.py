"""JIT compilation by numba, cached on disk. Importing it is slow, so import it only for long runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., int | None])


def jit_compile(function: Loop) -> Loop:
    """Compile a loop to machine code, cached on disk if a writable cache exists."""
    try:
        compiled: Loop = numba.njit(cache=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written to
        compiled = numba.njit(function)
    return compiled
