"""Resources: free memory, and cost estimates of expensive work, which is refused above a limit without consent.

Free memory is what the system, the process's control groups and its resource limits leave; large arrays are only
allocated after checking it.

Code that is about to do expensive work passes an estimate to :func:`require_affordable`. A caller allows all work
inside a block by ``with consent(yes=True): …``; there is no other override.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from softmachine.support.errors import FixHint, TooExpensiveError
from softmachine.support.progress import ProgressCallback, ignore_progress

_CGROUPS = Path("/sys/fs/cgroup")
_V1, _V2 = ("limit_in_bytes", "usage_in_bytes", "total_inactive_file"), ("max", "current", "inactive_file")
"""File names of the limit, the usage and the reclaimable part of it, in cgroup versions 1 and 2."""


def free_memory() -> int | None:
    """The bytes that can be allocated without swapping: the minimum of all known limits; None if none is known."""
    return min((max(found, 0) for found in _limits()), default=None)


def _limits() -> Iterator[int]:
    """The free memory of the system, of every enclosing control group, and within the process's own limit."""
    yield from _available()
    for folder, names in _control_groups():
        yield from _remaining(folder, *names)
    yield from _address_space()


def _available() -> Iterator[int]:
    """The available memory of the system; where unknown, its unused memory, or its total memory."""
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) << 10
            return
    known = getattr(os, "sysconf_names", {})
    pages = next((name for name in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES") if name in known), None)
    if pages is not None:
        yield os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")


def _control_groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The folders of the control groups of this process, innermost first, with the names of their files."""
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, path = line.split(":", 2)
        top, names = (_CGROUPS, _V2) if not controllers else (_CGROUPS / "memory", _V1)
        if controllers in ("", "memory"):
            inner = Path(path).relative_to("/")
            yield from ((top / folder, names) for folder in (inner, *inner.parents))


def _remaining(folder: Path, limit: str, used: str, reclaimable: str) -> Iterator[int]:
    """The remainder of a control group's limit, if it has one; the page cache does not count as used."""
    numbers = [line for name in (limit, used) for line in _lines(folder / f"memory.{name}")]
    if len(numbers) == 2 and all(map(str.isdecimal, numbers)):
        statistics = dict(line.split() for line in _lines(folder / "memory.stat"))
        yield int(numbers[0]) - int(numbers[1]) + int(statistics.get(reclaimable, 0))


def _address_space() -> Iterator[int]:
    """The remainder of ``ulimit -v``, if it is set."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        used = sum(int(line.split()[0]) for line in _lines(Path("/proc/self/statm")))
        yield limit - used * resource.getpagesize()


def _lines(file: Path) -> list[str]:
    """The lines of a small file; none if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


MAX_SECONDS = 600.0
"""Maximum seconds of work that is not explicitly allowed."""
MAX_MEMORY_FRACTION = 0.5
"""Maximum fraction of the free memory used by work that is not explicitly allowed."""
MIN_REPORTED_SECONDS = 10.0
"""Minimum seconds of work whose estimate is reported."""
EXTRAPOLATION_SECONDS = 0.4
"""Seconds of work after which the total time is extrapolated."""
OVERRIDE_HINT = "to run it anyway: {} (in Python: yes=True)"

Item = TypeVar("Item")
_UNITS = (("second", 1.0), ("minute", 60.0), ("hour", 3600.0), ("day", 86400.0), ("year", 31557600.0))


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of a piece of work.

    Args:
        work: The work, such as "checking 2,047 inputs".
        seconds: Run time, within a factor of about 3.
        memory: Memory in bytes.
    """

    work: str
    seconds: float = 0.0
    memory: float = 0.0

    def __str__(self) -> str:
        needs = [format_duration(self.seconds)] if self.seconds >= 1 else []
        needs += [f"{format_size(self.memory)} of memory"] if self.memory >= 1e9 or not needs else []
        return " and ".join(needs)


@dataclass(frozen=True)
class _Permission:
    yes: bool = False
    progress: ProgressCallback = ignore_progress


_NO_PERMISSION = _Permission()
_permission: ContextVar[_Permission] = ContextVar("consent", default=_NO_PERMISSION)


@contextmanager
def allow_expensive(yes: bool, progress: ProgressCallback | None = None) -> Iterator[None]:
    """Allow expensive work inside the block; a permission of an enclosing block still applies.

    Args:
        yes: Whether expensive work is allowed.
        progress: Callback for the estimates of work that is not short.
    """
    around = _permission.get()
    token = _permission.set(_Permission(yes or around.yes, progress or around.progress))
    try:
        yield
    finally:
        _permission.reset(token)


def is_allowed() -> bool:
    """Whether expensive work is allowed here."""
    return _permission.get().yes


def require_affordable(estimate: Estimate, hint: str | None = None) -> None:
    """Check that work is affordable or allowed; reports its estimate if it takes long.

    Args:
        estimate: The estimate.
        hint: A cheaper alternative, if one is known.

    Raises:
        TooExpensiveError: If it takes more than ten minutes or half of the free memory, and is not allowed.
    """
    free = free_memory() if estimate.memory else None
    crowded = free is not None and estimate.memory > MAX_MEMORY_FRACTION * free
    given = _permission.get()
    if (estimate.seconds > MAX_SECONDS or crowded) and not given.yes:
        left = f", of which {format_size(free)} is free" if free is not None and estimate.memory >= 1e9 else ""
        remedy = FixHint(OVERRIDE_HINT if hint is None else f"{hint}; {OVERRIDE_HINT}", yes=True)
        raise TooExpensiveError(f"{estimate.work} would take about {estimate}{left}", hint=remedy)
    if estimate.seconds > MIN_REPORTED_SECONDS:
        given.progress(f"{estimate.work} takes about {estimate}")


def report_cost(sentence: str) -> None:
    """Report a sentence about the cost of work that is not refused."""
    _permission.get().progress(sentence)


class CostForecast:
    """Extrapolates the run time of work on many items, once, soon after it began.

    Args:
        total: The number of items.
        work: The work.
        measure_later_item: Measures the seconds of a later item, if later items take longer than the first ones.
        hint: A cheaper alternative.
        workers: The number of parallel workers.
    """

    def __init__(
        self,
        total: float,
        work: str,
        measure_later_item: Callable[[], float] | None = None,
        hint: str | None = None,
        workers: int = 1,
    ) -> None:
        self.total, self.work, self.measure_later_item, self.hint, self.workers = (
            total,
            work,
            measure_later_item,
            hint,
            workers,
        )
        self._began, self._checked = time.perf_counter(), False

    def check(self, done: int) -> None:
        """Extrapolate and check the total time, once enough time has passed; ``done`` items are finished.

        Raises:
            TooExpensiveError: If it takes too long and is not allowed.
        """
        spent = time.perf_counter() - self._began
        if not done or self._checked or spent <= EXTRAPOLATION_SECONDS:
            return
        self._checked = True
        seconds = spent / done * self.total / self.workers
        if self.measure_later_item is not None and MIN_REPORTED_SECONDS < seconds <= MAX_SECONDS:
            seconds = spent + self.measure_later_item() * (self.total - done) / self.workers
        require_affordable(Estimate(self.work, seconds), self.hint)


def with_cost_forecast(items: Iterable[Item], total: float, work: str, hint: str | None = None) -> Iterator[Item]:
    """Yield the items, and soon after the start check the extrapolated total time.

    Args:
        items: The items to work on.
        total: Their number.
        work: The work.
        hint: A cheaper alternative.

    Raises:
        TooExpensiveError: Soon after the start, if it takes too long and is not allowed.
    """
    forecast = CostForecast(total, work, hint=hint)
    for done, item in enumerate(items):
        forecast.check(done)
        yield item


def format_duration(seconds: float) -> str:
    """Format a duration: "40 seconds", "3 hours", "2,000 years", "10^15 years"."""
    unit, worth = next((each for each in reversed(_UNITS) if seconds >= 1.5 * each[1]), _UNITS[0])
    return _format_rounded(seconds / worth, unit)


def format_size(count: float) -> str:
    """Format a number of bytes: "512 B", "1.5 GB"."""
    steps = min(int(math.log10(max(count, 1))) // 3, 6)
    return f"{count / 1000**steps:.{0 if count >= 10 * 1000**steps or not steps else 1}f} {' kMGTPE'[steps].strip()}B"


def _format_rounded(count: float, unit: str) -> str:
    """Format a number of units, rounded to the accuracy of an estimate."""
    if count >= 1e6:
        return f"10^{round(math.log10(count)) if math.isfinite(count) else 300} {unit}s"
    rounded = round(count) if count < 10 else round(count, 1 - math.floor(math.log10(count)))
    return f"{rounded:,.0f} {unit}{'' if rounded == 1 else 's'}"


MIN_CHECKED_BYTES = 1 << 26
"""Smaller allocations are not checked."""


def require_memory(needed: int, what: str) -> None:
    """Raise unless there is memory for an array.

    Args:
        needed: Its bytes.
        what: What failed and what needs the memory: the beginning of the message.

    Raises:
        TooExpensiveError: If there is not enough. Nothing was changed, so the run can still be inspected and saved.
    """
    free = free_memory() if needed >= MIN_CHECKED_BYTES else None
    if free is not None and needed > free:
        raise TooExpensiveError(
            f"{what} would take {format_size(needed)} of memory, but only {format_size(free)} is free",
            hint="resume the checkpoint on a machine with more memory, or run fewer steps",
        )
