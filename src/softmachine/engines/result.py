"""Results: what came of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from textwrap import wrap

from softmachine.compiler.model import Model
from softmachine.support.compare import Difference
from softmachine.support.notebook_html import html_text
from softmachine.support.text import filled, many, printable
from softmachine.theorems.codec import DecoderCodec, Outcome, Prompt

UNFINISHED = "no verdict yet"
FASTEST = 99_999_999
"""Tokens a second: lines are broken where they would be at this speed."""
WIDTH = 80
"""Columns of a summary; longer outputs are shortened."""
REPR = 48
"""Longer texts are shortened in the one line that stands for a run."""


@dataclass(frozen=True, repr=False)
class Run:
    """A finished (or interrupted) run.

    Args:
        model: What ran.
        prompt: What it was started on.
        tokens: What it produced: a decoder's tokens, an encoder's output at every position.
        outcome: What that means in the source language.
        arithmetic: The arithmetic it ran in.
        engine: The engine it ran on.
        seconds: How long it took.
        segments: The number of tokens in the context of each segment, if the model decodes from summaries.
        notes: What else there is to say, one sentence each.
        verified: The number of tokens that agree with the reference interpreter; None if the run was not verified.
        difference: The first token that is not, if any.
        resumed: How many of the tokens are those of the saved run that it went on from.
        checked: False if the run is whatever the weights emit: nothing was compared with the reference interpreter.
        viewer: Makes what notebooks show of it; where there is none, or it gives None, that is the text.
    """

    model: Model
    prompt: Prompt
    tokens: Sequence[str]
    outcome: Outcome
    arithmetic: str
    engine: str
    seconds: float
    segments: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    verified: int | None = None
    difference: Difference | None = None
    resumed: int = 0
    checked: bool = True
    viewer: Callable[[Run], str | None] | None = field(default=None, compare=False)

    @property
    def differs(self) -> bool:
        """Whether the run was compared with the reference interpreter, and is another."""
        return self.difference is not None

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
        """How fast it ran; 0 if there was nothing to compute."""
        return (len(self.tokens) - self.resumed) / self.seconds if self.seconds else 0.0

    def pace(self, unit: str) -> Iterator[str]:
        """How many of the tokens were there before, and how fast the others came, in phrases."""
        if self.resumed:
            yield f"{self.resumed:,} of them from the saved run"
        if len(self.tokens) > self.resumed:
            yield f"{self.tokens_per_second:,.0f} {unit}"

    def text(self, most: int = 40) -> str:
        """The run for people: what happened step by step (the first ``most`` steps), and what came of it."""
        return "\n".join(filter(None, [self.story(most), self.summary()]))

    def story(self, most: int = 40) -> str:
        """What happened step by step, if there are steps: the first ``most`` of them."""
        lines = [printable(line) for line in islice(filter(None, self.outcome.trace()), most + 1)]
        if len(lines) > most:
            lines[most:] = [f"… {many(self.steps - most + 1, 'more step')}"]
        return "\n".join(lines)

    def summary(self) -> str:
        """The verdict, what is left, how long it took, and what else there is to say; no line is long."""
        verdict = self.verdict or UNFINISHED
        head = f"{verdict}  {_shortened(self.output, WIDTH - len(verdict) - 2)}" if self.output else verdict
        return "\n".join([*filled([f"{head}  ", *self._how()], WIDTH), *self._said()])

    def _how(self) -> Iterator[str]:
        """How it went, in phrases."""
        how = f"({self.engine}, {self.arithmetic})"
        if not isinstance(self.model.codec, DecoderCodec):
            yield f"in one pass over {many(len(self.tokens), 'position')} {how}"
            return
        yield f"after {many(self.steps, 'step')}, "
        parts = ""
        if len(self.segments) > 1:
            parts = f" in {many(len(self.segments), 'segment')} of at most {max(self.segments):,}"
        *phrases, last = [f"{many(len(self.tokens), 'token')}{parts}", *self.pace("tokens/s")]
        yield from (f"{phrase}, " for phrase in phrases)
        yield f"{last} {how}".ljust(len(f"{FASTEST:,} tokens/s {how}"))

    def _said(self) -> Iterator[str]:
        for note in self.notes:
            yield from wrap(printable(note), WIDTH, initial_indent="  ", subsequent_indent="    ")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        word = _shortened(self.model.codec.text_of(self.outcome.word), REPR)
        left = f", output {_shortened(self.output, REPR)}" if self.output else ""
        steps = f", {many(self.steps, 'step')}" if isinstance(self.model.codec, DecoderCodec) else ""
        label = "" if self.checked else ", unchecked"
        name = printable(self.model.source.name, keep="")
        return f"<Run of {name} on {word}: {self.verdict or UNFINISHED}{steps}{left}{label}>"

    def _repr_html_(self) -> str:
        return (self.viewer(self) if self.viewer else None) or html_text(self.text())


def _shortened(text: str, most: int) -> str:
    """A text in quotes; of a long one the beginning and the end, and how long it is."""
    if len(text) <= most and len(repr(text)) <= most:
        return repr(text)
    length = f"({len(text):,} characters)"
    half = (most - len(length) - len("'' … '' ")) // 2
    return f"{text[:half]!r} … {text[-half:]!r} {length}"
