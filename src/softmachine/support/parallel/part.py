"""A part of a range, and what came of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
"""What comes of a part, as JSON holds it."""
Work: TypeAlias = Callable[[int, int], Json]
"""Does the things from one number up to another, which is not among them."""


@dataclass(frozen=True)
class Part:
    """What came of the things from one number up to another, and how many seconds it took."""

    start: int
    stop: int
    seconds: float
    result: Json


_one_at_a_time = threading.Lock()
"""Models that are prepared once in a process are not for several threads, which a worker of a cluster may have."""


def done(work: Work, start: int, stop: int) -> Part:
    """Do a part; a process does one at a time."""
    with _one_at_a_time:
        began = time.perf_counter()
        result = work(start, stop)
        return Part(start, stop, time.perf_counter() - began, result)
