"""Free memory of this process, according to the system, its control groups and its resource limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

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
