"""Memory guard: checks free memory before a large array is allocated."""

from __future__ import annotations

from softmachine.support.errors import EffortError
from softmachine.support.estimates import size
from softmachine.support.memory import free_memory

WORTH_ASKING = 1 << 26
"""Smaller allocations are not checked."""


def require_memory(needed: int, what: str) -> None:
    """Raise unless there is memory for an array.

    Args:
        needed: Its bytes.
        what: What failed and what needs the memory: the beginning of the message.

    Raises:
        EffortError: If there is not enough. Nothing was changed, so the run can still be inspected and saved.
    """
    free = free_memory() if needed >= WORTH_ASKING else None
    if free is not None and needed > free:
        raise EffortError(
            f"{what} would take {size(needed)} of memory, but only {size(free)} is free",
            hint="resume the checkpoint on a machine with more memory, or run fewer steps",
        )
