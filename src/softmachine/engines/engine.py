"""Interface of an engine: it runs a model on an input and returns tokens in chunks.

Engines are plug-ins: folders here whose ``run.py`` defines ``ENGINE``, or the entry points ``softmachine.engines``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from softmachine.compiler.model import Model
from softmachine.engines.numerics import Arithmetic
from softmachine.languages.source import Source
from softmachine.support.errors import INCREASE_CONTEXT_HINT, ContextTooShortError, FixHint, UsageError
from softmachine.support.plugins import Registry
from softmachine.support.text import did_you_mean
from softmachine.theorems.codec import Codec, Prompt, SegmentedCodec

MAX_INTERPRETER_STEPS = 1_000_000
"""Step limit of the interpreter when it determines the context that a run needs."""


def require_verifiable(*, verify: bool, checked: bool) -> None:
    """Refuse to verify an unchecked run.

    Raises:
        UsageError: If a run is to be verified, but is not checked.
    """
    if verify and not checked:
        raise UsageError(
            "--unchecked cannot be combined with --verify: an unchecked run is not compared with anything",
            hint=FixHint("leave out one of them", verify=False),
        )


@dataclass(frozen=True)
class RunRequest:
    """The parameters of a run.

    Args:
        model: The model.
        word: The input.
        max_steps: Limit of steps of the source language; None for the engine's default.
    """

    model: Model
    word: str | tuple[str, ...]
    max_steps: int | None = None

    @property
    def codec(self) -> Codec[Source]:
        """The codec of the model."""
        return self.model.codec

    @cached_property
    def prompt(self) -> Prompt:
        """The prompt of the input."""
        try:
            return self.codec.prompt(self.word)
        except ContextTooShortError as reason:
            raise self._context_error(reason.message, MAX_INTERPRETER_STEPS, reason.hint_format) from None

    def context_error(self, max_steps: int) -> ContextTooShortError:
        """Return the error for a context that exceeds the number of positions the weights were built for."""
        name, length = self.model.name, self.model.context
        message = f"the run does not end within the {length} positions that {name!r} was compiled for"
        return self._context_error(message, max_steps)

    def _context_error(self, message: str, max_steps: int, how: str = INCREASE_CONTEXT_HINT) -> ContextTooShortError:
        context = self.model.theorem.find_context(self.model.source, self.word, min(max_steps, MAX_INTERPRETER_STEPS))
        if how == INCREASE_CONTEXT_HINT and context is not None and context <= (self.model.context or 0):
            context = None  # the context should have sufficed; the weights do not follow the source
        return ContextTooShortError(
            message, context=context, hint="compile it for a larger context, or limit the steps", hint_format=how
        )

    def require_space(self, max_steps: int) -> None:
        """Check that the prompt of a model that decodes from summaries leaves space for output.

        Raises:
            ContextTooShortError: If it does not.
        """
        full = self.model.context is not None and len(self.prompt.tokens) >= self.model.context
        if full and isinstance(self.codec, SegmentedCodec):
            raise self.context_error(max_steps)


class AuditResult(Protocol):
    """Result of an audit: random steps of a run, recomputed in exact arithmetic."""

    @property
    def steps(self) -> Sequence[int]:
        """The indices of the recomputed steps."""

    @property
    def positions(self) -> int:
        """The number of all steps of the run, from which they were drawn."""

    @property
    def seed(self) -> int:
        """The seed of the random choice."""

    @property
    def holds(self) -> bool:
        """Whether all recomputed steps agree with the run."""


class EngineRun(Protocol):
    """A run in progress on one engine."""

    @property
    def arithmetic(self) -> str:
        """The name of the arithmetic."""

    @property
    def max_steps(self) -> int:
        """The limit of steps."""

    @property
    def tokens(self) -> Sequence[str]:
        """The output up to now: a decoder's tokens, or an encoder's output at every position."""

    @property
    def segments(self) -> Sequence[int]:
        """The number of tokens in the context of each segment, if the model decodes from summaries."""

    @property
    def memory_bytes(self) -> int:
        """Memory in bytes, if it is significant; otherwise 0."""

    @property
    def ready(self) -> bool:
        """Whether it can start immediately; otherwise code must be compiled first."""

    def prepare(self) -> None:
        """Prepare for the first token, for example by compiling code."""

    def chunks(self) -> Iterator[Sequence[str]]:
        """Continue the run, and yield new tokens as they are emitted, until it ends or the step limit is reached.

        Raises:
            UsageError: If a context exceeds the number of positions that the weights were built for.
            PrecisionError: If the next token is undecided.
        """

    def save(self, file: Path) -> bool:
        """Save a checkpoint from which the run can be resumed; return False if the engine has none."""

    def audit(self, steps: int, seed: int) -> AuditResult:
        """Recompute random steps, with every score in exact arithmetic."""


@dataclass(frozen=True)
class Engine:
    """An engine: its name, and functions that start and resume runs.

    Args:
        name: The name on the command line.
        start: Starts a run, given a request, an arithmetic and the tokens emitted before (by another engine).
        resume: Resumes a saved run, given the request and the file; None if the engine has no checkpoints.
        require_free: Checks that saving a run overwrites no other file; the run is None if it has not been
            created yet.
        has_constant_time_per_position: Whether the time per position is about constant for a task, independent of their
            number.
    """

    name: str
    start: Callable[[RunRequest, str | Arithmetic, Sequence[str]], EngineRun]
    resume: Callable[[RunRequest, Path], EngineRun] | None = None
    require_free: Callable[[Path, EngineRun | None], None] | None = None
    has_constant_time_per_position: Callable[[RunRequest], bool] | None = None


ENGINES: Registry[Engine] = Registry(
    Engine,
    attribute="ENGINE",
    package="softmachine.engines",
    pattern="*/run.py",
    main_files=("run.py",),
    group="softmachine.engines",
)


def find_engine(name: str) -> Engine:
    """Return the engine with this name.

    Raises:
        UsageError: If there is none.
    """
    found = ENGINES.get(name)
    if found is None:
        raise UsageError(f"unknown engine {name!r}", hint=did_you_mean(name, ("auto", *ENGINES.names())))
    return found
