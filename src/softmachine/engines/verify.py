"""Verified runs: every token is compared with what the reference interpreter says, while the model runs.

A run in an arithmetic that rounds is always verified: it is the rounded computation, and may differ from the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softmachine.engines.engine import Task, engine_named
from softmachine.engines.numerics import Arithmetic
from softmachine.support.compare import Comparison, Difference
from softmachine.support.errors import SoftmachineError
from softmachine.support.text import many

ENDLESS = 1 << 62
"""Steps that the interpreter is allowed where only the engine knows a limit."""
MOST_POSITIONS = 4_096
"""So many positions are computed at most, in search of an arithmetic that does."""


class Verifier:
    """What a model says of a task, compared as it comes.

    Args:
        task: What is run.
        numbers: The arithmetic that it is run in.
        asked: Whether someone wants to know the result, or only a difference.
    """

    def __init__(self, task: Task, numbers: Arithmetic, *, asked: bool) -> None:
        self.task, self.numbers, self.asked = task, numbers, asked
        self._comparison = _comparison(task)
        self._remedy: str | None = None
        self._sought = False

    @property
    def compared(self) -> int:
        """How many tokens are the interpreter's."""
        return self._comparison.compared

    @property
    def difference(self) -> Difference | None:
        """The first token that is not, if any."""
        return self._comparison.difference

    def see(self, piece: Sequence[str]) -> None:
        """The model said more."""
        self._comparison.see(piece)

    def catch_up(self, said: Sequence[str]) -> None:
        """All that was said up to now: what is new of it is compared."""
        if self.difference is None and len(said) > self._comparison.agreed:
            self._comparison.see(said[self._comparison.agreed :])

    def close(self) -> None:
        """The model has said all that it is allowed to."""
        if self.task.max_steps is not None or not self.task.codec.goes_on:
            self._comparison.close()

    def notes(self) -> Iterator[str]:
        """What there is to say, one sentence each."""
        if self.difference is not None:
            yield f"differs from the interpreter: {self.difference}"
            if does := self.remedy():
                yield f"{does} does on this input"
        elif self.asked:
            yield f"verified: all {many(self.compared, 'token')} are the interpreter's"

    def remedy(self) -> str | None:
        """The first finer arithmetic in which the run is the interpreter's, if a little work finds one."""
        if not self._sought and self.difference is not None:
            self._sought, self._remedy = True, _finer(self.task, self.numbers)
        return self._remedy


def _comparison(task: Task) -> Comparison:
    steps = ENDLESS if task.max_steps is None else task.max_steps
    return Comparison(task.codec.expected_pieces(task.word, steps))


def _finer(task: Task, numbers: Arithmetic) -> str | None:
    left = MOST_POSITIONS
    for finer in numbers.finer():
        comparison = _comparison(task)
        left -= len(task.prompt.tokens)
        try:
            for piece in engine_named("dense").start(task, finer, ()).pieces():
                comparison.see(piece)
                left -= len(piece)
                if left < 0 or comparison.difference is not None:
                    break
            else:
                return finer.name
        except SoftmachineError:  # it has not all weights, or cannot decide
            continue
        if left < 0:
            break
    return None
