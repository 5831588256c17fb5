"""A run in progress: one generator over an engine, observers of its tokens, and the switch between engines.

A verified run compares every token with the reference interpreter's while the model runs. A run in an arithmetic that
rounds is always verified, since the rounded computation may differ from the source.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from softmachine.compiler.model import Model
from softmachine.engines.engine import AuditResult, EngineRun, RunRequest, find_engine, require_verifiable
from softmachine.engines.numerics import Arithmetic, find_arithmetic
from softmachine.engines.result import Run
from softmachine.support.compare import Comparison, Difference
from softmachine.support.errors import FixHint, PrecisionError, SoftmachineError, SourceError, UsageError
from softmachine.support.resources import EXTRAPOLATION_SECONDS, MIN_REPORTED_SECONDS, format_duration, report_cost
from softmachine.support.text import pluralize
from softmachine.support.token_array import CompressedSequence
from softmachine.theorems.codec import DecoderCodec

__all__ = ["Run", "RunObserver", "RunSession"]


MAX_DENSE_TOKENS = 400
"""Runs of up to this many tokens, input included, stay on the dense engine: they end before the fast one starts."""
MAX_DENSE_TOKENS_UNCOMPILED = 2_000
"""The same limit if code for the fast engine must be compiled first."""
REFERENCE_HEADS = 8
"""With more heads the dense engine is slower, and both limits decrease in proportion."""
CHECKPOINT_SECONDS = 30.0
"""Seconds between checkpoints."""
UNCHECKED_NOTE = "unchecked: not compared with the reference interpreter"
"""The label of unchecked runs, among their notes."""
MAX_FALLBACK_TOKENS = 100_000
"""Maximum tokens from which a run falls back to the dense engine, which would read more of them for many minutes."""
UNLIMITED_STEPS = 1 << 62
"""Step limit of the interpreter where the engine has its own limit."""
MAX_SEARCH_POSITIONS = 4_096
"""Limit of positions computed in the search for a sufficient precision."""


class RunObserver:
    """Observer of a run. A session calls these methods; each does nothing by default."""

    def start(self, session: RunSession) -> None:
        """The run starts or resumes."""

    def update(self, chunk: Sequence[str]) -> None:
        """The model has emitted more tokens."""

    def finish(self) -> None:
        """The run has ended, by itself or at its step limit."""

    def close(self) -> None:
        """No more tokens follow: the run has ended, failed or been interrupted."""


class RunSession:
    """A run in progress: iterate over its chunks of tokens to continue it; :meth:`result` is its result at any time.

    Args:
        model: The model.
        word: The input.
        arithmetic: The arithmetic, or its name.
        max_steps: Limit of steps of the source language; the engine's limit by default.
        engine: The name of an engine, or "auto": first dense; then fast, if the input or the run is long, the fast
            engine supports the model, and the arithmetic is float64 or exact; then dense again, if a number leaves the
            range in which the fast engine is exact.
        checkpoint: A file to which the run is saved regularly, when it is interrupted and when it ends; needs the
            fast engine. The default is the file that is resumed, if any.
        resume: The saved run to resume; needs the fast engine.
        verify: Whether to compare every token, resumed ones included, with the reference interpreter. A run in an
            arithmetic that rounds is always compared, unless ``checked`` is false.
        checked: Whether the output must be a run of the source. If false, the output is not compared with the
            reference interpreter, and the run is labelled as unchecked.
        observers: Further observers; they follow the verifier, the checkpoint writer and the cost forecast.

    Raises:
        UsageError: If ``verify`` is set for an unchecked run, or the engine does not support the options.
    """

    def __init__(
        self,
        model: Model,
        word: str | Iterable[str],
        *,
        arithmetic: str | Arithmetic = "float64",
        max_steps: int | None = None,
        engine: str = "auto",
        checkpoint: str | Path | None = None,
        resume: str | Path | None = None,
        verify: bool = False,
        checked: bool = True,
        observers: Iterable[RunObserver] = (),
    ) -> None:
        require_verifiable(verify=verify, checked=checked)
        auto = engine == "auto"
        chosen = find_engine("dense" if auto else engine)
        self.model, self.checked = model, checked
        self.request = RunRequest(model, word if isinstance(word, str) else tuple(word), max_steps)
        self.requested_arithmetic = arithmetic
        path = resume if checkpoint is None else checkpoint
        file = None if path is None else Path(path)
        if file:
            self._require_checkpoints(engine)
            chosen, auto = find_engine("fast"), False
            if checkpoint and not file.absolute().parent.is_dir():
                raise UsageError(f"there is no folder {file.parent} for the checkpoint")
            if checkpoint and chosen.require_free:
                chosen.require_free(file, None)
        self.engine = chosen.name
        """The name of the current engine."""
        self.notes: list[str] = []
        """Remarks on the course of the run."""
        self._seconds = 0.0
        """Seconds of decoding, without preparation."""
        self._began = 0.0
        self._now = chosen.resume(self.request, Path(resume)) if resume and chosen.resume else self._start()
        if file and file != (resume and Path(resume)) and chosen.require_free:
            chosen.require_free(file, self._now)
        self.resumed_count = len(self.tokens)
        """The number of tokens of the saved run that was resumed."""
        self._max_dense_tokens = self._scale_limit(MAX_DENSE_TOKENS)
        self._may_switch_to_fast = auto and self.arithmetic in ("float64", "exact") and self._suits_fast_engine()
        self._may_fall_back = False
        self.checkpoint = CheckpointWriter(self, file, saved=checkpoint is None) if file else None
        """Writes checkpoints; None if the run is not saved."""
        self.verifier = self._create_verifier(requested=verify)
        """Compares the output with the reference interpreter; None if the run is compared only at its end."""
        own = (self.verifier, self.checkpoint, CostForecast() if max_steps is not None else None)
        self.observers: list[RunObserver] = [*(observer for observer in own if observer), *observers]
        """All observers, in the order in which they are called."""
        self._switch_to_fast()

    def _require_checkpoints(self, engine: str) -> None:
        """Raise UsageError if the engine or the model has no checkpoints."""
        if engine == "dense":
            raise UsageError("only the fast engine has checkpoints", hint=FixHint(engine="fast"))
        if self.model.weights.is_causal and not isinstance(self.model.codec, DecoderCodec):
            raise UsageError(
                f"{self.model.name!r} answers in one pass: there is no run to save or to resume",
                hint=FixHint("leave out --checkpoint and --resume", checkpoint=None, resume=None),
            )

    def _suits_fast_engine(self) -> bool:
        """Whether the fast engine may pay off: for decoders, and for long inputs with constant time per position."""
        if isinstance(self.model.codec, DecoderCodec):
            return True
        if self._max_dense_tokens > 0:  # the analysis takes longer than one pass
            return False
        quick = find_engine("fast").has_constant_time_per_position
        return quick is not None and quick(self.request)

    def _create_verifier(self, *, requested: bool) -> Verifier | None:
        """Return the verifier if verification was requested, or the engine uses the given arithmetic and it rounds."""
        numbers = find_arithmetic(self.requested_arithmetic)
        rounds = numbers.is_approximate and numbers.name == self.arithmetic
        if not requested and not (rounds and self.checked):
            return None
        return Verifier(self.request, numbers, requested=requested)

    def _start(self, tokens: Sequence[str] = ()) -> EngineRun:
        return find_engine(self.engine).start(self.request, self.requested_arithmetic, tokens)

    @property
    def arithmetic(self) -> str:
        """The name of the current arithmetic."""
        return self._now.arithmetic

    @property
    def max_steps(self) -> int:
        """The limit of steps."""
        return self._now.max_steps

    @property
    def tokens(self) -> Sequence[str]:
        """The output up to now."""
        return self._now.tokens

    @property
    def memory_bytes(self) -> int:
        """Memory of the engine in bytes, if it is significant; otherwise 0."""
        return self._now.memory_bytes

    @property
    def context_length(self) -> int:
        """The current length of the context."""
        segments = self._now.segments
        return segments[-1] if segments else len(self.request.prompt.tokens) + len(self.tokens)

    @property
    def _length(self) -> int:
        """The largest n of the computation: for an encoder the input's length, for a decoder the last position read."""
        prompt = self.request.prompt
        if not isinstance(self.model.codec, DecoderCodec):
            return len(prompt.tokens) - 1 if prompt.length is None else prompt.length
        return max(self._now.segments, default=self.context_length) - 2  # the last token is not read

    def __iter__(self) -> Iterator[str]:
        for piece in self.chunks():
            yield from piece

    def chunks(self) -> Iterator[Sequence[str]]:
        """Continue the run; yields single tokens of the dense engine, and large chunks of the fast one."""
        self._now.prepare()
        self._began = time.perf_counter() - self._seconds
        try:
            for observer in self.observers:
                observer.start(self)
            for chunk in self._engine_chunks():
                self._seconds = time.perf_counter() - self._began
                for observer in self.observers:
                    observer.update(chunk)
                if len(chunk):
                    yield chunk
            for observer in self.observers:
                observer.finish()
        finally:
            self._seconds = time.perf_counter() - self._began
            for observer in self.observers:
                observer.close()

    def _engine_chunks(self) -> Iterator[Sequence[str]]:
        """Yield the output of the current engine, and of the next one where another takes over."""
        while True:
            try:
                for chunk in self._now.chunks():
                    yield chunk
                    if self._switch_to_fast():
                        break
                else:
                    return
            except SoftmachineError as problem:
                if not self._fall_back_to_dense(problem):
                    raise

    def write_checkpoint(self, file: Path) -> bool:
        """Write a checkpoint; return False if the engine has none."""
        return self._now.save(file)

    def _scale_limit(self, tokens: int) -> int:
        """Return the number of emitted tokens that make this total, input included; fewer if there are many heads."""
        return tokens * REFERENCE_HEADS // max(REFERENCE_HEADS, len(self.model.weights.heads)) - len(
            self.request.prompt.tokens
        )

    def _switch_to_fast(self) -> bool:
        """Switch to the fast engine if the run is long enough and supported; return whether it was switched."""
        if not self._may_switch_to_fast or len(self.tokens) < self._max_dense_tokens or self._has_stopped():
            return False
        before = time.perf_counter()
        try:
            fast = find_engine("fast").start(self.request, self.requested_arithmetic, self.tokens)
        except UsageError:
            self._may_switch_to_fast = False
            return False
        longer = self._scale_limit(MAX_DENSE_TOKENS_UNCOMPILED)
        if not fast.ready and len(self.tokens) < longer:
            self._max_dense_tokens = longer
            return False
        fast.prepare()
        self._began += time.perf_counter() - before
        self._now, self.engine, self._may_switch_to_fast, self._may_fall_back = fast, "fast", False, True
        return True

    def _has_stopped(self) -> bool:
        """Whether the output is complete: its last token is a stop token, or it is an encoder's."""
        codec, tokens = self.model.codec, self.tokens
        return bool(tokens) and (not isinstance(codec, DecoderCodec) or codec.is_stop_token(tokens[-1]))

    def _fall_back_to_dense(self, problem: SoftmachineError) -> bool:
        """After a `PrecisionError` of the fast engine, return to the dense one if the run began there.

        Returns:
            Whether the run continues.
        """
        if not self._may_fall_back or not isinstance(problem, PrecisionError) or len(self.tokens) > MAX_FALLBACK_TOKENS:
            return False
        self._may_fall_back, tokens = False, list(self.tokens)
        self.notes.append(f"the fast engine stopped after {pluralize(len(tokens), 'token')}: {problem.message}")
        self.engine = "dense"
        self._now = self._start(tokens)
        return True

    def audit(self, steps: int, seed: int = 0) -> AuditResult:
        """Recompute random steps of the whole run, with every score in exact arithmetic.

        Args:
            steps: The number of steps.
            seed: The seed of the random choice.

        Raises:
            UsageError: If the run was not on the fast engine.
        """
        return self._now.audit(steps, seed)

    def result(self) -> Run:
        """Return the result of the run up to now.

        Raises:
            DivergedError: If the output is not a run of the source, and the run is neither verified nor unchecked.
        """
        tokens, codec, verifier = self.tokens, self.model.codec, self.verifier
        read = codec.parse_run if self.checked and verifier is None else codec.parse_output
        if verifier:
            verifier.catch_up(tokens)
        if isinstance(tokens, CompressedSequence):
            tokens = tokens.copy()
        elif isinstance(tokens, list):
            tokens = tuple(tokens)
        return Run(
            model=self.model,
            prompt=self.request.prompt,
            tokens=tokens,
            outcome=read(self.request.word, tokens),
            arithmetic=self.arithmetic,
            engine=self.engine,
            seconds=self._seconds,
            resumed_count=self.resumed_count,
            segments=tuple(self._now.segments),
            notes=(
                *((UNCHECKED_NOTE,) if not self.checked else ()),
                *self.notes,
                *self.model.notes_at(self._length),
                *(verifier.notes() if verifier else ()),
            ),
            verified_count=verifier.compared if verifier else None,
            difference=verifier.difference if verifier else None,
            checked=self.checked,
        )


