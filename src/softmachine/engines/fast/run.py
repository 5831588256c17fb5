"""Runs on the fast engine: in one context, in segments that go on from summaries, or all answers to what is given."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from softmachine.engines.engine import Engine, Execution, Task
from softmachine.engines.fast import saved_run
from softmachine.engines.fast.analysis.grids import Declined
from softmachine.engines.fast.audit import Audit, audit
from softmachine.engines.fast.codegen.emitted import Emitted
from softmachine.engines.fast.engine import FastEngine, FastPass
from softmachine.engines.fast.segments import SegmentedPass
from softmachine.engines.numerics import Arithmetic
from softmachine.languages.source import Source
from softmachine.support.errors import Remedy, UsageError
from softmachine.support.estimates import SOON, WORTH_SAYING, duration, mention
from softmachine.support.text import many
from softmachine.support.token_array import Coded
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec

MAX_STEPS = 100_000_000
"""So many steps are allowed, if nothing else is said."""
FIRST_PIECE, LARGEST_PIECE = 1 << 12, 1 << 21
"""How many positions the engine computes before it lets others look."""


class OneContext(FastPass):
    """A run in one context.

    Args:
        engine: The engine.
        codec: What ends a run.
        prompt: What it starts on.
        said: What is known to follow.
        most_tokens: How many tokens may follow the prompt. The one after these is looked at, too: if it is the one that
            stops the run, the run has ended.
        most_positions: How many tokens the context may have, if the weights were made for a length.
    """

    def __init__(
        self,
        engine: FastEngine,
        codec: DecoderCodec[Source],
        prompt: Sequence[str],
        said: Sequence[str],
        *,
        most_tokens: int,
        most_positions: int | None,
    ) -> None:
        super().__init__(engine, prompt, codec.stops, said)
        self.segments: list[int] = []
        self.wanted = len(prompt) + most_tokens
        self.end = self.wanted if most_positions is None else min(self.wanted, most_positions)
        self.reserve(self.end)

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to compute."""
        return self.stopped_by is not None or self.read >= self.end

    @property
    def outgrown(self) -> bool:
        """Whether the weights were not made for a context as long as this one."""
        return self.stopped_by is None and self.end + 1 < self.wanted

    def advance(self, count: int) -> None:
        """Compute so many positions more, unless the run ends before."""
        self.go(min(self.end, self.read + count))

    @property
    def spoken(self) -> range:
        """The positions after which something was said, as far as that is allowed."""
        every = super().spoken
        return every[: self.wanted - self.prompt] if self.stopped_by is None else every

    def audit(self, count: int, seed: int) -> Audit:
        """Do random steps again."""
        return audit(self, count, seed)


