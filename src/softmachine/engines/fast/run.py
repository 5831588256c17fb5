"""Runs on the fast engine: in one context, or in segments that go on from summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from softmachine.arithmetic import Arithmetic
from softmachine.codec import DecoderCodec, SegmentedCodec
from softmachine.engines.engine import Engine, Task
from softmachine.engines.fast import saved_run
from softmachine.engines.fast.analysis.grids import Declined
from softmachine.engines.fast.audit import Audit, audit
from softmachine.engines.fast.engine import FastEngine, FastPass
from softmachine.engines.fast.segments import SegmentedPass
from softmachine.errors import UsageError

MAX_STEPS = 100_000_000
"""So many steps are allowed, if nothing else is said."""
FIRST_PIECE, LARGEST_PIECE = 1 << 12, 1 << 21
"""How many positions the engine computes before it lets others look."""


class FastRun:
    """A task on the fast engine, which is exact whatever the arithmetic.

    Args:
        task: What to run.
        numbers: Not used.
        said: What was said before.

    Raises:
        UsageError: If the fast engine cannot do it.
    """

    arithmetic = "exact"

    def __init__(self, task: Task, numbers: str | Arithmetic = "exact", said: Sequence[str] = ()) -> None:
        self.task = task
        self.max_steps = MAX_STEPS if task.max_steps is None else task.max_steps
        model, codec, prompt = task.model, task.codec, task.prompt.tokens
        if not isinstance(codec, DecoderCodec):
            raise UsageError(f"{model.name!r} is an encoder; the fast engine decodes", hint="--engine dense")
        try:
            engine = FastEngine(model.weights)
        except Declined as reason:
            raise UsageError(f"the fast engine cannot run {model.name!r}: {reason}", hint="--engine dense") from None
        self.limit = codec.token_limit(self.max_steps)
        self.run: FastPass | SegmentedPass
        if isinstance(codec, SegmentedCodec):
            steps, positions = self.max_steps, model.length
            self.run = SegmentedPass(engine, codec, prompt, said, most_steps=steps, most_positions=positions)
        else:
            self.run = engine.start(prompt, codec.stops, said)

    @property
    def tokens(self) -> Sequence[str]:
        """What was said up to now."""
        return self.run.said_since(self.limit)

    @property
    def segments(self) -> list[int]:
        """How many tokens each context has."""
        return self.run.segments if isinstance(self.run, SegmentedPass) else []

    @property
    def size(self) -> int:
        """The bytes that the run takes."""
        return self.run.size

    def pieces(self) -> Iterator[Sequence[str]]:
        """Many tokens at a time."""
        self.task.require_room(self.max_steps)
        # The token after the limit is looked at, too: if it is the one that stops the run, the run has ended.
        wanted = len(self.task.prompt.tokens) + self.limit
        end = wanted if self.task.model.length is None else min(wanted, self.task.model.length)
        seen = len(self.tokens)
        for _ in self._advance(end):
            said = self.tokens
            yield said[seen:]
            seen = len(said)
        run = self.run
        if run.outgrown if isinstance(run, SegmentedPass) else run.stopped_by is None and end + 1 < wanted:
            raise self.task.outgrown(self.max_steps)

    def _advance(self, end: int) -> Iterator[None]:
        """Let the run go on until it stops; in one context at the latest when ``end`` positions are read."""
        run, piece = self.run, FIRST_PIECE
        if isinstance(run, FastPass):
            run.reserve(end)
        while not run.ended if isinstance(run, SegmentedPass) else run.stopped_by is None and run.read < end:
            run.go(piece if isinstance(run, SegmentedPass) else min(end, run.read + piece))
            piece = min(2 * piece, LARGEST_PIECE)
            yield

    def save(self, file: Path) -> bool:
        """Write the run to a file, unless it has ended."""
        if self.run.stopped_by is not None:
            return False
        saved_run.save(self.run, file)
        return True

    def audit(self, steps: int, seed: int | None) -> Audit:
        """Random steps done again, with every score computed in exact arithmetic."""
        return audit(self.run, steps, seed) if isinstance(self.run, FastPass) else self.run.audit(steps, seed)


def resume(task: Task, file: Path) -> FastRun:
    """The run that was saved to a file."""
    run = FastRun(task)
    saved_run.load(run.run, file)
    return run


ENGINE = Engine("fast", FastRun, resume, saved_run.require_free)
