"""Ordered parallel map over a range, in parts of adaptive size; the one function that all sweeps use.

The first parts run in this process, which suffices for short work and calibrates the size of parts that take a few
seconds; the rest is submitted to an executor. Parts finish in any order and are yielded in the order of the range, so
results do not depend on the number of workers. A part that is lost with its worker is retried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait

from softmachine.support.errors import MismatchError, WorkersError
from softmachine.support.parallel.executors import Crew, Processes
from softmachine.support.parallel.journal import Journal, Part, Work, done
from softmachine.support.progress import Tell, nobody

A_WHILE = 2.0
"""Target seconds per part."""
WORTH = 5.0
"""Minimum seconds of remaining work for which workers that were not requested are started."""
AHEAD = 4
"""Parts per worker that are submitted ahead."""
CHANGE = 4
"""Maximum factor by which the size of parts changes."""
LOSSES = 4
"""Maximum consecutive losses per submitted part, without a finished part between them."""
ALONE = "continuing in one process"
LOOK = 5.0
"""Seconds without a result after which the workers are checked."""


def parts(
    here: Work,
    total: float,
    *,
    away: Callable[[], Work | None] = lambda: None,
    crew: Crew | None = None,
    journal: Journal | None = None,
    judge: Callable[[int], None] = lambda _: None,
    tell: Tell = nobody,
) -> Generator[Part, None, None]:
    """Map a function over a range in parts, and yield the results in the order of the range.

    Args:
        here: Processes items in this process.
        total: The number of items; may be infinite.
        away: Returns the equivalent of ``here`` for other processes, which must be picklable (text and numbers); None
            if there is none.
        crew: Factory of the executor, which is started if the work takes long.
        journal: Holds earlier results, and records new ones.
        judge: Called with the number of finished items after each part in this process; it may raise to stop.
        tell: Called if the workers cannot do the work and this process continues alone.

    Raises:
        WorkersError: If workers are repeatedly lost, or a cluster compiles different weights.
    """
    range_ = _Range(total, journal)
    size, count, began = 1, 0, time.perf_counter()
    while (taken := range_.take(size)) is not None:
        if isinstance(taken, Part):
            yield taken
            continue
        part = range_.keep(done(here, *taken))
        count += part.stop - part.start
        yield part
        judge(count)
        size = 2 * size if 2 * part.seconds < A_WHILE else size
        if crew is None or not _is_worth_it(crew, time.perf_counter() - began, part, total):
            continue
        work = away()
        if work is None:
            tell(f"{ALONE}: the source cannot be written as text")
            crew = None
            continue
        try:
            for part in _Away(range_, size, work, crew).parts():
                taken = part.start, part.stop
                yield part
        except MismatchError as error:
            if not isinstance(crew, Processes):
                raise
            tell(f"{ALONE}: {error.message}")
            crew = None
            range_.at = taken[1]


def _is_worth_it(crew: Crew, spent: float, last: Part, total: float) -> bool:
    left = (total - last.stop) * last.seconds / (last.stop - last.start)
    return spent >= crew.patience and (crew.asked or left >= WORTH)


class _Range:
    """The remaining range; parts that are in the journal are not computed again."""

    def __init__(self, total: float, journal: Journal | None) -> None:
        self.total, self.journal, self.at = total, journal, 0
        self.known: Mapping[int, Part] = journal.parts if journal else {}
        self._starts = sorted(self.known, reverse=True)

    def take(self, size: int) -> tuple[int, int] | Part | None:
        """Take at most ``size`` items: their start and stop, or a finished part of the journal; None at the end."""
        start = self.at
        if start >= self.total:
            return None
        while self._starts and self._starts[-1] < start:
            self._starts.pop()
        known = self.known.get(start)
        if known is None:
            self.at = int(min(start + size, self.total, *self._starts[-1:]))
            return start, self.at
        self.at = known.stop
        return known

    def keep(self, part: Part) -> Part:
        """Record a part in the journal; returns it."""
        if self.journal is not None:
            self.journal.add(part)
        return part


class _Away:
    """Submission of parts to an executor, and reordering of the results.

    Args:
        left: The remaining range.
        size: Items per part.
        work: The function.
        crew: Factory of the executor.
    """

    def __init__(self, left: _Range, size: int, work: Work, crew: Crew) -> None:
        self.left, self.size, self.work, self.crew = left, size, work, crew
        self.next = left.at
        self.back: dict[int, Part] = {}  # finished parts by start, until those before them are finished
        self.out: dict[Future[Part], tuple[int, int]] = {}
        self.again: list[tuple[int, int]] = []
        self.losses = 0

    def parts(self) -> Iterator[Part]:
        """Yield all remaining parts, in order."""
        limit, executor = AHEAD * self.crew.size, self.crew.open()
        try:
            while True:
                executor = self._hand_out(executor, limit)
                while self.next in self.back:
                    part = self.back.pop(self.next)
                    self.next = part.stop
                    yield part
                if self.out:
                    finished, _ = wait(self.out, LOOK, FIRST_COMPLETED)
                    if not finished:
                        self.crew.require_present()
                    for future in finished:
                        self._take_back(future)
                elif not (self.back or self.again) and self.left.at >= self.left.total:
                    return
        finally:
            self.crew.close(executor)

    def _hand_out(self, executor: Executor, limit: int) -> Executor:
        """Submit parts up to the limit; returns the executor, which replaces a broken pool."""
        while len(self.out) + len(self.back) < limit or (self.again and len(self.out) < limit):
            taken = self.again.pop() if self.again else self.left.take(self.size)
            if taken is None:
                break
            if isinstance(taken, Part):
                self.back[taken.start] = taken
                continue
            try:
                self.out[executor.submit(done, self.work, *taken)] = taken
            except Exception as error:
                if not self.crew.lost(error):
                    raise
                self._lose(taken)
                self.crew.close(executor)
                executor = self.crew.open()
        return executor

    def _take_back(self, future: Future[Part]) -> None:
        """Collect the result of a part: record it, or retry the part if it was lost."""
        taken = self.out.pop(future)
        try:
            part = future.result()
        except BaseException as error:
            if isinstance(error, ImportError):
                raise WorkersError(
                    f"a worker cannot start: {error}", hint="install softmachine where it runs"
                ) from None
            if not self.crew.lost(error):
                raise
            self._lose(taken)
            return
        self.losses = 0
        self.back[part.start] = self.left.keep(part)
        target = round((part.stop - part.start) * A_WHILE / max(part.seconds, 1e-6))
        self.size = max(1, min(max(target, self.size // CHANGE), self.size * CHANGE))

    def _lose(self, taken: tuple[int, int]) -> None:
        """Queue a lost part for retry; the smallest numbers come first.

        Raises:
            WorkersError: If there are too many losses.
        """
        self.again.append(taken)
        self.again.sort(reverse=True)
        self.losses += 1
        if self.losses > LOSSES * AHEAD * self.crew.size:
            first, last = min([*self.again, *self.out.values()])
            raise WorkersError(
                f"workers are repeatedly lost, with the part from number {first:,} to number {last - 1:,}",
                hint="the system kills workers that run out of memory: use fewer workers; and a Python script "
                'that uses workers must be protected by `if __name__ == "__main__":`',
            )
