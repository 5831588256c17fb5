"""The one function over which sweeps run: a range is done in parts, and what comes of them is handed out in order.

The first parts are done here, which is all for short work. They tell how many things make up a part of one to five
seconds; the rest goes to a crew. Parts come back in any order and are handed out in the order of the range, so that
whoever joins them gets the same at any number of workers. A part that was lost with its worker is done again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait

from softmachine.support.errors import MismatchError, WorkersError
from softmachine.support.parallel.executors import Crew, Processes
from softmachine.support.parallel.journal import Journal
from softmachine.support.parallel.part import Part, Work, done
from softmachine.support.progress import Tell, nobody

A_WHILE = 2.0
"""A part should take so many seconds."""
WORTH = 5.0
"""Who was not asked for is called if so many seconds of work are left."""
AHEAD = 4
"""So many parts a worker are handed out before the first of them is back."""
CHANGE = 4
"""By this factor parts get larger or smaller, at most."""
LOSSES = 4
"""So often workers may be lost in a row, without a part that was done."""
ALONE = "one process goes on alone"
LOOK = 5.0
"""After so many seconds of silence it is seen whether anybody is there."""


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
    """Do a range in parts, and hand out what comes of them in its order.

    Args:
        here: Does some of it in this process.
        total: How many things there are; it may be infinite.
        away: Says what does the same in another process: it travels, so it is made of text and numbers; None if
            there is no such thing.
        crew: Who is called if it takes a while.
        journal: Has what was done before, and keeps what is done now.
        judge: Is told how many things were done, soon and often while they are done here; it may refuse to go on.
        tell: Is told if the crew cannot do it and this process goes on alone.

    Raises:
        WorkersError: If workers are lost again and again, or a cluster makes other weights than these.
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
            tell(f"{ALONE}: what it works on cannot be written as text")
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
    """A range that is handed out from its beginning on; what a journal has is not done again."""

    def __init__(self, total: float, journal: Journal | None) -> None:
        self.total, self.journal, self.at = total, journal, 0
        self.known: Mapping[int, Part] = journal.parts if journal else {}
        self._starts = sorted(self.known, reverse=True)

    def take(self, size: int) -> tuple[int, int] | Part | None:
        """The next things, so many at most: from where to where, or the part that is known; None if there are none."""
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
        """The part, after it is in the journal."""
        if self.journal is not None:
            self.journal.add(part)
        return part


class _Away:
    """Parts at work elsewhere.

    Args:
        left: What is left of the range.
        size: How many things make up a part.
        work: What to do.
        crew: Who does it.
    """

    def __init__(self, left: _Range, size: int, work: Work, crew: Crew) -> None:
        self.left, self.size, self.work, self.crew = left, size, work, crew
        self.next = left.at
        self.back: dict[int, Part] = {}  # by their starts: they wait for those before them
        self.out: dict[Future[Part], tuple[int, int]] = {}
        self.again: list[tuple[int, int]] = []
        self.losses = 0

    def parts(self) -> Iterator[Part]:
        """All that is left, in order."""
        most, executor = AHEAD * self.crew.size, self.crew.open()
        try:
            while True:
                executor = self._hand_out(executor, most)
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

    def _hand_out(self, executor: Executor, most: int) -> Executor:
        """Give everybody something to do; a pool that is broken is replaced."""
        while len(self.out) + len(self.back) < most or (self.again and len(self.out) < most):
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
        """What came of a part: it is kept, or to be done again if it was lost."""
        taken = self.out.pop(future)
        try:
            part = future.result()
        except BaseException as error:
            if isinstance(error, ImportError):
                raise WorkersError(
                    f"a worker cannot begin: {error}", hint="install softmachine where it runs"
                ) from None
            if not self.crew.lost(error):
                raise
            self._lose(taken)
            return
        self.losses = 0
        self.back[part.start] = self.left.keep(part)
        wanted = round((part.stop - part.start) * A_WHILE / max(part.seconds, 1e-6))
        self.size = max(1, min(max(wanted, self.size // CHANGE), self.size * CHANGE))

    def _lose(self, taken: tuple[int, int]) -> None:
        """A part was lost; those with the smallest numbers are done again first.

        Raises:
            WorkersError: If that happened too often.
        """
        self.again.append(taken)
        self.again.sort(reverse=True)
        self.losses += 1
        if self.losses > LOSSES * AHEAD * self.crew.size:
            first, last = min([*self.again, *self.out.values()])
            raise WorkersError(
                f"workers are lost again and again, with the part from number {first:,} to number {last - 1:,}",
                hint="a worker that has not enough memory is ended by the system: try fewer; and a Python script "
                'that asks for workers keeps its work below `if __name__ == "__main__":`',
            )
