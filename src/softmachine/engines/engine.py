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
from softmachine.support.errors import MORE, OutgrownError, Remedy, UsageError
from softmachine.support.plugins import Shelf
from softmachine.support.text import did_you_mean
from softmachine.theorems.codec import Codec, Prompt, SegmentedCodec

MOST_TRIED = 1_000_000
"""Step limit of the interpreter when it determines the context that a run needs."""


def require_comparable(*, verify: bool, checked: bool) -> None:
    """Refuse to verify an unchecked run.

    Raises:
        UsageError: If a run is to be verified, but is not checked.
    """
    if verify and not checked:
        raise UsageError(
            "--unchecked cannot be combined with --verify: an unchecked run is not compared with anything",
            hint=Remedy("leave out one of them", verify=False),
        )


@dataclass(frozen=True)
class Task:
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
        except OutgrownError as reason:
            raise self._outgrown(reason.message, MOST_TRIED, reason.how) from None

    def outgrown(self, max_steps: int) -> OutgrownError:
        """Return the error for a context that exceeds the number of positions the weights were built for."""
        name, length = self.model.name, self.model.length
        message = f"the run does not end within the {length} positions that {name!r} was compiled for"
        return self._outgrown(message, max_steps)

    def _outgrown(self, message: str, max_steps: int, how: str = MORE) -> OutgrownError:
        context = self.model.theorem.context_for(self.model.source, self.word, min(max_steps, MOST_TRIED))
        if how == MORE and context is not None and context <= (self.model.length or 0):
            context = None  # the context should have sufficed; the weights do not follow the source
        return OutgrownError(
            message, context=context, hint="compile it for a larger context, or limit the steps", how=how
        )

    def require_room(self, max_steps: int) -> None:
        """Check that the prompt of a model that decodes from summaries leaves space for output.

        Raises:
            OutgrownError: If it does not.
        """
        full = self.model.length is not None and len(self.prompt.tokens) >= self.model.length
        if full and isinstance(self.codec, SegmentedCodec):
            raise self.outgrown(max_steps)


class Audited(Protocol):
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


class Execution(Protocol):
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
    def size(self) -> int:
        """Memory in bytes, if it is significant; otherwise 0."""

    @property
    def ready(self) -> bool:
        """Whether it can start immediately; otherwise code must be compiled first."""

    def prepare(self) -> None:
        """Prepare for the first token, for example by compiling code."""

    def pieces(self) -> Iterator[Sequence[str]]:
        """Continue the run, and yield new tokens as they are emitted, until it ends or the step limit is reached.

        Raises:
            UsageError: If a context exceeds the number of positions that the weights were built for.
            PrecisionError: If the next token is undecided.
        """

    def save(self, file: Path) -> bool:
        """Save a checkpoint from which the run can be resumed; return False if the engine has none."""

    def audit(self, steps: int, seed: int) -> Audited:
        """Recompute random steps, with every score in exact arithmetic."""


@dataclass(frozen=True)
class Engine:
    """An engine: its name, and functions that start and resume runs.

    Args:
        name: The name on the command line.
        start: Starts a run, given a task, an arithmetic and the tokens emitted before (by another engine).
        resume: Resumes a saved run, given the task and the file; None if the engine has no checkpoints.
        require_free: Checks that saving a run overwrites no other file; the run is None if it has not been created yet.
        quick: Whether the time per position is about constant for a task, independent of their number.
    """

    name: str
    start: Callable[[Task, str | Arithmetic, Sequence[str]], Execution]
    resume: Callable[[Task, Path], Execution] | None = None
    require_free: Callable[[Path, Execution | None], None] | None = None
    quick: Callable[[Task], bool] | None = None


ENGINES: Shelf[Engine] = Shelf(
    Engine,
    attribute="ENGINE",
    package="softmachine.engines",
    pattern="*/run.py",
    main=("run.py",),
    group="softmachine.engines",
)


def engine_named(name: str) -> Engine:
    """Return the engine with this name.

    Raises:
        UsageError: If there is none.
    """
    found = ENGINES.get(name)
    if found is None:
        raise UsageError(f"unknown engine {name!r}", hint=did_you_mean(name, ("auto", *ENGINES.names())))
    return found
