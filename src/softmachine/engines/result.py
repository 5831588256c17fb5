"""The result of a run, and its summary as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from textwrap import wrap

from softmachine.compiler.model import Model
from softmachine.support.compare import Difference
from softmachine.support.text import escape_unprintable, fill_lines, pluralize
from softmachine.theorems.codec import DecoderCodec, Outcome, Prompt

NO_VERDICT = "no verdict yet"
RESERVED_SPEED = 99_999_999
"""Tokens per second for which the summary reserves space, so that its line breaks do not depend on the speed."""
SUMMARY_WIDTH = 80
"""Columns of a summary; longer outputs are shortened."""
MAX_REPR_CHARACTERS = 48
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
        verified_count: The number of tokens that agree with the reference interpreter; None if the run was not
            verified.
        difference: The first token that differs, if any.
        resumed_count: The number of tokens taken from the saved run that was resumed.
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
    verified_count: int | None = None
    difference: Difference | None = None
    resumed_count: int = 0
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
        return self.outcome.is_accepted

    @property
    def halted(self) -> bool:
        """Whether the run ended by itself."""
        return self.outcome.has_ended

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
        return (len(self.tokens) - self.resumed_count) / self.seconds if self.seconds else 0.0

    def describe_speed(self, unit: str) -> Iterator[str]:
        """Yield phrases on the number of resumed tokens and the speed of the others."""
        if self.resumed_count:
            yield f"{self.resumed_count:,} of them from the saved run"
        if len(self.tokens) > self.resumed_count:
            yield f"{self.tokens_per_second:,.0f} {unit}"

    def format(self, max_steps: int = 40) -> str:
        """Format the run: its steps (the first ``max_steps``), then the summary."""
        return "\n".join(filter(None, [self.format_steps(max_steps), self.format_summary()]))

    def format_steps(self, max_steps: int = 40) -> str:
        """Format the first ``max_steps`` steps, if the source has steps."""
        lines = [escape_unprintable(line) for line in islice(filter(None, self.outcome.format_trace()), max_steps + 1)]
        if len(lines) > max_steps:
            lines[max_steps:] = [f"… {pluralize(self.steps - max_steps + 1, 'more step')}"]
        return "\n".join(lines)

    def format_summary(self) -> str:
        """Format the verdict, the output, the cost and the notes, in lines of at most `SUMMARY_WIDTH` columns."""
        verdict = self.verdict or NO_VERDICT
        head = f"{verdict}  {_quote(self.output, SUMMARY_WIDTH - len(verdict) - 2)}" if self.output else verdict
        return "\n".join([*fill_lines([f"{head}  ", *self._cost()], SUMMARY_WIDTH), *self._notes()])

    def _cost(self) -> Iterator[str]:
        """Yield phrases on the number of steps and tokens, the speed, the engine and the arithmetic."""
        setting = f"({self.engine}, {self.arithmetic})"
        if not isinstance(self.model.codec, DecoderCodec):
            yield f"in one pass over {pluralize(len(self.tokens), 'position')} {setting}"
            return
        yield f"after {pluralize(self.steps, 'step')}, "
        parts = ""
        if len(self.segments) > 1:
            parts = f" in {pluralize(len(self.segments), 'segment')} of at most {max(self.segments):,}"
        *phrases, last = [f"{pluralize(len(self.tokens), 'token')}{parts}", *self.describe_speed("tokens/s")]
        yield from (f"{phrase}, " for phrase in phrases)
        yield f"{last} {setting}".ljust(len(f"{RESERVED_SPEED:,} tokens/s {setting}"))

    def _notes(self) -> Iterator[str]:
        for note in self.notes:
            yield from wrap(escape_unprintable(note), SUMMARY_WIDTH, initial_indent="  ", subsequent_indent="    ")

    def __str__(self) -> str:
        return self.format()

    def __repr__(self) -> str:
        word = _quote(self.model.codec.format_input(self.outcome.word), MAX_REPR_CHARACTERS)
        left = f", output {_quote(self.output, MAX_REPR_CHARACTERS)}" if self.output else ""
        steps = f", {pluralize(self.steps, 'step')}" if isinstance(self.model.codec, DecoderCodec) else ""
        label = "" if self.checked else ", unchecked"
        name = escape_unprintable(self.model.source.name, keep="")
        return f"<Run of {name} on {word}: {self.verdict or NO_VERDICT}{steps}{left}{label}>"

    def _repr_html_(self) -> str:
        from softmachine.support.notebook_html import html_text

        return (self.viewer(self) if self.viewer else None) or html_text(self.format())


def _quote(text: str, max_length: int) -> str:
    """Quote a text; a long one is abbreviated to its beginning, its end and its length."""
    if len(text) <= max_length and len(repr(text)) <= max_length:
        return repr(text)
    length = f"({len(text):,} characters)"
    half = (max_length - len(length) - len("'' … '' ")) // 2
    return f"{text[:half]!r} … {text[-half:]!r} {length}"
