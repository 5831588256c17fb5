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
    """What is to be run.

    Args:
        model: The model.
        word: The input.
        max_steps: How many steps of the source language are allowed; None for as many as the engine allows by itself.
    """

    model: Model
    word: str | tuple[str, ...]
    max_steps: int | None = None

    @property
    def codec(self) -> Codec[Source]:
        """How to talk to the model."""
        return self.model.codec

    @cached_property
    def prompt(self) -> Prompt:
        """What the model is started on."""
        try:
            return self.codec.prompt(self.word)
        except OutgrownError as reason:
            raise self._outgrown(reason.message, MOST_TRIED, reason.how) from None

    def outgrown(self, max_steps: int) -> OutgrownError:
        """What to say when a context has more tokens than the weights were made for."""
        name, length = self.model.name, self.model.length
        message = f"the run does not end within the {length} positions that {name!r} was made for"
        return self._outgrown(message, max_steps)

    def _outgrown(self, message: str, max_steps: int, how: str = MORE) -> OutgrownError:
        context = self.model.theorem.context_for(self.model.source, self.word, min(max_steps, MOST_TRIED))
        if how == MORE and context is not None and context <= (self.model.length or 0):
            context = None  # that is what the source needs, and these weights have left it
        return OutgrownError(message, context=context, hint="make it for more, or limit the steps", how=how)

    def require_room(self, max_steps: int) -> None:
        """See that the prompt of a model that writes summaries leaves room for anything."""
        full = self.model.length is not None and len(self.prompt.tokens) >= self.model.length
        if full and isinstance(self.codec, SegmentedCodec):
            raise self.outgrown(max_steps)


class Audited(Protocol):
    """What came of doing random steps of a run again."""

    @property
    def steps(self) -> Sequence[int]:
        """The steps."""

    @property
    def positions(self) -> int:
        """How many steps they were drawn from: all of the run."""

    @property
    def seed(self) -> int:
        """What they were drawn by."""

    @property
    def holds(self) -> bool:
        """Whether they came out the same."""


class Execution(Protocol):
    """A task being run on an engine."""

    @property
    def arithmetic(self) -> str:
        """The name of the arithmetic that it runs in."""

    @property
    def max_steps(self) -> int:
        """How many steps are allowed."""

    @property
    def tokens(self) -> Sequence[str]:
        """The output up to now: a decoder's tokens, or an encoder's output at every position."""

    @property
    def segments(self) -> Sequence[int]:
        """The number of tokens in the context of each segment, if the model decodes from summaries."""

    @property
    def size(self) -> int:
        """The bytes that it holds, if that is worth mentioning."""

    @property
    def ready(self) -> bool:
        """Whether it can begin at once; else something has to be compiled first."""

    def prepare(self) -> None:
        """Do what is to be done before the first token."""

    def pieces(self) -> Iterator[Sequence[str]]:
        """Let it go on, and hand out new tokens as they come, until the run ends or all steps are made.

        Raises:
            UsageError: If a context has more tokens than the weights were made for.
            PrecisionError: If the engine cannot decide what comes next.
        """

    def save(self, file: Path) -> bool:
        """Write down where it is, if it can go on from there; whether it did."""

    def audit(self, steps: int, seed: int) -> Audited:
        """Do random steps again, with every score computed in exact arithmetic."""


@dataclass(frozen=True)
class Engine:
    """A way to run weights.

    Args:
        name: What the command line calls it.
        start: From a task, an arithmetic and the tokens emitted before (by another engine) to a run.
        resume: From a task and a saved run to a run; None if it saves none.
        require_free: Complains if a file is there that saving a run, None if it is not made yet, would destroy.
        quick: Whether a task takes it about as long at every position, however many there are.
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
    """The engine of this name.

    Raises:
        UsageError: If there is none.
    """
    found = ENGINES.get(name)
    if found is None:
        raise UsageError(f"unknown engine {name!r}", hint=did_you_mean(name, ("auto", *ENGINES.names())))
    return found
