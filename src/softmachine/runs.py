"""Runs: a model at work on an input, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softmachine.engines.decode import decode
from softmachine.engines.dense import DenseEngine
from softmachine.engines.segments import decode_segments
from softmachine.errors import SourceError, UsageError
from softmachine.outcome import Outcome
from softmachine.text import many
from softmachine.transformer import Codec, DecoderCodec, Prompt, SegmentedCodec, Transformer

if TYPE_CHECKING:
    from softmachine.engines.fast import Audit, FastPass

MAX_STEPS = 1_000_000
MAX_FAST_STEPS = 100_000_000
"""The step limits of the two engines, if none is given."""
ENGINES = ("auto", "dense", "fast")
SHORT = 2_000
"""Runs of so many tokens are left to the dense engine: they end before the fast one has started."""
BETWEEN_CHECKPOINTS = 30.0
"""Seconds."""
FIRST_PIECE, LARGEST_PIECE = 1 << 12, 1 << 21
"""How many positions the fast engine computes before it lets others look."""
UNFINISHED = "no verdict yet"
LONGEST = 120
"""Longer outputs are shortened in summaries."""
MOST_TRIED = 200_000
"""So many steps the interpreter makes at most, to find out what length a run would need."""


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
    tokens: Sequence[str]
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
        left = f"  {_shortened(self.output)}" if self.output else ""
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
        max_steps: How many steps of the source language to allow; by default `MAX_STEPS`, and `MAX_FAST_STEPS` on the
            fast engine.
        engine: "dense"; "fast", which is exact whatever the arithmetic; or "auto": dense to begin with, and fast when
            the run turns out to be long, if the fast engine can do it and the arithmetic is float64 or exact.
        checkpoint: A file to which the run is written now and then, and when it is interrupted; needs the fast engine.
        resume: The checkpoint to go on from; needs the fast engine.
    """

    def __init__(
        self,
        transformer: Transformer,
        word: str | Iterable[str],
        *,
        arithmetic: str | Any = "float64",
        max_steps: int | None = None,
        engine: str = "auto",
        checkpoint: str | Path | None = None,
        resume: str | Path | None = None,
    ) -> None:
        if engine not in ENGINES:
            raise UsageError(f"there is no engine {engine!r}", hint=f"choose one of {', '.join(ENGINES)}")
        self.transformer = transformer
        self.codec = codec_of(transformer)
        self.word = word if isinstance(word, str) else tuple(word)
        self.prompt = self.codec.prompt(self.word)
        self._given_limit = max_steps
        self.declined: str | None = None
        self.unsaved: str | None = None
        self._fast: FastPass | None = None
        self._dense: DenseEngine | None = None
        self._said: list[str] = []
        self.segments: list[int] = []
        self._seconds = 0.0
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        if checkpoint or resume:
            if engine == "dense":
                raise UsageError("only the fast engine has checkpoints", hint="--engine fast")
            if self.checkpoint and not self.checkpoint.absolute().parent.is_dir():
                raise UsageError(f"there is no folder {self.checkpoint.parent} for the checkpoint")
            engine = "fast"
        if engine == "fast":
            self._fast = self._start_fast()
            if resume:
                from softmachine.engines.fast import checkpoint as files

                files.load(self._fast, Path(resume))
        else:
            self._dense = DenseEngine(transformer, arithmetic)
            self._may_switch = engine == "auto" and self._dense.arithmetic.name in ("float64", "exact")

    @property
    def engine(self) -> str:
        """The engine that it runs on now."""
        return "fast" if self._fast else "dense"

    @property
    def arithmetic(self) -> str:
        """The arithmetic that it runs in now."""
        return "exact" if self._fast or not self._dense else self._dense.arithmetic.name

    @property
    def max_steps(self) -> int:
        """How many steps are allowed."""
        if self._given_limit is not None:
            return self._given_limit
        return MAX_FAST_STEPS if self._fast else MAX_STEPS

    @property
    def tokens(self) -> Sequence[str]:
        """What was said up to now."""
        return self._fast.said_since(self._limit) if self._fast else self._said

    @property
    def memory(self) -> int:
        """The bytes that the fast engine holds; 0 for the dense one."""
        return self._fast.size if self._fast else 0

    @property
    def _limit(self) -> int:
        assert isinstance(self.codec, DecoderCodec)
        return self.codec.token_limit(self.max_steps)

    def __iter__(self) -> Iterator[str]:
        for piece in self.pieces():
            yield from piece

    def pieces(self) -> Iterator[Sequence[str]]:
        """The tokens as they come: one at a time, and from the fast engine many."""
        began = time.perf_counter() - self._seconds
        try:
            for piece in self._pieces():
                self._seconds = time.perf_counter() - began
                yield piece
        finally:
            self._seconds = time.perf_counter() - began

    def _pieces(self) -> Iterator[Sequence[str]]:
        """A decoder's tokens up to the limit; an encoder's output at every position."""
        if self._dense is not None:
            if not isinstance(self.codec, DecoderCodec):
                self._said += self._dense.answers([self.prompt.tokens], self.prompt.length)[0]
                yield self._said
                return
            if isinstance(self.codec, SegmentedCodec):
                yield from self._segments(self.codec, self._dense)
                return
            for token in decode(self._dense, self.prompt, self.codec.stops):
                if len(self._said) >= self._limit and not self.codec.stops(token):
                    return
                if self._made_for is not None and len(self.prompt.tokens) + len(self._said) > self._made_for:
                    raise self._outgrown()
                self._said.append(token)
                yield (token,)
                if len(self._said) == SHORT and self._may_switch and not self.codec.stops(token):
                    self._fast = self._try_fast()
                    if self._fast:
                        break
            else:
                return
        assert self._fast is not None
        yield from self._fast_pieces(self._fast)

    def _segments(self, codec: SegmentedCodec, engine: DenseEngine) -> Iterator[Sequence[str]]:
        """The tokens of all segments, up to the limit of steps."""
        steps = 0
        if self._made_for is not None and len(self.prompt.tokens) >= self._made_for:
            raise self._outgrown()
        for said in decode_segments(engine, self.prompt, codec.stops, codec.segment_begins, codec.segment_ends):
            if codec.is_step(said.token):
                if steps == self.max_steps:
                    return
                steps += 1
            if self._made_for is not None and said.positions > self._made_for:
                raise self._outgrown()
            self.segments[said.segment :] = [said.positions]
            self._said.append(said.token)
            yield (said.token,)

    def _fast_pieces(self, run: FastPass) -> Iterator[Sequence[str]]:
        seen, piece, saved = len(self._said), FIRST_PIECE, time.perf_counter()
        # The token after the limit is looked at, too: if it is the one that stops the run, the run has ended.
        wanted = len(self.prompt.tokens) + self._limit
        end = wanted if self._made_for is None else min(wanted, self._made_for)
        while run.stopped_by is None and run.read < end:
            run.go(min(end, run.read + piece))
            said = run.said_since(self._limit)
            if len(said) > seen:
                yield said[seen:]
                seen = len(said)
            piece = min(2 * piece, LARGEST_PIECE)
            if time.perf_counter() - saved > BETWEEN_CHECKPOINTS:
                self.save()
                saved = time.perf_counter()
        self.save()
        if run.stopped_by is None and end + 1 < wanted:
            raise self._outgrown()

    @property
    def _made_for(self) -> int | None:
        """The number of positions that the weights were made for, if they were made for a length."""
        return self.transformer.length

    def _outgrown(self) -> UsageError:
        """What to say when a context has more tokens than the weights were made for."""
        hint = "compile it for a larger length, or limit the steps"
        if isinstance(self.codec, SegmentedCodec):
            needed = self.codec.longest(self.word, min(self.max_steps, MOST_TRIED))
            hint = f"compile it for length {needed}" if needed is not None else hint
        return UsageError(
            f"the run does not end within the {self._made_for} positions that {self.transformer.name!r} was made for",
            hint=hint,
        )

    def save(self) -> bool:
        """Write the checkpoint, if one was asked for and the run could go on; whether it was written.

        If it cannot be written, the run need not suffer: `unsaved` says why.
        """
        if self.checkpoint is None or self._fast is None or self._fast.stopped_by is not None:
            return False
        from softmachine.engines.fast import checkpoint as files

        self.unsaved = None
        try:
            files.save(self._fast, self.checkpoint)
        except SourceError as problem:
            self.unsaved = str(problem)
        return self.unsaved is None

    def audit(self, steps: int, seed: int | None = None) -> Audit:
        """Do random steps again, with every score computed in exact arithmetic.

        Raises:
            UsageError: If the run was not on the fast engine.
        """
        if self._fast is None:
            raise UsageError("only runs of the fast engine are audited", hint="--engine fast")
        from softmachine.engines.fast import audit

        return audit(self._fast, steps, seed)

    def _start_fast(self) -> FastPass:
        from softmachine.engines.fast import Declined, FastEngine

        if not isinstance(self.codec, DecoderCodec):
            raise UsageError(f"{self.transformer.name!r} is an encoder; the fast engine decodes", hint="--engine dense")
        if isinstance(self.codec, SegmentedCodec):
            raise UsageError(f"{self.transformer.name!r} writes summaries; they are for the dense engine")
        try:
            engine = FastEngine(self.transformer)
        except Declined as reason:
            raise UsageError(
                f"the fast engine cannot run {self.transformer.name!r}: {reason}", hint="--engine dense"
            ) from None
        return engine.start(self.prompt.tokens, self.codec.stops, self._said)

    def _try_fast(self) -> FastPass | None:
        try:
            return self._start_fast()
        except UsageError as reason:
            self.declined = reason.message
            return None

    def so_far(self) -> Run:
        """The run up to now."""
        tokens = self.tokens
        return Run(
            self.transformer,
            self.prompt,
            tuple(tokens) if isinstance(tokens, list) else tokens,
            self.codec.read(self.word, tokens),
            self.arithmetic,
            self.engine,
            self._seconds,
            tuple(self.segments),
        )


def _shortened(text: str) -> str:
    """A text in quotes; of a long one the beginning and the end, and how long it is."""
    if len(text) <= LONGEST:
        return repr(text)
    return f"{text[: LONGEST // 2]!r} … {text[-LONGEST // 2 :]!r} ({len(text):,} characters)"


def codec_of(transformer: Transformer) -> Codec:
    """The model's codec.

    Raises:
        UsageError: If it has none: it was made without a source language.
    """
    if transformer.codec is None:
        raise UsageError(f"{transformer.name!r} does not say how words become tokens; run it with an engine")
    return transformer.codec