class CheckpointWriter(RunObserver):
    """Saves a run regularly, when it ends, and when it fails or is interrupted.

    If a checkpoint cannot be written, the run continues.

    Args:
        session: The run.
        file: The file.
        saved: Whether the file has the tokens of the session already.
    """

    def __init__(self, session: RunSession, file: Path, *, saved: bool) -> None:
        self.file = file
        self.error: str | None = None
        """The reason why the last checkpoint could not be written; None if it was."""
        self._session = session
        self._saved_count = len(session.tokens) if saved else -1
        self._saved_at = time.perf_counter()

    def start(self, session: RunSession) -> None:
        """Start the interval before the next checkpoint."""
        self._saved_at = time.perf_counter()

    def update(self, chunk: Sequence[str]) -> None:
        """Write a checkpoint if it is due."""
        if time.perf_counter() - self._saved_at > CHECKPOINT_SECONDS:
            self.save()
            self._saved_at = time.perf_counter()

    def close(self) -> None:
        """Write the last checkpoint."""
        self.save()

    def save(self) -> bool:
        """Write a checkpoint if there are new tokens; return whether all tokens are on disk."""
        count, self.error = len(self._session.tokens), None
        if count != self._saved_count:
            self._saved_count = -1
            try:
                if self._session.write_checkpoint(self.file):
                    self._saved_count = count
            except (SourceError, UsageError) as problem:
                self.error = str(problem)
            except MemoryError:
                self.error = "there is not enough memory to write the checkpoint"
        return self._saved_count == count


