"""A run in progress: the loop over an engine, and the switch from the dense engine to the fast one and back.

Verified runs: every token is compared with the reference interpreter's while the model runs.

A run in an arithmetic that rounds is always verified, since the rounded computation may differ from the source.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.compiler.model import Model
from softmachine.engines.engine import Audited, Execution, Task, engine_named, require_comparable
from softmachine.engines.numerics import Arithmetic
from softmachine.engines.numerics import arithmetic as arithmetic_named
from softmachine.engines.result import Run
from softmachine.support.compare import Comparison, Difference
from softmachine.support.errors import PrecisionError, Remedy, SoftmachineError, SourceError, UsageError
from softmachine.support.text import many
from softmachine.support.token_array import Packed
from softmachine.theorems.codec import DecoderCodec

if TYPE_CHECKING:
    pass  # MERGED

__all__ = ["Run", "Running"]


SHORT = 400
"""Runs of up to this many tokens, input included, stay on the dense engine: they end before the fast one starts."""
SHORT_UNPREPARED = 2_000
"""The same limit if code for the fast engine must be compiled first."""
FEW_HEADS = 8
"""With more heads the dense engine is slower, and both limits decrease in proportion."""
BETWEEN_SAVES = 30.0
"""Seconds between checkpoints."""
UNCHECKED = "unchecked: not compared with the reference interpreter"
"""The label of unchecked runs, among their notes."""
MOST_TAKEN_BACK = 100_000
"""Maximum tokens from which a run falls back to the dense engine, which would read more of them for many minutes."""


class Running:
    """A run in progress: iterate over its chunks of tokens to continue it; :meth:`so_far` is its result at any time.

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
    ) -> None:
        require_comparable(verify=verify, checked=checked)
        auto = engine == "auto"
        chosen = engine_named("dense" if auto else engine)
        self.model, self.checked = model, checked
        self.task = Task(model, word if isinstance(word, str) else tuple(word), max_steps)
        self.numbers = arithmetic
        path = resume if checkpoint is None else checkpoint
        self.checkpoint = None if path is None else Path(path)
        if self.checkpoint:
            if engine == "dense":
                raise UsageError("only the fast engine has checkpoints", hint=Remedy(engine="fast"))
            if model.weights.causal and not isinstance(model.codec, DecoderCodec):
                raise UsageError(
                    f"{model.name!r} answers in one pass: there is no run to save or to resume",
                    hint=Remedy("leave out --checkpoint and --resume", checkpoint=None, resume=None),
                )
            chosen, auto = engine_named("fast"), False
            if checkpoint and not self.checkpoint.absolute().parent.is_dir():
                raise UsageError(f"there is no folder {self.checkpoint.parent} for the checkpoint")
            if checkpoint and chosen.require_free:
                chosen.require_free(self.checkpoint, None)
        self.engine = chosen.name
        """The name of the current engine."""
        self.unsaved: str | None = None
        """The reason why the last checkpoint could not be saved; None if it was."""
        self.notes: list[str] = []
        """Remarks on the course of the run."""
        self._seconds = 0.0
        """Seconds of decoding, without preparation."""
        self._began = 0.0
        self._now = chosen.resume(self.task, Path(resume)) if resume and chosen.resume else self._start()
        if self.checkpoint and self.checkpoint != (resume and Path(resume)) and chosen.require_free:
            chosen.require_free(self.checkpoint, self._now)
        self.resumed = len(self.tokens)
        """The number of tokens of the saved run that was resumed."""
        self._written = self.resumed if checkpoint is None else -1
        """The number of tokens at the last checkpoint; -1 if there is none."""
        self._short = self._shorter(SHORT)
        self._may_hand_over = auto and self.arithmetic in ("float64", "exact") and self._is_for_fast()
        self._may_take_back = False
        self._verifier = self._verifying(asked=verify)
        self._hand_over()

    def _is_for_fast(self) -> bool:
        """Whether the fast engine may pay off: for decoders, and for long inputs with constant time per position."""
        if isinstance(self.model.codec, DecoderCodec):
            return True
        if self._short > 0:  # the analysis takes longer than one pass
            return False
        quick = engine_named("fast").quick
        return quick is not None and quick(self.task)

    def _verifying(self, *, asked: bool) -> Verifier | None:
        """Return the verifier if verification was requested, or the engine uses the given arithmetic and it rounds."""
        numbers = arithmetic_named(self.numbers)
        rounds = numbers.rounds and numbers.name == self.arithmetic
        if not asked and not (rounds and self.checked):
            return None
        # MERGED

        return Verifier(self.task, numbers, asked=asked)

    def _start(self, tokens: Sequence[str] = ()) -> Execution:
        return engine_named(self.engine).start(self.task, self.numbers, tokens)

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
    def memory(self) -> int:
        """Memory of the engine in bytes, if it is significant; otherwise 0."""
        return self._now.size

    @property
    def context(self) -> int:
        """The current length of the context."""
        segments = self._now.segments
        return segments[-1] if segments else len(self.task.prompt.tokens) + len(self.tokens)

    @property
    def _length(self) -> int:
        """The largest n of the computation: for an encoder the input's length, for a decoder the last position read."""
        prompt = self.task.prompt
        if not isinstance(self.model.codec, DecoderCodec):
            return len(prompt.tokens) - 1 if prompt.length is None else prompt.length
        return max(self._now.segments, default=self.context) - 2  # the last token is not read

    def __iter__(self) -> Iterator[str]:
        for piece in self.pieces():
            yield from piece

    def pieces(self) -> Iterator[Sequence[str]]:
        """Continue the run; yields single tokens of the dense engine, and large chunks of the fast one."""
        self._now.prepare()
        self._began = time.perf_counter() - self._seconds
        try:
            for piece in self._pieces():
                self._seconds = time.perf_counter() - self._began
                yield piece
        finally:
            self._seconds = time.perf_counter() - self._began

    def _pieces(self) -> Iterator[Sequence[str]]:
        """Yield the engine's output until the run ends or another engine takes over."""
        saved, verifier = time.perf_counter(), self._verifier
        if verifier:
            verifier.catch_up(self.tokens)
        while True:
            try:
                for piece in self._now.pieces():
                    if verifier:
                        verifier.see(piece)
                    if len(piece):
                        yield piece
                    if time.perf_counter() - saved > BETWEEN_SAVES:
                        self.save()
                        saved = time.perf_counter()
                    if self._hand_over():
                        break
                else:
                    self.save()
                    if verifier:
                        verifier.close()
                    return
            except SoftmachineError as problem:
                if not self._take_back(problem):
                    self.save()
                    raise
            except MemoryError:
                self.save()
                raise

    def _shorter(self, tokens: int) -> int:
        """Return the number of emitted tokens that make this total, input included; fewer if there are many heads."""
        return tokens * FEW_HEADS // max(FEW_HEADS, len(self.model.weights.heads)) - len(self.task.prompt.tokens)

    def _hand_over(self) -> bool:
        """Switch to the fast engine if the run is long enough and supported; return whether it was switched."""
        if not self._may_hand_over or len(self.tokens) < self._short or self._has_stopped():
            return False
        before = time.perf_counter()
        try:
            fast = engine_named("fast").start(self.task, self.numbers, self.tokens)
        except UsageError:
            self._may_hand_over = False
            return False
        longer = self._shorter(SHORT_UNPREPARED)
        if not fast.ready and len(self.tokens) < longer:
            self._short = longer
            return False
        fast.prepare()
        self._began += time.perf_counter() - before
        self._now, self.engine, self._may_hand_over, self._may_take_back = fast, "fast", False, True
        return True

    def _has_stopped(self) -> bool:
        """Whether the output is complete: its last token is a stop token, or it is an encoder's."""
        codec, tokens = self.model.codec, self.tokens
        return bool(tokens) and (not isinstance(codec, DecoderCodec) or codec.stops(tokens[-1]))

    def _take_back(self, problem: SoftmachineError) -> bool:
        """After a `PrecisionError` of the fast engine, return to the dense one if the run began there.

        Returns:
            Whether the run continues.
        """
        if not self._may_take_back or not isinstance(problem, PrecisionError) or len(self.tokens) > MOST_TAKEN_BACK:
            return False
        self._may_take_back, tokens = False, list(self.tokens)
        self.notes.append(f"the fast engine stopped after {many(len(tokens), 'token')}: {problem.message}")
        self.engine = "dense"
        self._now = self._start(tokens)
        return True

    def save(self) -> bool:
        """Save a checkpoint if one was requested and there are new tokens; return whether all tokens are on disk.

        If it cannot be written, the run continues; `unsaved` has the reason.
        """
        if self.checkpoint is None:
            return False
        count, self.unsaved = len(self.tokens), None
        if count != self._written:
            try:
                self._written = count if self._now.save(self.checkpoint) else -1
            except (SourceError, UsageError) as problem:
                self._written, self.unsaved = -1, str(problem)
            except MemoryError:
                self._written, self.unsaved = -1, "there is not enough memory to write the checkpoint"
        return self._written == count

    def audit(self, steps: int, seed: int = 0) -> Audited:
        """Recompute random steps of the whole run, with every score in exact arithmetic.

        Args:
            steps: The number of steps.
            seed: The seed of the random choice.

        Raises:
            UsageError: If the run was not on the fast engine.
        """
        return self._now.audit(steps, seed)

    def so_far(self) -> Run:
        """Return the result of the run up to now.

        Raises:
            PartedError: If the output is not a run of the source, and the run is neither verified nor unchecked.
        """
        tokens, codec, verifier = self.tokens, self.model.codec, self._verifier
        read = codec.read if self.checked and verifier is None else codec.outcome
        if verifier:
            verifier.catch_up(tokens)
        if isinstance(tokens, Packed):
            tokens = tokens.copy()
        elif isinstance(tokens, list):
            tokens = tuple(tokens)
        return Run(
            model=self.model,
            prompt=self.task.prompt,
            tokens=tokens,
            outcome=read(self.task.word, tokens),
            arithmetic=self.arithmetic,
            engine=self.engine,
            seconds=self._seconds,
            resumed=self.resumed,
            segments=tuple(self._now.segments),
            notes=(
                *((UNCHECKED,) if not self.checked else ()),
                *self.notes,
                *self.model.notes_at(self._length),
                *(verifier.notes() if verifier else ()),
            ),
            verified=verifier.compared if verifier else None,
            difference=verifier.difference if verifier else None,
            checked=self.checked,
        )


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
