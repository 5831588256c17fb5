"""Runs on the dense engine: of an encoder in one pass, of a decoder token by token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from softmachine.engines.dense.cost_estimate import require_affordable_pass
from softmachine.engines.dense.decoding import context_lengths, decode, decode_segments
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.engine import AuditResult, Engine, RunRequest
from softmachine.engines.numerics import Arithmetic
from softmachine.languages.source import Source
from softmachine.support.errors import FixHint, UsageError
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec

MAX_STEPS = 1_000_000
"""Default limit of steps."""


class DenseRun:
    """A run on the dense engine.

    Args:
        request: The parameters of the run.
        arithmetic: The arithmetic, or its name.
        previous: The tokens emitted before.
    """

    memory_bytes = 0
    ready = True

    def __init__(self, request: RunRequest, arithmetic: str | Arithmetic, previous: Sequence[str] = ()) -> None:
        self.request = request
        self.engine = DenseEngine(request.model.weights, arithmetic)
        self.arithmetic = self.engine.arithmetic.name
        self.tokens = list(previous)
        self.segments: list[int] = []
        if previous and isinstance(request.codec, SegmentedCodec):
            self.segments += context_lengths(
                request.prompt, previous, request.codec.begins_segment, request.codec.ends_segment
            )

    @property
    def max_steps(self) -> int:
        """The limit of steps."""
        return max(MAX_STEPS, len(self.tokens)) if self.request.max_steps is None else self.request.max_steps

    def prepare(self) -> None:
        """Do nothing: the weights were prepared by the constructor."""

    def chunks(self) -> Iterator[Sequence[str]]:
        """Yield the tokens of a decoder one by one, or the outputs of an encoder in one chunk."""
        codec, prompt = self.request.codec, self.request.prompt
        require_affordable_pass(self.engine, (*prompt.tokens, *self.tokens), prompt.length)
        if not isinstance(codec, DecoderCodec):
            self.tokens += self.engine.predict([prompt.tokens], prompt.length)[0]
            yield self.tokens
            return
        for token in self._decode_segments(codec) if isinstance(codec, SegmentedCodec) else self._decode(codec):
            self.tokens.append(token)
            yield (token,)

    def _decode(self, codec: DecoderCodec[Source]) -> Iterator[str]:
        """Yield the tokens of a run in a single context, up to the step limit."""
        prompt, positions = self.request.prompt, self.request.model.context
        for token in decode(self.engine, prompt, codec.is_stop_token, self.tokens):
            if len(self.tokens) >= codec.max_tokens(self.max_steps) and not codec.is_stop_token(token):
                return
            if positions is not None and len(prompt.tokens) + len(self.tokens) > positions:
                raise self.request.context_error(self.max_steps)
            yield token

    def _decode_segments(self, codec: SegmentedCodec[Source]) -> Iterator[str]:
        """Yield the tokens of all segments, up to the step limit."""
        self.request.require_space(self.max_steps)
        steps, positions = sum(map(codec.is_step, self.tokens)), self.request.model.context
        marks = codec.is_stop_token, codec.begins_segment, codec.ends_segment
        for step in decode_segments(self.engine, self.request.prompt, *marks, tuple(self.tokens)):
            if codec.is_step(step.token):
                if steps >= self.max_steps:
                    return
                steps += 1
            if positions is not None and step.positions > positions:
                raise self.request.context_error(self.max_steps)
            self.segments[step.segment :] = [step.positions]
            yield step.token

    def save(self, file: Path) -> bool:
        """Return False: the dense engine has no checkpoints."""
        return False

    def audit(self, steps: int, seed: int) -> AuditResult:
        """Refuse: the dense engine is itself the reference of audits.

        Raises:
            UsageError: Always.
        """
        raise UsageError("only runs of the fast engine are audited", hint=FixHint(engine="fast"))


ENGINE = Engine("dense", DenseRun)
