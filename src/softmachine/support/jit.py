"""Loops as machine code. Importing this takes long, so that it is done where a run is long, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., int | None])


def machine_code(loop: Loop) -> Loop:
    """The loop as machine code, kept on disk where there is a place for it."""
    try:
        compiled: Loop = numba.njit(cache=True)(loop)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written to
        compiled = numba.njit(loop)
    return compiled
