"""Arrays that grow with a run: before a large one is made, it is seen whether there is memory for it."""

from __future__ import annotations

from softmachine.support.errors import EffortError
from softmachine.support.estimates import size
from softmachine.support.memory import free_memory

WORTH_ASKING = 1 << 26
"""For fewer bytes nobody is asked."""


def require_memory(needed: int, what: str) -> None:
    """See that there is memory for an array.

    Args:
        needed: Its bytes.
        what: What cannot be done without, and what it takes the memory for: the beginning of a sentence.

    Raises:
        EffortError: If there is not; nothing was changed, so that a run can be looked at and saved.
    """
    free = free_memory() if needed >= WORTH_ASKING else None
    if free is not None and needed > free:
        raise EffortError(
            f"{what} would take {size(needed)} of memory, and {size(free)} is free",
            hint="a run that was saved goes on where there is more memory; fewer steps take less",
        )
