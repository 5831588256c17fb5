"""Results: what came of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from softmachine.codec import DecoderCodec, Outcome, Prompt
from softmachine.model import Model
from softmachine.text import many

UNFINISHED = "no verdict yet"
LONGEST = 120
"""Longer outputs are shortened in summaries."""
REPR = 24
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
        segments: How many tokens the context of each segment had, if the model goes on from summaries.
        notes: What else there is to say, one sentence each.
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
        """How fast it ran."""
        return len(self.tokens) / self.seconds if self.seconds else 0.0

    def text(self, most: int = 40) -> str:
        """The run for people: what happened step by step (the first ``most`` steps), and what came of it."""
        lines = list(islice(filter(None, self.outcome.trace()), most + 1))
        if len(lines) > most:
            lines[most:] = [f"… {many(self.steps - most + 1, 'more step')}"]
        return "\n".join([*lines, self.summary()])

    def summary(self) -> str:
        """One line: the verdict, what is left, and how long it took."""
        verdict = self.verdict or UNFINISHED
        left = f"  {_shortened(self.output)}" if self.output else ""
        how, said = f"({self.engine}, {self.arithmetic})", "".join(f"; {note}" for note in self.notes)
        if not isinstance(self.model.codec, DecoderCodec):
            return f"{verdict}{left}  in one pass over {many(len(self.tokens), 'position')} {how}{said}"
        parts = ""
        if len(self.segments) > 1:
            parts = f" in {many(len(self.segments), 'segment')} of at most {max(self.segments):,}"
        return (
            f"{verdict}{left}  after {many(self.steps, 'step')}, {many(len(self.tokens), 'token')}{parts}, "
            f"{self.tokens_per_second:,.0f} tokens/s {how}{said}"
        )

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        word = _shortened(self.model.codec.spell(self.outcome.word), REPR)
        left = f", output {_shortened(self.output, REPR)}" if self.output else ""
        steps = f", {many(self.steps, 'step')}" if isinstance(self.model.codec, DecoderCodec) else ""
        return f"<Run of {self.model.source.name} on {word}: {self.verdict or UNFINISHED}{steps}{left}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre style='line-height:1.3'>{escape(self.text())}</pre>"


def _shortened(text: str, longest: int = LONGEST) -> str:
    """A text in quotes; of a long one the beginning and the end, and how long it is."""
    if len(text) <= longest:
        return repr(text)
    return f"{text[: longest // 2]!r} … {text[-longest // 2 :]!r} ({len(text):,} characters)"
