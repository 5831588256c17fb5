"""Runs: a model at work on an input, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from softmachine.engines.decode import decode
from softmachine.engines.dense import DenseEngine
from softmachine.engines.segments import decode_segments
from softmachine.errors import UsageError
from softmachine.outcome import Outcome
from softmachine.text import many
from softmachine.transformer import Codec, DecoderCodec, Prompt, SegmentedCodec, Transformer

MAX_STEPS = 1_000_000
MOST_TRIED = 20_000
"""So many steps the interpreter makes at most, to find out what length a run would need."""
UNFINISHED = "no verdict yet"


@dataclass(frozen=True)
class Run:
    """A finished (or interrupted) run.

    Args:
        transformer: What ran.
        prompt: What it was started on.
        tokens: What it produced: a decoder's tokens, an encoder's output at every position.
        outcome: What that means in the source language.
        arithmetic: The arithmetic it ran in.
        engine: The engine it ran on.
        seconds: How long it took.
        segments: How many tokens the context of each segment had, if the model goes on from summaries.
    """

    transformer: Transformer
    prompt: Prompt
    tokens: tuple[str, ...]
    outcome: Outcome
    arithmetic: str
    engine: str
    seconds: float
    segments: tuple[int, ...] = ()

    @property
    def verdict(self) -> str | None:
        """Accept, reject or halt; None if the run did not end."""
        return self.outcome.verdict

    @property
    def accepted(self) -> bool:
        """Whether the verdict is "accept"."""
        return self.outcome.accepted

    @property
    def halted(self) -> bool:
        """Whether the run ended by itself."""
        return self.outcome.halted

    @property
    def steps(self) -> int:
        """The number of steps of the source language."""
        return self.outcome.steps

    @property
    def output(self) -> str:
        """What is left, as text."""
        return self.outcome.output

    tape = output

    @property
    def tokens_per_second(self) -> float:
        """How fast it ran."""
        return len(self.tokens) / self.seconds if self.seconds else 0.0

    def text(self, most: int = 40) -> str:
        """The run for people: what happened step by step (the first ``most`` steps), and what came of it."""
        lines = list(islice(self.outcome.trace(), most + 1))
        if len(lines) > most:
            lines[most:] = [f"… {many(self.steps - most + 1, 'more step')}"]
        return "\n".join([*lines, self.summary()])

    def summary(self) -> str:
        """One line: the verdict, what is left, and how long it took."""
        verdict = self.verdict or UNFINISHED
        left = f"  {self.output!r}" if self.output else ""
        how = f"({self.engine}, {self.arithmetic})"
        if not isinstance(self.transformer.codec, DecoderCodec):
            return f"{verdict}{left}  in one pass over {many(len(self.tokens), 'position')} {how}"
        parts = ""
        if len(self.segments) > 1:
            parts = f" in {many(len(self.segments), 'segment')} of at most {max(self.segments):,}"
        return (
            f"{verdict}{left}  after {many(self.steps, 'step')}, {many(len(self.tokens), 'token')}{parts}, "
            f"{self.tokens_per_second:,.0f} tokens/s {how}"
        )

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre style='line-height:1.3'>{escape(self.text())}</pre>"


class Running:
    """A run in progress: iterate to let it go on; :meth:`so_far` at any time.

    Args:
        transformer: What to run; it must have a codec.
        word: The input.
        arithmetic: Its name, or the arithmetic.
        max_steps: How many steps of the source language to allow.
    """

    def __init__(
        self,
        transformer: Transformer,
        word: str | Iterable[str],
        *,
        arithmetic: str | Any = "float64",
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.transformer = transformer
        self.codec = codec_of(transformer)
        self.word = word if isinstance(word, str) else tuple(word)
        self.prompt = self.codec.prompt(self.word)
        self.engine = DenseEngine(transformer, arithmetic)
        self.max_steps = max_steps
        self.tokens: list[str] = []
        self.segments: list[int] = []
        self._seconds = 0.0

    def __iter__(self) -> Iterator[str]:
        began = time.perf_counter()
        try:
            for token in self._said():
                self.tokens.append(token)
                self._seconds = time.perf_counter() - began
                yield token
        finally:
            self._seconds = time.perf_counter() - began

    def _said(self) -> Iterator[str]:
        """A decoder's tokens up to the limit; an encoder's output at every position."""
        if not isinstance(self.codec, DecoderCodec):
            yield from self.engine.answers([self.prompt.tokens], self.prompt.length)[0]
            return
        if isinstance(self.codec, SegmentedCodec):
            yield from self._said_in_segments(self.codec)
            return
        limit = self.codec.token_limit(self.max_steps)
        positions = self.transformer.length
        for count, token in enumerate(decode(self.engine, self.prompt, self.codec.stops)):
            if count >= limit and not self.codec.stops(token):
                return
            if positions is not None and len(self.prompt.tokens) + count > positions:
                name = self.transformer.name
                raise UsageError(
                    f"the run does not end within the {positions} positions that {name!r} was made for",
                    hint="compile it for a larger length, or limit the steps",
                )
            yield token

    def _said_in_segments(self, codec: SegmentedCodec) -> Iterator[str]:
        """The tokens of all segments, up to the limit of steps."""
        steps, positions = 0, self.transformer.length
        if positions is not None and len(self.prompt.tokens) >= positions:
            raise self._outgrown(codec, positions)
        for said in decode_segments(self.engine, self.prompt, codec.stops, codec.segment_begins, codec.segment_ends):
            if codec.is_step(said.token):
                if steps == self.max_steps:
                    return
                steps += 1
            if positions is not None and said.positions > positions:
                raise self._outgrown(codec, positions)
            self.segments[said.segment :] = [said.positions]
            yield said.token

    def _outgrown(self, codec: SegmentedCodec, positions: int) -> UsageError:
        """What to say when a context has more tokens than the weights were made for."""
        needed = codec.longest(self.word, min(self.max_steps, MOST_TRIED))
        return UsageError(
            f"the run does not fit into the {positions} positions that {self.transformer.name!r} was made for",
            hint=f"compile it for length {needed}"
            if needed is not None
            else f"compile it for a larger length, or limit the steps (it does not end within {MOST_TRIED:,})",
        )

    def so_far(self) -> Run:
        """The run up to now."""
        return Run(
            self.transformer,
            self.prompt,
            tuple(self.tokens),
            self.codec.read(self.word, self.tokens),
            self.engine.arithmetic.name,
            "dense",
            self._seconds,
            tuple(self.segments),
        )


def codec_of(transformer: Transformer) -> Codec:
    """The model's codec.

    Raises:
        UsageError: If it has none: it was made without a source language.
    """
    if transformer.codec is None:
        raise UsageError(f"{transformer.name!r} does not say how words become tokens; run it with an engine")
    return transformer.codec
