"""The result of a run, and its summary as text."""

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
"""Tokens per second for which the summary reserves space, so that its line breaks do not depend on the speed."""
WIDTH = 80
"""Columns of a summary; longer outputs are shortened."""
REPR = 48
"""Maximum characters of a text in ``repr`` of a run; longer ones are shortened."""


@dataclass(frozen=True, repr=False)
class Run:
    """A finished (or interrupted) run.

    Args:
        model: The model.
        prompt: The prompt.
        tokens: The output: a decoder's tokens, or an encoder's output at every position.
        outcome: The result in the source language.
        arithmetic: The name of the arithmetic.
        engine: The name of the engine.
        seconds: Run time, without preparation.
        segments: The number of tokens in the context of each segment, if the model decodes from summaries.
        notes: Further remarks, one sentence each.
        verified: The number of tokens that agree with the reference interpreter; None if the run was not verified.
        difference: The first token that differs, if any.
        resumed: The number of tokens taken from the saved run that was resumed.
        checked: Whether the output was required to be a run of the source; if false, it was not compared with anything.
        viewer: Renders the run as HTML for notebooks; without it, or if it returns None, they show the text.
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
        """Whether the run was compared with the reference interpreter and differs."""
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
        """The final output, such as the tape, as text."""
        return self.outcome.output

    tape = output

    @property
    def tokens_per_second(self) -> float:
        """Speed of the run; 0 if no token was computed."""
        return (len(self.tokens) - self.resumed) / self.seconds if self.seconds else 0.0

    def pace(self, unit: str) -> Iterator[str]:
        """Yield phrases on the number of resumed tokens and the speed of the others."""
        if self.resumed:
            yield f"{self.resumed:,} of them from the saved run"
        if len(self.tokens) > self.resumed:
            yield f"{self.tokens_per_second:,.0f} {unit}"

    def text(self, most: int = 40) -> str:
        """Format the run: its steps (the first ``most``), then the summary."""
        return "\n".join(filter(None, [self.story(most), self.summary()]))

    def story(self, most: int = 40) -> str:
        """Format the first ``most`` steps, if the source has steps."""
        lines = [printable(line) for line in islice(filter(None, self.outcome.trace()), most + 1)]
        if len(lines) > most:
            lines[most:] = [f"… {many(self.steps - most + 1, 'more step')}"]
        return "\n".join(lines)

    def summary(self) -> str:
        """Format the verdict, the output, the cost and the notes, in lines of at most `WIDTH` columns."""
        verdict = self.verdict or UNFINISHED
        head = f"{verdict}  {_shortened(self.output, WIDTH - len(verdict) - 2)}" if self.output else verdict
        return "\n".join([*filled([f"{head}  ", *self._cost()], WIDTH), *self._notes()])

    def _cost(self) -> Iterator[str]:
        """Yield phrases on the number of steps and tokens, the speed, the engine and the arithmetic."""
        setting = f"({self.engine}, {self.arithmetic})"
        if not isinstance(self.model.codec, DecoderCodec):
            yield f"in one pass over {many(len(self.tokens), 'position')} {setting}"
            return
        yield f"after {many(self.steps, 'step')}, "
        parts = ""
        if len(self.segments) > 1:
            parts = f" in {many(len(self.segments), 'segment')} of at most {max(self.segments):,}"
        *phrases, last = [f"{many(len(self.tokens), 'token')}{parts}", *self.pace("tokens/s")]
        yield from (f"{phrase}, " for phrase in phrases)
        yield f"{last} {setting}".ljust(len(f"{FASTEST:,} tokens/s {setting}"))

    def _notes(self) -> Iterator[str]:
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
    """Quote a text; a long one is abbreviated to its beginning, its end and its length."""
    if len(text) <= most and len(repr(text)) <= most:
        return repr(text)
    length = f"({len(text):,} characters)"
    half = (most - len(length) - len("'' … '' ")) // 2
    return f"{text[:half]!r} … {text[-half:]!r} {length}"
