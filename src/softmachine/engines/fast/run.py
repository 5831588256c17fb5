"""Runs on the fast engine: in one context, in segments that continue from summaries, or in a single pass."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from softmachine.engines.engine import Engine, Execution, Task
from softmachine.engines.fast import checkpoint
from softmachine.engines.fast.analysis.grids import Declined
from softmachine.engines.fast.audit import Audit, audit
from softmachine.engines.fast.codegen.emitter import Emitted
from softmachine.engines.fast.engine import FastEngine, FastPass
from softmachine.engines.fast.segments import SegmentedPass
from softmachine.engines.numerics import Arithmetic
from softmachine.languages.source import Source
from softmachine.support.errors import Remedy, UsageError
from softmachine.support.resources import SOON, WORTH_SAYING, duration, mention
from softmachine.support.text import many
from softmachine.support.token_array import Coded
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec

MAX_STEPS = 100_000_000
"""Default limit on steps."""
FIRST_PIECE, LARGEST_PIECE = 1 << 12, 1 << 21
"""Positions per chunk: first chunk, and maximum (the size doubles)."""


class OneContext(FastPass):
    """A run in one context.

    Args:
        engine: The engine.
        codec: Determines which token ends a run.
        prompt: The input tokens.
        said: Tokens already known to follow the prompt.
        most_tokens: Maximum number of tokens after the prompt. The next one is computed as well: if it is the stop
            token, the run has ended.
        most_positions: Maximum context length, if the weights were built for one.
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
        """Whether nothing is left to compute."""
        return self.stopped_by is not None or self.read >= self.end

    @property
    def outgrown(self) -> bool:
        """Whether the run exceeded the context length the weights were built for."""
        return self.stopped_by is None and self.end + 1 < self.wanted

    def advance(self, count: int) -> None:
        """Compute ``count`` more positions, unless the run ends earlier."""
        self.go(min(self.end, self.read + count))

    @property
    def spoken(self) -> range:
        """The positions that produced an output, up to the token limit."""
        every = super().spoken
        return every[: self.wanted - self.prompt] if self.stopped_by is None else every

    def audit(self, count: int, seed: int) -> Audit:
        """Recompute random steps."""
        return audit(self, count, seed)


class OneReading(FastPass):
    """A single pass over the input of a model that answers at every position, if no position depends on a later one.

    Args:
        engine: The engine.
        prompt: The input tokens.
    """

    def __init__(self, engine: FastEngine, prompt: Sequence[str]) -> None:
        super().__init__(engine, prompt, lambda _: True, answer_all=True)
        self.segments: list[int] = []
        self.outgrown = False

    @property
    def ended(self) -> bool:
        """Whether all answers are computed."""
        return self.stopped_by is not None or not self.given

    def advance(self, count: int) -> None:
        """Compute ``count`` more positions."""
        self.go(min(self.given, self.read + count))

    def said_since(self, most: int) -> Coded[str]:
        """All answers, or none before the last one is computed."""
        del most
        answered = self.answered()
        return answered if self.ended else answered[:0]

    @property
    def spoken(self) -> range:
        """The positions with answers."""
        return range(self.given if self.ended else 0)

    def said_at(self, position: int) -> str:
        """The answer at a position."""
        return self.answered()[position]

    def audit(self, count: int, seed: int) -> Audit:
        """Recompute random positions."""
        return audit(self, count, seed)


class FastRun:
    """A run request on the fast engine, which is exact whatever the arithmetic.

    Args:
        task: The request.
        numbers: Not used.
        said: Tokens already known to follow the prompt.

    Raises:
        UsageError: If the fast engine does not support the model.
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
        """Maximum number of tokens reported. A saved run also holds the next token; see `resume`."""
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
        """The output so far."""
        return self.run.said_since(self.visible)

    @property
    def segments(self) -> list[int]:
        """The number of tokens of each context."""
        return self.run.segments

    @property
    def size(self) -> int:
        """The memory of the run in bytes."""
        return self.run.size

    @property
    def ready(self) -> bool:
        """Whether the machine code is available without compiling."""
        return self.run.engine.ready

    def prepare(self) -> None:
        """Load or compile the machine code."""
        self.run.prepare()

    def pieces(self) -> Iterator[Sequence[str]]:
        """The output, chunk by chunk."""
        self.task.require_room(self.max_steps)
        reported, chunk, self.visible = len(self.tokens), FIRST_PIECE, self.limit
        outlook = Outlook(self)
        while not self.run.ended:
            self.run.advance(chunk)
            output = self.tokens
            outlook.see(len(output))
            yield output[reported:]
            reported, chunk = len(output), min(2 * chunk, LARGEST_PIECE)
        if self.run.outgrown:
            raise self.task.outgrown(self.max_steps)

    def save(self, file: Path) -> bool:
        """Save a checkpoint (of an ended run before its last decision); False for single-pass runs, which have none."""
        if isinstance(self.run, OneReading):
            return False
        checkpoint.save(self.run, file, self.max_steps, self.task.model.length)
        return True

    def audit(self, steps: int, seed: int) -> Audit:
        """Recompute random steps with every score, in exact arithmetic."""
        return self.run.audit(steps, seed)


class Outlook:
    """Reports the limits of a run with an explicit step limit. When it ends is unknown, so nothing is refused.

    Args:
        run: The run.
    """

    def __init__(self, run: FastRun) -> None:
        self.run, self.before, self.began = run, len(run.tokens), time.perf_counter()
        self.asked = run.task.max_steps is not None
        context, allowed = run.run, many(run.max_steps, "step")
        if self.asked and isinstance(context, OneContext) and context.end > (most := context.engine.code.horizon):
            mention(f"{allowed} are allowed, but the run stops at the maximum context of {most:,} positions")

    def see(self, count: int) -> None:
        """Report once, as soon as it can be estimated, how long all allowed steps would take."""
        spent = time.perf_counter() - self.began
        if self.asked and spent > SOON and count > self.before:
            self.asked = False
            seconds = spent / (count - self.before) * (self.run.limit - self.before)
            if seconds > WORTH_SAYING:
                allowed = many(self.run.max_steps, "step")
                mention(f"all {allowed} allowed take about {duration(seconds)}; the run may end earlier")


def resume(task: Task, file: Path) -> FastRun:
    """Resume a run from a checkpoint; without an explicit limit it may take as many steps as before."""
    if task.max_steps is None:
        task = replace(task, max_steps=max(MAX_STEPS, checkpoint.steps_allowed(file)))
    run = FastRun(task)
    if not isinstance(run.run, OneReading):
        checkpoint.load(run.run, file, task.model.length)
    if isinstance(task.codec, DecoderCodec):
        reported = task.codec.token_limit(checkpoint.steps_allowed(file))
        if len(run.tokens) == reported + 1:  # it computed one token ahead, to detect a stop
            run.visible = reported
    return run


def require_free(file: Path, run: Execution | None) -> None:
    """Raise if saving would overwrite a file that must not be replaced; see `saved_run.require_free`."""
    fast = run if isinstance(run, FastRun) else None
    checkpoint.require_free(file, fast.run if fast else None, fast.max_steps if fast else None)


def quick(task: Task) -> bool:
    """Whether no head has to scan many keys, as far as is known before the run."""
    try:
        code = FastEngine(task.model.weights).code
    except (Declined, UsageError):
        return False
    return isinstance(code, Emitted) and not any(plan.scans for plan in code.plans)


ENGINE = Engine("fast", FastRun, resume, require_free, quick)