class OneReading(FastPass):
    """All answers of a model that answers at once, if no position needs a later one.

    Args:
        engine: The engine.
        prompt: What it answers to.
    """

    def __init__(self, engine: FastEngine, prompt: Sequence[str]) -> None:
        super().__init__(engine, prompt, lambda _: True, answer_all=True)
        self.segments: list[int] = []
        self.outgrown = False

    @property
    def ended(self) -> bool:
        """Whether everything is answered."""
        return self.stopped_by is not None or not self.given

    def advance(self, count: int) -> None:
        """Compute so many positions more."""
        self.go(min(self.given, self.read + count))

    def said_since(self, most: int) -> Coded[str]:
        """All answers; none before the last is there."""
        del most
        answered = self.answered()
        return answered if self.ended else answered[:0]

    @property
    def spoken(self) -> range:
        """The positions that are answered."""
        return range(self.given if self.ended else 0)

    def said_at(self, position: int) -> str:
        """The answer at a position."""
        return self.answered()[position]

    def audit(self, count: int, seed: int) -> Audit:
        """Do random positions again."""
        return audit(self, count, seed)


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
        if not isinstance(codec, DecoderCodec) and not model.weights.causal:
            raise UsageError(f"{model.name!r} is an encoder; the fast engine decodes", hint=Remedy(engine="dense"))
        try:
            engine = FastEngine(model.weights)
        except Declined as reason:
            raise UsageError(
                f"the fast engine cannot run {model.name!r}: {reason}", hint=Remedy(engine="dense")
            ) from None
        self.limit = codec.token_limit(self.max_steps) if isinstance(codec, DecoderCodec) else 0
        self.visible = self.limit
        """How many tokens are handed out at most. A saved run also holds the token after its last; see `resume`."""
        positions = model.length
        self.run: OneContext | SegmentedPass | OneReading
        if not isinstance(codec, DecoderCodec):
            self.run = OneReading(engine, prompt)
        elif isinstance(codec, SegmentedCodec):
            steps = self.max_steps
            self.run = SegmentedPass(engine, codec, prompt, said, most_steps=steps, most_positions=positions)
        else:
            self.run = OneContext(engine, codec, prompt, said, most_tokens=self.limit, most_positions=positions)

    @property
    def tokens(self) -> Sequence[str]:
        """What was said up to now."""
        return self.run.said_since(self.visible)

    @property
    def segments(self) -> list[int]:
        """How many tokens each context has."""
        return self.run.segments

    @property
    def size(self) -> int:
        """The bytes that the run takes."""
        return self.run.size

    @property
    def ready(self) -> bool:
        """Whether the machine code is there."""
        return self.run.engine.ready

    def prepare(self) -> None:
        """Load the machine code, or make it."""
        self.run.prepare()

    def pieces(self) -> Iterator[Sequence[str]]:
        """Many tokens at a time."""
        self.task.require_room(self.max_steps)
        seen, piece, self.visible = len(self.tokens), FIRST_PIECE, self.limit
        outlook = Outlook(self)
        while not self.run.ended:
            self.run.advance(piece)
            said = self.tokens
            outlook.see(len(said))
            yield said[seen:]
            seen, piece = len(said), min(2 * piece, LARGEST_PIECE)
        if self.run.outgrown:
            raise self.task.outgrown(self.max_steps)

    def save(self, file: Path) -> bool:
        """Write the run to a file; one that has ended as it was before its last decision. Answers are not saved."""
        if isinstance(self.run, OneReading):
            return False
        saved_run.save(self.run, file, self.max_steps, self.task.model.length)
        return True

    def audit(self, steps: int, seed: int) -> Audit:
        """Random steps done again, with every score computed in exact arithmetic."""
        return self.run.audit(steps, seed)


class Outlook:
    """What is known of a run for which someone allows many steps: nobody knows when it ends, so nothing is refused.

    Args:
        run: The run.
    """

    def __init__(self, run: FastRun) -> None:
        self.run, self.before, self.began = run, len(run.tokens), time.perf_counter()
        self.asked = run.task.max_steps is not None
        context, allowed = run.run, many(run.max_steps, "step")
        if self.asked and isinstance(context, OneContext) and context.end > (most := context.engine.code.horizon):
            mention(f"{allowed} are allowed, but a context has at most {most:,} positions: a run that is longer stops")

    def see(self, count: int) -> None:
        """So many tokens are there: say how long all would take, once, as soon as that can be told."""
        spent = time.perf_counter() - self.began
        if self.asked and spent > SOON and count > self.before:
            self.asked = False
            seconds = spent / (count - self.before) * (self.run.limit - self.before)
            if seconds > WORTH_SAYING:
                allowed = many(self.run.max_steps, "step")
                mention(f"all {allowed} that are allowed take about {duration(seconds)}; the run may end before")


def resume(task: Task, file: Path) -> FastRun:
    """The run that was saved to a file; if nothing is said of steps, it may make as many as it might before."""
    if task.max_steps is None:
        task = replace(task, max_steps=max(MAX_STEPS, saved_run.steps_allowed(file)))
    run = FastRun(task)
    if not isinstance(run.run, OneReading):
        saved_run.load(run.run, file, task.model.length)
    if isinstance(task.codec, DecoderCodec):
        reported = task.codec.token_limit(saved_run.steps_allowed(file))
        if len(run.tokens) == reported + 1:  # it looked one token ahead, to see whether that stops the run
            run.visible = reported
    return run


def require_free(file: Path, run: Execution | None) -> None:
    """Complain if a file is there that saving a run, if it is known yet, would destroy."""
    fast = run if isinstance(run, FastRun) else None
    saved_run.require_free(file, fast.run if fast else None, fast.max_steps if fast else None)


def quick(task: Task) -> bool:
    """Whether no head has to look at many keys one by one, as far as is known beforehand."""
    try:
        code = FastEngine(task.model.weights).code
    except (Declined, UsageError):
        return False
    return isinstance(code, Emitted) and not any(plan.scans for plan in code.plans)


ENGINE = Engine("fast", FastRun, resume, require_free, quick)
