"""Free memory of this process, according to the system, its control groups and its resource limits.

Cost estimates of expensive work, which is refused above a limit unless the caller has allowed it.

Code that is about to do expensive work passes an estimate to :func:`allow`. A caller allows all work inside a block by
``with consent(yes=True): …``; there is no other override.

Memory guard: checks free memory before a large array is allocated.
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

from softmachine.support.errors import EffortError, Remedy
from softmachine.support.progress import Tell, nobody

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
        yield from _left(folder, *names)
    yield from _addresses()


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


def _left(folder: Path, limit: str, used: str, reclaimable: str) -> Iterator[int]:
    """The remainder of a control group's limit, if it has one; the page cache does not count as used."""
    numbers = [line for name in (limit, used) for line in _lines(folder / f"memory.{name}")]
    if len(numbers) == 2 and all(map(str.isdecimal, numbers)):
        statistics = dict(line.split() for line in _lines(folder / "memory.stat"))
        yield int(numbers[0]) - int(numbers[1]) + int(statistics.get(reclaimable, 0))


def _addresses() -> Iterator[int]:
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


MOST_SECONDS = 600.0
"""Maximum seconds of work that is not explicitly allowed."""
MOST_MEMORY = 0.5
"""Maximum fraction of the free memory used by work that is not explicitly allowed."""
WORTH_SAYING = 10.0
"""Minimum seconds of work whose estimate is reported."""
SOON = 0.4
"""Seconds of work after which the total time is extrapolated."""
ALL_THE_SAME = "to run it anyway: {} (in Python: yes=True)"

Item = TypeVar("Item")
_UNITS = (("second", 1.0), ("minute", 60.0), ("hour", 3600.0), ("day", 86400.0), ("year", 31557600.0))


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of a piece of work.

    Args:
        what: The work, such as "checking 2,047 inputs".
        seconds: Run time, within a factor of about 3.
        memory: Memory in bytes.
    """

    what: str
    seconds: float = 0.0
    memory: float = 0.0

    def __str__(self) -> str:
        needs = [duration(self.seconds)] if self.seconds >= 1 else []
        needs += [f"{size(self.memory)} of memory"] if self.memory >= 1e9 or not needs else []
        return " and ".join(needs)


@dataclass(frozen=True)
class _Consent:
    yes: bool = False
    tell: Tell = nobody


_NOBODY_SAID_YES = _Consent()
_given: ContextVar[_Consent] = ContextVar("consent", default=_NOBODY_SAID_YES)


@contextmanager
def consent(yes: bool, tell: Tell | None = None) -> Iterator[None]:
    """Allow expensive work inside the block; a permission of an enclosing block still applies.

    Args:
        yes: Whether expensive work is allowed.
        tell: Callback for the estimates of work that is not short.
    """
    around = _given.get()
    token = _given.set(_Consent(yes or around.yes, tell or around.tell))
    try:
        yield
    finally:
        _given.reset(token)


def consented() -> bool:
    """Whether expensive work is allowed here."""
    return _given.get().yes


def allow(estimate: Estimate, hint: str | None = None) -> None:
    """Check that work is affordable or allowed; reports its estimate if it takes long.

    Args:
        estimate: The estimate.
        hint: A cheaper alternative, if one is known.

    Raises:
        EffortError: If it takes more than ten minutes or half of the free memory, and is not allowed.
    """
    free = free_memory() if estimate.memory else None
    crowded = free is not None and estimate.memory > MOST_MEMORY * free
    given = _given.get()
    if (estimate.seconds > MOST_SECONDS or crowded) and not given.yes:
        left = f", of which {size(free)} is free" if free is not None and estimate.memory >= 1e9 else ""
        remedy = Remedy(ALL_THE_SAME if hint is None else f"{hint}; {ALL_THE_SAME}", yes=True)
        raise EffortError(f"{estimate.what} would take about {estimate}{left}", hint=remedy)
    if estimate.seconds > WORTH_SAYING:
        given.tell(f"{estimate.what} takes about {estimate}")


def mention(sentence: str) -> None:
    """Report a sentence about the cost of work that is not refused."""
    _given.get().tell(sentence)


class Foresight:
    """Extrapolates the run time of work on many items, once, soon after it began.

    Args:
        total: The number of items.
        what: The work.
        later: Measures the seconds of a later item, if later items take longer than the first ones.
        hint: A cheaper alternative.
        hands: The number of parallel workers.
    """

    def __init__(
        self,
        total: float,
        what: str,
        later: Callable[[], float] | None = None,
        hint: str | None = None,
        hands: int = 1,
    ) -> None:
        self.total, self.what, self.later, self.hint, self.hands = total, what, later, hint, hands
        self._began, self._asked = time.perf_counter(), False

    def judge(self, done: int) -> None:
        """Extrapolate and check the total time, once enough time has passed; ``done`` items are finished.

        Raises:
            EffortError: If it takes too long and is not allowed.
        """
        spent = time.perf_counter() - self._began
        if not done or self._asked or spent <= SOON:
            return
        self._asked = True
        seconds = spent / done * self.total / self.hands
        if self.later is not None and WORTH_SAYING < seconds <= MOST_SECONDS:
            seconds = spent + self.later() * (self.total - done) / self.hands
        allow(Estimate(self.what, seconds), self.hint)


def foreseen(items: Iterable[Item], total: float, what: str, hint: str | None = None) -> Iterator[Item]:
    """Yield the items, and soon after the start check the extrapolated total time.

    Args:
        items: The items to work on.
        total: Their number.
        what: The work.
        hint: A cheaper alternative.

    Raises:
        EffortError: Soon after the start, if it takes too long and is not allowed.
    """
    foresight = Foresight(total, what, hint=hint)
    for done, item in enumerate(items):
        foresight.judge(done)
        yield item


def duration(seconds: float) -> str:
    """Format a duration: "40 seconds", "3 hours", "2,000 years", "10^15 years"."""
    unit, worth = next((each for each in reversed(_UNITS) if seconds >= 1.5 * each[1]), _UNITS[0])
    return _about(seconds / worth, unit)


def size(count: float) -> str:
    """Format a number of bytes: "512 B", "1.5 GB"."""
    steps = min(int(math.log10(max(count, 1))) // 3, 6)
    return f"{count / 1000**steps:.{0 if count >= 10 * 1000**steps or not steps else 1}f} {' kMGTPE'[steps].strip()}B"


def _about(count: float, unit: str) -> str:
    """Format a number of units, rounded to the accuracy of an estimate."""
    if count >= 1e6:
        return f"10^{round(math.log10(count)) if math.isfinite(count) else 300} {unit}s"
    rounded = round(count) if count < 10 else round(count, 1 - math.floor(math.log10(count)))
    return f"{rounded:,.0f} {unit}{'' if rounded == 1 else 's'}"


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
