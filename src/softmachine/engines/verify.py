"""Verified runs: every token is compared with the reference interpreter's while the model runs.

A run in an arithmetic that rounds is always verified, since the rounded computation may differ from the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softmachine.engines.engine import Task, engine_named
from softmachine.engines.numerics import Arithmetic
from softmachine.support.compare import Comparison, Difference
from softmachine.support.errors import SoftmachineError
from softmachine.support.text import many

ENDLESS = 1 << 62
"""Step limit of the interpreter where the engine has its own limit."""
MOST_POSITIONS = 4_096
"""Limit of positions computed in the search for a sufficient precision."""


class Verifier:
    """Compares the output of a run with the reference interpreter, chunk by chunk.

    Args:
        task: The run's task.
        numbers: The arithmetic of the run.
        asked: Whether verification was requested, so that agreement is reported as well as differences.
    """

    def __init__(self, task: Task, numbers: Arithmetic, *, asked: bool) -> None:
        self.task, self.numbers, self.asked = task, numbers, asked
        self._comparison = _comparison(task)
        self._remedy: str | None = None
        self._sought = False

    @property
    def compared(self) -> int:
        """The number of tokens that agree."""
        return self._comparison.compared

    @property
    def difference(self) -> Difference | None:
        """The first token that differs, if any."""
        return self._comparison.difference

    def see(self, piece: Sequence[str]) -> None:
        """Compare new tokens."""
        self._comparison.see(piece)

    def catch_up(self, tokens: Sequence[str]) -> None:
        """Compare the tokens of a run that have not been compared yet."""
        if self.difference is None and len(tokens) > self._comparison.agreed:
            self._comparison.see(tokens[self._comparison.agreed :])

    def close(self) -> None:
        """Compare the end of the run, if it is determined."""
        if self.task.max_steps is not None or not self.task.codec.goes_on:
            self._comparison.close()

    def notes(self) -> Iterator[str]:
        """Yield the result as notes, one sentence each."""
        if self.difference is not None:
            yield f"differs from the interpreter: {self.difference}"
            if finer := self.remedy():
                yield f"{finer} agrees on this input"
        elif self.asked:
            yield f"verified: all {many(self.compared, 'token')} agree with the interpreter"

    def remedy(self) -> str | None:
        """Return the first arithmetic of higher precision whose run agrees, if a bounded search finds one."""
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
        except SoftmachineError:  # a weight is not representable, or a decision is undecided
            continue
        if left < 0:
            break
    return None