class CostForecast(RunObserver):
    """Reports how long all allowed steps would take. When a run ends is unknown, so nothing is refused."""

    def start(self, session: RunSession) -> None:
        """Start measuring."""
        self._session, self._engine = session, session.engine
        self._before, self._began, self._reported = len(session.tokens), time.perf_counter(), False

    def update(self, chunk: Sequence[str]) -> None:
        """Report once, as soon as the time can be extrapolated; another engine is measured anew."""
        session, codec = self._session, self._session.model.codec
        if session.engine != self._engine:
            self.start(session)
        spent, count = time.perf_counter() - self._began, len(session.tokens) - self._before
        if self._reported or spent <= EXTRAPOLATION_SECONDS or not count or not isinstance(codec, DecoderCodec):
            return
        self._reported = True
        seconds = spent / count * (codec.max_tokens(session.max_steps) - self._before)
        if seconds > MIN_REPORTED_SECONDS:
            allowed = pluralize(session.max_steps, "step")
            report_cost(f"all {allowed} allowed take about {format_duration(seconds)}; the run may end earlier")


class Verifier(RunObserver):
    """Compares the output of a run with the reference interpreter, chunk by chunk.

    Args:
        request: The run's request.
        arithmetic: The arithmetic of the run.
        requested: Whether verification was requested, so that agreement is reported as well as differences.
    """

    def __init__(self, request: RunRequest, arithmetic: Arithmetic, *, requested: bool) -> None:
        self.request, self.arithmetic, self.requested = request, arithmetic, requested
        self._comparison = _start_comparison(request)
        self._sufficient: str | None = None
        self._searched = False

    @property
    def compared(self) -> int:
        """The number of tokens that agree."""
        return self._comparison.compared_count

    @property
    def difference(self) -> Difference | None:
        """The first token that differs, if any."""
        return self._comparison.difference

    def start(self, session: RunSession) -> None:
        """Compare the tokens of a resumed run."""
        self.catch_up(session.tokens)

    def update(self, chunk: Sequence[str]) -> None:
        """Compare new tokens."""
        self._comparison.feed(chunk)

    def catch_up(self, tokens: Sequence[str]) -> None:
        """Compare the tokens of a run that have not been compared yet."""
        if self.difference is None and len(tokens) > self._comparison.prefix_length:
            self._comparison.feed(tokens[self._comparison.prefix_length :])

    def finish(self) -> None:
        """Compare the end of the run, if it is determined."""
        if self.request.max_steps is not None or not self.request.codec.is_autoregressive:
            self._comparison.close()

    def notes(self) -> Iterator[str]:
        """Yield the result as notes, one sentence each."""
        if self.difference is not None:
            yield f"differs from the interpreter: {self.difference}"
            if finer := self.find_sufficient_precision():
                yield f"{finer} agrees on this input"
        elif self.requested:
            yield f"verified: all {pluralize(self.compared, 'token')} agree with the interpreter"

    def find_sufficient_precision(self) -> str | None:
        """Return the first arithmetic of higher precision whose run agrees, if a bounded search finds one."""
        if not self._searched and self.difference is not None:
            self._searched, self._sufficient = True, _search_precision(self.request, self.arithmetic)
        return self._sufficient


def _start_comparison(request: RunRequest) -> Comparison:
    steps = UNLIMITED_STEPS if request.max_steps is None else request.max_steps
    return Comparison(request.codec.expected_chunks(request.word, steps))


def _search_precision(request: RunRequest, numbers: Arithmetic) -> str | None:
    left = MAX_SEARCH_POSITIONS
    for finer in numbers.higher_precisions():
        comparison = _start_comparison(request)
        left -= len(request.prompt.tokens)
        try:
            for piece in find_engine("dense").start(request, finer, ()).chunks():
                comparison.feed(piece)
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
