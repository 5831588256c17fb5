"""Runs: a model at work on an input, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softmachine.codec import Codec, DecoderCodec, SegmentedCodec
from softmachine.engines.decode import decode
from softmachine.engines.dense import DenseEngine
from softmachine.engines.results import Run
from softmachine.engines.segments import decode_segments
from softmachine.errors import PrecisionError, SourceError, UsageError
from softmachine.packed import Packed
from softmachine.text import many
from softmachine.transformer.weights import Transformer

if TYPE_CHECKING:
    from softmachine.engines.fast import Audit
    from softmachine.engines.fast_runs import Pass

__all__ = ["Run", "Running", "codec_of"]

MAX_STEPS = 1_000_000
MAX_FAST_STEPS = 100_000_000
"""The step limits of the two engines, if none is given."""
ENGINES = ("auto", "dense", "fast")
SHORT = 2_000
"""Runs of so many tokens, input included, are left to the dense engine: they end before the fast one has started."""
FEW_HEADS = 8
"""With more heads than these the dense engine is slower, and so much earlier the fast one takes over."""
BETWEEN_CHECKPOINTS = 30.0
"""Seconds."""
MOST_TRIED = 20_000
"""So many steps the interpreter makes at most, to find out what length a run would need."""


class Running:
    """A run in progress: iterate to let it go on; :meth:`so_far` at any time.

    Args:
        transformer: What to run; it must have a codec.
        word: The input.
        arithmetic: Its name, or the arithmetic.
        max_steps: How many steps of the source language to allow; by default `MAX_STEPS`, and `MAX_FAST_STEPS` on the
            fast engine.
        engine: "dense"; "fast", which is exact whatever the arithmetic; or "auto": dense to begin with, and fast if
            the input is long or the run turns out to be, the fast engine can do it and the arithmetic is float64 or
            exact; dense again, if a number leaves the range in which the fast engine is exact.
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
        self._fast: Pass | None = None
        self._dense: DenseEngine | None = None
        self._said: list[str] = []
        self._segments: list[int] = []
        self._short = SHORT * FEW_HEADS // max(FEW_HEADS, len(transformer.heads))
        self._may_switch = False
        self.note = ""
        self._seconds = 0.0
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        if checkpoint or resume:
            if engine == "dense":
                raise UsageError("only the fast engine has checkpoints", hint="--engine fast")
            if self.checkpoint and not self.checkpoint.absolute().parent.is_dir():
                raise UsageError(f"there is no folder {self.checkpoint.parent} for the checkpoint")
            if self.checkpoint:
                from softmachine.engines.fast import saved_run as files

                files.require_free(self.checkpoint)
            engine = "fast"
        if engine == "fast":
            self._fast = self._start_fast()
            if resume:
                from softmachine.engines.fast import saved_run as files

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
        return MAX_FAST_STEPS if self._fast else max(MAX_STEPS, len(self._said))

    @property
    def tokens(self) -> Sequence[str]:
        """What was said up to now."""
        return self._fast.said_since(self._limit) if self._fast else self._said

    @property
    def memory(self) -> int:
        """The bytes that the fast engine holds; 0 for the dense one."""
        return self._fast.size if self._fast else 0

    @property
    def segments(self) -> list[int]:
        """How many tokens the context of each segment has, if the model goes on from summaries."""
        from_fast: list[int] | None = getattr(self._fast, "segments", None)
        return self._segments if from_fast is None else from_fast

    @property
    def context(self) -> int:
        """How many tokens the model sees at present."""
        return self.segments[-1] if self.segments else len(self.prompt.tokens) + len(self.tokens)

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
            yield from self._dense_pieces(self.codec, self._dense)
        if self._fast is None:
            return
        try:
            yield from self._fast_pieces(self._fast)
        except PrecisionError as problem:
            if self._dense is None:
                raise
            self._go_back(problem)
            assert isinstance(self.codec, DecoderCodec)
            yield from self._dense_pieces(self.codec, self._dense)

    def _dense_pieces(self, codec: DecoderCodec, engine: DenseEngine) -> Iterator[Sequence[str]]:
        """The tokens of the dense engine, until the run ends or the fast engine takes over."""
        if self._fast_takes_over():
            return
        tokens = self._segments_of(codec, engine) if isinstance(codec, SegmentedCodec) else self._plain(codec, engine)
        for token in tokens:
            self._said.append(token)
            yield (token,)
            if not codec.stops(token) and self._fast_takes_over():
                return

    def _fast_takes_over(self) -> bool:
        """Whether the fast engine goes on from here: if there are many tokens already, and it can."""
        if not self._may_switch or len(self.prompt.tokens) + len(self._said) < self._short:
            return False
        self._may_switch = False
        self._fast = self._try_fast()
        return self._fast is not None

    def _plain(self, codec: DecoderCodec, engine: DenseEngine) -> Iterator[str]:
        """The tokens of a run in one context, up to the limit."""
        for token in decode(engine, self.prompt, codec.stops, self._said):
            if len(self._said) >= self._limit and not codec.stops(token):
                return
            if self._made_for is not None and len(self.prompt.tokens) + len(self._said) > self._made_for:
                raise self._outgrown()
            yield token

    def _segments_of(self, codec: SegmentedCodec, engine: DenseEngine) -> Iterator[str]:
        """The tokens of all segments, up to the limit of steps."""
        steps = sum(map(codec.is_step, self._said))
        self._check_prompt()
        marks = codec.stops, codec.segment_begins, codec.segment_ends
        for said in decode_segments(engine, self.prompt, *marks, tuple(self._said)):
            if codec.is_step(said.token):
                if steps >= self.max_steps:
                    return
                steps += 1
            if self._made_for is not None and said.positions > self._made_for:
                raise self._outgrown()
            self._segments[said.segment :] = [said.positions]
            yield said.token

    def _fast_pieces(self, run: Pass) -> Iterator[Sequence[str]]:
        """The tokens of the fast engine, until the run ends; now and then it is saved."""
        from softmachine.engines.fast_runs import advance, outgrown

        if isinstance(self.codec, SegmentedCodec):
            self._check_prompt()
        # The token after the limit is looked at, too: if it is the one that stops the run, the run has ended.
        wanted = len(self.prompt.tokens) + self._limit
        end = wanted if self._made_for is None else min(wanted, self._made_for)
        seen, saved = len(self._said), time.perf_counter()
        for _ in advance(run, end):
            said = run.said_since(self._limit)
            if len(said) > seen:
                yield said[seen:]
                seen = len(said)
            if time.perf_counter() - saved > BETWEEN_CHECKPOINTS:
                self.save()
                saved = time.perf_counter()
        self.save()
        if outgrown(run, end, wanted):
            raise self._outgrown()

    def _go_back(self, problem: PrecisionError) -> None:
        """Let the dense engine go on from what was said."""
        assert self._fast is not None
        self._segments, self._said = self.segments, list(self.tokens)
        self._fast, self._may_switch = None, False
        self.note = f"the fast engine stopped after {many(len(self._said), 'token')}: {problem.message}"

    def _check_prompt(self) -> None:
        """See that the prompt leaves room for anything."""
        if self._made_for is not None and len(self.prompt.tokens) >= self._made_for:
            raise self._outgrown()

    @property
    def _made_for(self) -> int | None:
        """The number of positions that the weights were made for, if they were made for a length."""
        return self.transformer.length

    def _outgrown(self) -> UsageError:
        """What to say when a context has more tokens than the weights were made for."""
        hint = "compile it for a larger length, or limit the steps"
        if isinstance(self.codec, SegmentedCodec):
            tried = min(self.max_steps, MOST_TRIED)
            needed = self.codec.longest(self.word, tried, to_the_end=tried < self.max_steps)
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
        from softmachine.engines.fast import saved_run as files

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
        from softmachine.engines.fast_runs import audited

        return audited(self._fast, steps, seed)

    def _start_fast(self) -> Pass:
        from softmachine.engines.fast_runs import start

        most = MAX_FAST_STEPS if self._given_limit is None else self._given_limit
        return start(self.transformer, self.codec, self.prompt, self._said, most)

    def _try_fast(self) -> Pass | None:
        try:
            return self._start_fast()
        except UsageError as reason:
            self.declined = reason.message
            return None

    def so_far(self) -> Run:
        """The run up to now."""
        tokens = self.tokens if self._fast else tuple(self._said)
        tokens = tokens.copy() if isinstance(tokens, Packed) else tokens
        return Run(
            self.transformer,
            self.prompt,
            tokens,
            self.codec.read(self.word, tokens),
            self.arithmetic,
            self.engine,
            self._seconds,
            tuple(self.segments),
            self.note,
        )


def codec_of(transformer: Transformer) -> Codec:
    """The model's codec.

    Raises:
        UsageError: If it has none: it was made without a source language.
    """
    if transformer.codec is None:
        raise UsageError(f"{transformer.name!r} does not say how words become tokens; run it with an engine")
    return transformer.codec
