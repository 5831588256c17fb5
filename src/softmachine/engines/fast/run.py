"""Runs on the fast engine: in one context, in segments that continue from summaries, or in a single pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from softmachine.engines.engine import Engine, EngineRun, RunRequest
from softmachine.engines.fast import checkpoint
from softmachine.engines.fast.analysis.grids import UnsupportedModel
from softmachine.engines.fast.audit import Audit, audit
from softmachine.engines.fast.codegen.emitter import GeneratedCode
from softmachine.engines.fast.engine import FastEngine, FastPass
from softmachine.engines.fast.segments import SegmentedPass
from softmachine.engines.numerics import Arithmetic
from softmachine.languages.source import Source
from softmachine.support.errors import FixHint, UsageError
from softmachine.support.resources import report_cost
from softmachine.support.text import pluralize
from softmachine.support.token_array import CodeArray
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec

MAX_STEPS = 100_000_000
"""Default limit on steps."""
FIRST_CHUNK, MAX_CHUNK = 1 << 12, 1 << 21
"""Positions per chunk: first chunk, and maximum (the size doubles)."""


class SingleContextRun(FastPass):
    """A run in one context.

    Args:
        engine: The engine.
        codec: Determines which token ends a run.
        prompt: The input tokens.
        continuation: Tokens already known to follow the prompt.
        max_tokens: Maximum number of tokens after the prompt. The next one is computed as well: if it is the stop
            token, the run has ended.
        max_positions: Maximum context length, if the weights were built for one.
    """

    def __init__(
        self,
        engine: FastEngine,
        codec: DecoderCodec[Source],
        prompt: Sequence[str],
        continuation: Sequence[str],
        *,
        max_tokens: int,
        max_positions: int | None,
    ) -> None:
        super().__init__(engine, prompt, codec.is_stop_token, continuation)
        self.segments: list[int] = []
        self.max_length = len(prompt) + max_tokens
        self.end_position = self.max_length if max_positions is None else min(self.max_length, max_positions)
        self.reserve(self.end_position)

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to compute."""
        return self.stopped_by is not None or self.positions_read >= self.end_position

    @property
    def exceeded_context(self) -> bool:
        """Whether the run exceeded the context length the weights were built for."""
        return self.stopped_by is None and self.end_position + 1 < self.max_length

    def advance(self, count: int) -> None:
        """Compute ``count`` more positions, unless the run ends earlier."""
        self.run_until(min(self.end_position, self.positions_read + count))

    @property
    def output_positions(self) -> range:
        """The positions that produced an output, up to the token limit."""
        every = super().output_positions
        return every[: self.max_length - self.prompt_length] if self.stopped_by is None else every

    def audit(self, count: int, seed: int) -> Audit:
        """Recompute random steps."""
        return audit(self, count, seed)


class SinglePassRun(FastPass):
    """A single pass over the input of a model that answers at every position, if no position depends on a later one.

    Args:
        engine: The engine.
        prompt: The input tokens.
    """

    def __init__(self, engine: FastEngine, prompt: Sequence[str]) -> None:
        super().__init__(engine, prompt, lambda _: True, all_outputs=True)
        self.segments: list[int] = []
        self.exceeded_context = False

    @property
    def has_ended(self) -> bool:
        """Whether all answers are computed."""
        return self.stopped_by is not None or not self.given_count

    def advance(self, count: int) -> None:
        """Compute ``count`` more positions."""
        self.run_until(min(self.given_count, self.positions_read + count))

    def output(self, max_tokens: int) -> CodeArray[str]:
        """All answers, or none before the last one is computed."""
        del max_tokens
        answered = self.computed_outputs()
        return answered if self.has_ended else answered[:0]

    @property
    def output_positions(self) -> range:
        """The positions with answers."""
        return range(self.given_count if self.has_ended else 0)

    def output_at(self, position: int) -> str:
        """The answer at a position."""
        return self.computed_outputs()[position]

    def audit(self, count: int, seed: int) -> Audit:
        """Recompute random positions."""
        return audit(self, count, seed)


