"""Ordered parallel map over a range, in parts of adaptive size; the one function that all sweeps use.

The first parts run in this process, which suffices for short work and calibrates the size of parts that take a few
seconds; the rest is submitted to an executor. Parts finish in any order and are yielded in the order of the range, so
results do not depend on the number of workers. A part that is lost with its worker is retried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait

from softmachine.support.errors import WorkerMismatchError, WorkersError
from softmachine.support.parallel.executors import ExecutorFactory, ProcessPoolFactory
from softmachine.support.parallel.journal import Journal, PartResult, RangeFunction, run_part
from softmachine.support.progress import ProgressCallback, ignore_progress

TARGET_SECONDS = 2.0
"""Target seconds per part."""
MIN_SECONDS_FOR_WORKERS = 5.0
"""Minimum seconds of remaining work for which workers that were not requested are started."""
MAX_PENDING_PER_WORKER = 4
"""Parts per worker that are submitted ahead."""
MAX_SIZE_CHANGE = 4
"""Maximum factor by which the size of parts changes."""
MAX_LOSSES = 4
"""Maximum consecutive losses per submitted part, without a finished part between them."""
CONTINUE_ALONE = "continuing in one process"
CHECK_INTERVAL = 5.0
"""Seconds without a result after which the workers are checked."""


def map_range(
    local_work: RangeFunction,
    total: float,
    *,
    remote_work: Callable[[], RangeFunction | None] = lambda: None,
    factory: ExecutorFactory | None = None,
    journal: Journal | None = None,
    check: Callable[[int], None] = lambda _: None,
    progress: ProgressCallback = ignore_progress,
) -> Generator[PartResult, None, None]:
    """Map a function over a range in parts, and yield the results in the order of the range.

    Args:
        local_work: Processes items in this process.
        total: The number of items; may be infinite.
        remote_work: Returns the equivalent of ``local_work`` for other processes, which must be picklable (text and
            numbers); None if there is none.
        factory: Factory of the executor, which is started if the work takes long.
        journal: Holds earlier results, and records new ones.
        check: Called with the number of finished items after each part in this process; it may raise to stop.
        progress: Called if the workers cannot do the work and this process continues alone.

    Raises:
        WorkersError: If workers are repeatedly lost, or a cluster compiles different weights.
    """
    range_ = _RemainingRange(total, journal)
    size, count, began = 1, 0, time.perf_counter()
    while (taken := range_.take(size)) is not None:
        if isinstance(taken, PartResult):
            yield taken
            continue
        part = range_.record(run_part(local_work, *taken))
        count += part.stop - part.start
        yield part
        check(count)
        size = 2 * size if 2 * part.seconds < TARGET_SECONDS else size
        if factory is None or not _pays_off(factory, time.perf_counter() - began, part, total):
            continue
        work = remote_work()
        if work is None:
            progress(f"{CONTINUE_ALONE}: the source cannot be written as text")
            factory = None
            continue
        try:
            for part in _ParallelMap(range_, size, work, factory).results():
                taken = part.start, part.stop
                yield part
        except WorkerMismatchError as error:
            if not isinstance(factory, ProcessPoolFactory):
                raise
            progress(f"{CONTINUE_ALONE}: {error.message}")
            factory = None
            range_.at = taken[1]


def _pays_off(factory: ExecutorFactory, spent: float, last: PartResult, total: float) -> bool:
    left = (total - last.stop) * last.seconds / (last.stop - last.start)
    return spent >= factory.patience and (factory.requested or left >= MIN_SECONDS_FOR_WORKERS)


class _RemainingRange:
    """The remaining range; parts that are in the journal are not computed again."""

    def __init__(self, total: float, journal: Journal | None) -> None:
        self.total, self.journal, self.at = total, journal, 0
        self.finished: Mapping[int, PartResult] = journal.parts if journal else {}
        self._starts = sorted(self.finished, reverse=True)

    def take(self, size: int) -> tuple[int, int] | PartResult | None:
        """Take at most ``size`` items: their start and stop, or a finished part of the journal; None at the end."""
        start = self.at
        if start >= self.total:
            return None
        while self._starts and self._starts[-1] < start:
            self._starts.pop()
        known = self.finished.get(start)
        if known is None:
            self.at = int(min(start + size, self.total, *self._starts[-1:]))
            return start, self.at
        self.at = known.stop
        return known

    def record(self, part: PartResult) -> PartResult:
        """Record a part in the journal; returns it."""
        if self.journal is not None:
            self.journal.append(part)
        return part


class _ParallelMap:
    """Submission of parts to an executor, and reordering of the results.

    Args:
        remaining: The remaining range.
        size: Items per part.
        work: The function.
        factory: Factory of the executor.
    """

    def __init__(self, remaining: _RemainingRange, size: int, work: RangeFunction, factory: ExecutorFactory) -> None:
        self.remaining, self.size, self.work, self.factory = remaining, size, work, factory
        self.next = remaining.at
        self.finished: dict[int, PartResult] = {}  # finished parts by start, until those before them are finished
        self.pending: dict[Future[PartResult], tuple[int, int]] = {}
        self.retries: list[tuple[int, int]] = []
        self.losses = 0

    def results(self) -> Iterator[PartResult]:
        """Yield all remaining parts, in order."""
        limit, executor = MAX_PENDING_PER_WORKER * self.factory.worker_count, self.factory.open()
        try:
            while True:
                executor = self._submit(executor, limit)
                while self.next in self.finished:
                    part = self.finished.pop(self.next)
                    self.next = part.stop
                    yield part
                if self.pending:
                    finished, _ = wait(self.pending, CHECK_INTERVAL, FIRST_COMPLETED)
                    if not finished:
                        self.factory.require_reachable()
                    for future in finished:
                        self._collect(future)
                elif not (self.finished or self.retries) and self.remaining.at >= self.remaining.total:
                    return
        finally:
            self.factory.close(executor)

    def _submit(self, executor: Executor, limit: int) -> Executor:
        """Submit parts up to the limit; returns the executor, which replaces a broken pool."""
        while len(self.pending) + len(self.finished) < limit or (self.retries and len(self.pending) < limit):
            taken = self.retries.pop() if self.retries else self.remaining.take(self.size)
            if taken is None:
                break
            if isinstance(taken, PartResult):
                self.finished[taken.start] = taken
                continue
            try:
                self.pending[executor.submit(run_part, self.work, *taken)] = taken
            except Exception as error:
                if not self.factory.is_lost_worker(error):
                    raise
                self._queue_retry(taken)
                self.factory.close(executor)
                executor = self.factory.open()
        return executor

    def _collect(self, future: Future[PartResult]) -> None:
        """Collect the result of a part: record it, or retry the part if it was lost."""
        taken = self.pending.pop(future)
        try:
            part = future.result()
        except BaseException as error:
            if isinstance(error, ImportError):
                raise WorkersError(
                    f"a worker cannot start: {error}", hint="install softmachine where it runs"
                ) from None
            if not self.factory.is_lost_worker(error):
                raise
            self._queue_retry(taken)
            return
        self.losses = 0
        self.finished[part.start] = self.remaining.record(part)
        target = round((part.stop - part.start) * TARGET_SECONDS / max(part.seconds, 1e-6))
        self.size = max(1, min(max(target, self.size // MAX_SIZE_CHANGE), self.size * MAX_SIZE_CHANGE))

    def _queue_retry(self, taken: tuple[int, int]) -> None:
        """Queue a lost part for retry; the smallest numbers come first.

        Raises:
            WorkersError: If there are too many losses.
        """
        self.retries.append(taken)
        self.retries.sort(reverse=True)
        self.losses += 1
        if self.losses > MAX_LOSSES * MAX_PENDING_PER_WORKER * self.factory.worker_count:
            first, last = min([*self.retries, *self.pending.values()])
            raise WorkersError(
                f"workers are repeatedly lost, with the part from number {first:,} to number {last - 1:,}",
                hint="the system kills workers that run out of memory: use fewer workers; and a Python script "
                'that uses workers must be protected by `if __name__ == "__main__":`',
            )
