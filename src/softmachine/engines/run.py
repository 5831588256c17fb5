"""A run: one loop over an engine; and when to hand over from the dense engine to the fast one, and back."""

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
from softmachine.support.errors import PrecisionError, Remedy, SoftmachineError, SourceError, UsageError
from softmachine.support.text import many
from softmachine.support.token_array import Packed
from softmachine.theorems.codec import DecoderCodec

if TYPE_CHECKING:
    from softmachine.engines.verify import Verifier

__all__ = ["Run", "Running"]

SHORT = 400
"""Runs of up to this many tokens, input included, stay on the dense engine: they end before the fast one starts."""
SHORT_UNPREPARED = 2_000
"""The same where the fast engine has to be compiled first."""
FEW_HEADS = 8
"""With more heads than these the dense engine is slower, and so much earlier the fast one takes over."""
BETWEEN_SAVES = 30.0
"""Seconds."""
UNCHECKED = "unchecked: not compared with the reference interpreter"
"""The label of unchecked runs, among their notes."""
MOST_TAKEN_BACK = 100_000
"""The dense engine does not go on from more tokens than these: it would read them again for many minutes."""


class Running:
    """A run in progress: iterate over its pieces to let it go on; :meth:`so_far` at any time.

    Args:
        model: What to run.
        word: The input.
        arithmetic: Its name, or the arithmetic.
        max_steps: How many steps of the source language to allow; by default as many as the engine allows.
        engine: The name of an engine; or "auto": dense to begin with, and fast if the input is long or the run turns
            out to be, the fast engine can do it and the arithmetic is float64 or exact; dense again, if a number leaves
            the range in which the fast engine is exact.
        checkpoint: A file to which the run is written now and then, when it is interrupted and when it ends; needs the
            fast engine. By default the saved run that it resumes, if it does.
        resume: The saved run to go on from; needs the fast engine.
        verify: Whether to compare every token, those before a resume too, with the reference interpreter. A run in an
            arithmetic that rounds is always compared, unless ``checked`` is false.
        checked: Whether the output must be a run of the source. If false, it is whatever the weights emit, nothing is
            compared with the reference interpreter, and the run is labelled as unchecked.

    Raises:
        UsageError: If a run is both to be verified and unchecked.
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
                    f"{model.name!r} answers at once: there is no run to save or to go on with",
                    hint=Remedy("leave out --checkpoint and --resume", checkpoint=None, resume=None),
                )
            chosen, auto = engine_named("fast"), False
            if checkpoint and not self.checkpoint.absolute().parent.is_dir():
                raise UsageError(f"there is no folder {self.checkpoint.parent} for the checkpoint")
            if checkpoint and chosen.require_free:
                chosen.require_free(self.checkpoint, None)
        self.engine = chosen.name
        """The name of the engine that it runs on now."""
        self.unsaved: str | None = None
        """Why the run could not be saved."""
        self.notes: list[str] = []
        """What there is to say of how it ran."""
        self._seconds = 0.0
        """How long it has been decoding; getting ready to does not count."""
        self._began = 0.0
        self._now = chosen.resume(self.task, Path(resume)) if resume and chosen.resume else self._start()
        if self.checkpoint and self.checkpoint != (resume and Path(resume)) and chosen.require_free:
            chosen.require_free(self.checkpoint, self._now)
        self.resumed = len(self.tokens)
        """The number of tokens of the saved run that it resumes."""
        self._written = self.resumed if checkpoint is None else -1
        """How many tokens the run had when it was saved."""
        self._short = self._shorter(SHORT)
        self._may_hand_over = auto and self.arithmetic in ("float64", "exact") and self._is_for_fast()
        self._may_take_back = False
        self._verifier = self._verifying(asked=verify)
        self._hand_over()

    def _is_for_fast(self) -> bool:
        """Whether the fast engine may be worth it: for decoders, and for many answers of which each takes little."""
        if isinstance(self.model.codec, DecoderCodec):
            return True
        if self._short > 0:  # asking it takes longer than answering
            return False
        quick = engine_named("fast").quick
        return quick is not None and quick(self.task)

    def _verifying(self, *, asked: bool) -> Verifier | None:
        """Who compares, if it was asked for, or the arithmetic rounds (that of the engine is not always the given)."""
        numbers = arithmetic_named(self.numbers)
        rounds = numbers.rounds and numbers.name == self.arithmetic
        if not asked and not (rounds and self.checked):
            return None
        from softmachine.engines.verify import Verifier

        return Verifier(self.task, numbers, asked=asked)

    def _start(self, tokens: Sequence[str] = ()) -> Execution:
        return engine_named(self.engine).start(self.task, self.numbers, tokens)

    @property
    def arithmetic(self) -> str:
        """The arithmetic that it runs in now."""
        return self._now.arithmetic

    @property
    def max_steps(self) -> int:
        """How many steps are allowed."""
        return self._now.max_steps

    @property
    def tokens(self) -> Sequence[str]:
        """The output up to now."""
        return self._now.tokens

    @property
    def memory(self) -> int:
        """The bytes that the engine holds, if that is worth mentioning."""
        return self._now.size

    @property
    def context(self) -> int:
        """How many tokens the model sees at present."""
        segments = self._now.segments
        return segments[-1] if segments else len(self.task.prompt.tokens) + len(self.tokens)

    @property
    def _length(self) -> int:
        """The largest n that the model computed with: the length that its prompt gives, or the last position read."""
        prompt = self.task.prompt
        if not isinstance(self.model.codec, DecoderCodec):
            return len(prompt.tokens) - 1 if prompt.length is None else prompt.length
        return max(self._now.segments, default=self.context) - 2  # the last token is not read

    def __iter__(self) -> Iterator[str]:
        for piece in self.pieces():
            yield from piece

    def pieces(self) -> Iterator[Sequence[str]]:
        """The tokens as they come: one at a time, and from the fast engine many."""
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
        """Let the fast engine go on if there are many tokens already, and it can; whether it does."""
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
        """Whether the output is complete: a token stopped it, or everything was answered."""
        codec, tokens = self.model.codec, self.tokens
        return bool(tokens) and (not isinstance(codec, DecoderCodec) or codec.stops(tokens[-1]))

    def _take_back(self, problem: SoftmachineError) -> bool:
        """Continue on the dense engine from the tokens so far, if it had handed over and can; whether it does."""
        if not self._may_take_back or not isinstance(problem, PrecisionError) or len(self.tokens) > MOST_TAKEN_BACK:
            return False
        self._may_take_back, tokens = False, list(self.tokens)
        self.notes.append(f"the fast engine stopped after {many(len(tokens), 'token')}: {problem.message}")
        self.engine = "dense"
        self._now = self._start(tokens)
        return True

    def save(self) -> bool:
        """Write the run down, if that was asked for and there is something new; whether it is on disk.

        If it cannot be written, the run continues: `unsaved` has the reason.
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
        """Do random steps of the whole run again, with every score computed in exact arithmetic.

        Args:
            steps: How many.
            seed: What they are drawn by.

        Raises:
            UsageError: If the run was not on the fast engine.
        """
        return self._now.audit(steps, seed)

    def so_far(self) -> Run:
        """The run up to now.

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