class FastRun:
    """A run request on the fast engine, which is exact whatever the arithmetic.

    Args:
        request: The model, the input and the step limit.
        numbers: Not used.
        continuation: Tokens already known to follow the prompt.

    Raises:
        UsageError: If the fast engine does not support the model.
    """

    arithmetic = "exact"

    def __init__(
        self, request: RunRequest, numbers: str | Arithmetic = "exact", continuation: Sequence[str] = ()
    ) -> None:
        self.request = request
        self.max_steps = MAX_STEPS if request.max_steps is None else request.max_steps
        model, codec, prompt = request.model, request.codec, request.prompt.tokens
        if not isinstance(codec, DecoderCodec) and not model.weights.is_causal:
            raise UsageError(f"{model.name!r} is an encoder; the fast engine decodes", hint=FixHint(engine="dense"))
        try:
            engine = FastEngine(model.weights)
        except UnsupportedModel as reason:
            raise UsageError(
                f"the fast engine cannot run {model.name!r}: {reason}", hint=FixHint(engine="dense")
            ) from None
        self.limit = codec.max_tokens(self.max_steps) if isinstance(codec, DecoderCodec) else 0
        self.visible = self.limit
        """Maximum number of tokens reported. A saved run also holds the next token; see `resume`."""
        positions = model.context
        self.run: SingleContextRun | SegmentedPass | SinglePassRun
        if not isinstance(codec, DecoderCodec):
            self.run = SinglePassRun(engine, prompt)
        elif isinstance(codec, SegmentedCodec):
            steps = self.max_steps
            self.run = SegmentedPass(engine, codec, prompt, continuation, max_steps=steps, max_positions=positions)
        else:
            self.run = SingleContextRun(
                engine, codec, prompt, continuation, max_tokens=self.limit, max_positions=positions
            )

    @property
    def tokens(self) -> Sequence[str]:
        """The output so far."""
        return self.run.output(self.visible)

    @property
    def segments(self) -> list[int]:
        """The number of tokens of each context."""
        return self.run.segments

    @property
    def memory_bytes(self) -> int:
        """The memory of the run in bytes."""
        return self.run.size

    @property
    def ready(self) -> bool:
        """Whether the machine code is available without compiling."""
        return self.run.engine.is_ready

    def prepare(self) -> None:
        """Load or compile the machine code."""
        self.run.prepare()

    def chunks(self) -> Iterator[Sequence[str]]:
        """The output, chunk by chunk."""
        self.request.require_space(self.max_steps)
        reported, chunk, self.visible = len(self.tokens), FIRST_CHUNK, self.limit
        self._report_maximum_context()
        while not self.run.has_ended:
            self.run.advance(chunk)
            output = self.tokens
            yield output[reported:]
            reported, chunk = len(output), min(2 * chunk, MAX_CHUNK)
        if self.run.exceeded_context:
            raise self.request.context_error(self.max_steps)

    def _report_maximum_context(self) -> None:
        """Report an explicit step limit that the run cannot reach."""
        run, most = self.run, self.run.engine.code.max_positions
        if self.request.max_steps is not None and isinstance(run, SingleContextRun) and run.end_position > most:
            allowed = pluralize(self.max_steps, "step")
            report_cost(f"{allowed} are allowed, but the run stops at the maximum context of {most:,} positions")

    def save(self, file: Path) -> bool:
        """Save a checkpoint (of an ended run before its last decision); False for single-pass runs, which have none."""
        if isinstance(self.run, SinglePassRun):
            return False
        checkpoint.save(self.run, file, self.max_steps, self.request.model.context)
        return True

    def audit(self, steps: int, seed: int) -> Audit:
        """Recompute random steps with every score, in exact arithmetic."""
        return self.run.audit(steps, seed)


def resume(request: RunRequest, file: Path) -> FastRun:
    """Resume a run from a checkpoint; without an explicit limit it may take as many steps as before."""
    if request.max_steps is None:
        request = replace(request, max_steps=max(MAX_STEPS, checkpoint.saved_step_limit(file)))
    run = FastRun(request)
    if not isinstance(run.run, SinglePassRun):
        checkpoint.load(run.run, file, request.model.context)
    if isinstance(request.codec, DecoderCodec):
        reported = request.codec.max_tokens(checkpoint.saved_step_limit(file))
        if len(run.tokens) == reported + 1:  # it computed one token ahead, to detect a stop
            run.visible = reported
    return run


def require_replaceable(file: Path, run: EngineRun | None) -> None:
    """Raise if saving would overwrite a file that must not be replaced; see `saved_run.require_replaceable`."""
    fast = run if isinstance(run, FastRun) else None
    checkpoint.require_replaceable(file, fast.run if fast else None, fast.max_steps if fast else None)


def is_quick(request: RunRequest) -> bool:
    """Whether no head has to scan many keys, as far as is known before the run."""
    try:
        code = FastEngine(request.model.weights).code
    except (UnsupportedModel, UsageError):
        return False
    return isinstance(code, GeneratedCode) and not any(plan.may_scan for plan in code.plans)


ENGINE = Engine("fast", FastRun, resume, require_replaceable, is_quick)
