"""Results of parts of a range."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
"""Result of a part, as JSON data."""
Work: TypeAlias = Callable[[int, int], Json]
"""Processes the items from ``start`` to ``stop - 1``."""


@dataclass(frozen=True)
class Part:
    """Result of the items from ``start`` to ``stop - 1``, with its run time in seconds."""

    start: int
    stop: int
    seconds: float
    result: Json


_one_at_a_time = threading.Lock()
"""Models are prepared once per process and are not thread-safe, and a worker of a cluster may have several threads."""


def done(work: Work, start: int, stop: int) -> Part:
    """Process a part; only one at a time per process."""
    with _one_at_a_time:
        began = time.perf_counter()
        result = work(start, stop)
        return Part(start, stop, time.perf_counter() - began, result)
