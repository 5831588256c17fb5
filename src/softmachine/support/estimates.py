"""Before long work: what it will take, and a refusal if that is too much and nobody said yes.

Whoever is about to work says what it takes and calls :func:`allow`. Who asked for the work says yes, or not, once and
for all that it comes to: ``with consent(yes=True): …``. There is no other way to go on after a refusal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from softmachine.support.errors import EffortError, Remedy
from softmachine.support.memory import free_memory
from softmachine.support.progress import Tell, nobody

MOST_SECONDS = 600.0
"""Longer work is refused."""
MOST_MEMORY = 0.5
"""Work that needs more than this part of the free memory is refused."""
WORTH_SAYING = 10.0
"""Of work that takes so many seconds it is said how long it takes."""
SOON = 0.4
"""After so many seconds of work on many things it is asked how long all of them take."""
ALL_THE_SAME = "to do it all the same: {} (in Python: yes=True)"

Item = TypeVar("Item")
_UNITS = (("second", 1.0), ("minute", 60.0), ("hour", 3600.0), ("day", 86400.0), ("year", 31557600.0))


@dataclass(frozen=True)
class Estimate:
    """What work will take.

    Args:
        what: The work, such as "checking 2,047 inputs".
        seconds: How long it takes, within a factor of about 3.
        memory: How many bytes it needs.
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
    """Whether what is done inside may take as long as it likes; who said yes around it said it for this, too.

    Args:
        yes: Whether it may.
        tell: Is told how long work will take that is not short.
    """
    around = _given.get()
    token = _given.set(_Consent(yes or around.yes, tell or around.tell))
    try:
        yield
    finally:
        _given.reset(token)


def consented() -> bool:
    """Whether who asked for what is being done said yes to all of it."""
    return _given.get().yes


def allow(estimate: Estimate, hint: str | None = None) -> None:
    """Go on with work; tell those who want to know how long it takes, if that is long.

    Args:
        estimate: What it takes.
        hint: What would take less, if something is known.

    Raises:
        EffortError: If it takes more than ten minutes or half of the free memory, and nobody said yes.
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
    """Tell those who want to know how long work takes something that is no reason to refuse it."""
    _given.get().tell(sentence)


class Foresight:
    """How long work on many things takes, judged once, soon after it began.

    Args:
        total: How many things there are.
        what: The work.
        later: How many seconds a later thing takes, where they take longer than the first ones; it may try some.
        hint: What would take less.
        hands: How many will work on them at the same time.
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
        """Allow all of it or not, once some of it was done; nothing happens before there is anything to judge by.

        Raises:
            EffortError: If it takes too long and nobody said yes.
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
    """The items one by one, to work on; soon it is known how long all of them take, and that is allowed or not.

    Args:
        items: What to work on.
        total: How many there are.
        what: The work.
        hint: What would take less.

    Raises:
        EffortError: Soon, if it takes too long and nobody said yes.
    """
    foresight = Foresight(total, what, hint=hint)
    for done, item in enumerate(items):
        foresight.judge(done)
        yield item


def duration(seconds: float) -> str:
    """How long something takes, for people: "40 seconds", "3 hours", "2,000 years", "10^15 years"."""
    unit, worth = next((each for each in reversed(_UNITS) if seconds >= 1.5 * each[1]), _UNITS[0])
    return _about(seconds / worth, unit)


def size(count: float) -> str:
    """So many bytes, for people."""
    steps = min(int(math.log10(max(count, 1))) // 3, 6)
    return f"{count / 1000**steps:.{0 if count >= 10 * 1000**steps or not steps else 1}f} {' kMGTPE'[steps].strip()}B"


def _about(count: float, unit: str) -> str:
    """A number of units, with as many digits as an estimate is good for."""
    if count >= 1e6:
        return f"10^{round(math.log10(count)) if math.isfinite(count) else 300} {unit}s"
    rounded = round(count) if count < 10 else round(count, 1 - math.floor(math.log10(count)))
    return f"{rounded:,.0f} {unit}{'' if rounded == 1 else 's'}"
