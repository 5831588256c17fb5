"""One row of a data set: a word, and what the reference interpreter says of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from softmachine.engines.inputs import Word
from softmachine.languages.source import Source
from softmachine.support.errors import Remedy, UsageError
from softmachine.support.text import many
from softmachine.theorems.codec import Codec, DecoderCodec, Outcome, Prompt, SegmentedCodec

LONG = 10
"""A trace of more tokens is long."""
SHOWN = 40
"""So many characters of a word are shown in messages."""


@dataclass(frozen=True)
class Row:
    """A word and what comes of it.

    Args:
        input: The word as text, as the command line takes it.
        length: How many symbols it has.
        prompt: The tokens that a model is started on.
        trace: The tokens that it should say: of a decoder what follows the prompt, of an encoder the answer at every
            position of the prompt, None where nobody cares.
        output: What is left in the end.
        verdict: "accept", "reject" or "halt".
        steps: How many steps of the source language were made.
        split: The part of the data set that it belongs to.
        near: The word of the other verdict, one edit away, that it is paired with; None if it is not.
    """

    input: str
    length: int
    prompt: tuple[str, ...]
    trace: tuple[str | None, ...]
    output: str
    verdict: str
    steps: int
    split: str
    near: str | None = None

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Judged:
    """A word, and what the reference interpreter says of it."""

    word: Word
    prompt: Prompt
    trace: tuple[str | None, ...]
    outcome: Outcome

    @property
    def is_long(self) -> bool:
        """Whether it has a long trace."""
        return len(self.trace) > LONG

    @property
    def verdict(self) -> str:
        """The verdict; there is one, or else nobody would have judged."""
        assert self.outcome.verdict is not None
        return str(self.outcome.verdict)


class Judge:
    """The reference interpreter of a source, in the tokens of a codec.

    Args:
        codec: How words become prompts and traces.
        max_steps: How many steps a run may take.
        positions: How many positions a context of a decoder may have; None if they are not limited.
        skip: Whether words whose runs do not end are left out; else they are refused.
        budget: The number of tokens after which a search ends with what it has found; by default there is no limit.
    """

    def __init__(
        self,
        codec: Codec[Source],
        max_steps: int,
        positions: int | None = None,
        *,
        skip: bool = False,
        budget: float = math.inf,
    ):
        self.codec = codec
        self.budget = budget
        self.max_steps = max_steps
        self.positions = positions
        self.skip = skip
        self.left_out: set[Word] = set()

    def __call__(self, word: Word) -> Judged | None:
        """What it says of a word; None if the word is left out.

        Raises:
            UsageError: If the run does not end, and such words are not left out.
        """
        contexts = self._contexts(word)
        trace = tuple(token for _, said in contexts for token in said)
        self.budget -= len(contexts[0][0].tokens) + len(trace)
        outcome = self.codec.outcome(word, [token or "" for token in trace])
        if outcome.halted and self._fits(contexts):
            return Judged(word, contexts[0][0], trace, outcome)
        if not self.skip:
            raise self._endless(word, outcome)
        self.left_out.add(word)
        return None

    def row(self, judged: Judged, split: str, near: Judged | None) -> Row:
        """The row of a word."""
        text_of, outcome = self.codec.text_of, judged.outcome
        return Row(
            input=text_of(judged.word),
            length=len(judged.word),
            prompt=judged.prompt.tokens,
            trace=judged.trace,
            output=outcome.output,
            verdict=judged.verdict,
            steps=outcome.steps,
            split=split,
            near=None if near is None else text_of(near.word),
        )

    def _contexts(self, word: Word) -> Sequence[tuple[Prompt, Sequence[str | None]]]:
        """What a model is started on and should say: once, or in every segment."""
        if isinstance(self.codec, SegmentedCodec):
            return list(self.codec.expected_segments(word, self.max_steps))
        return [(self.codec.prompt(word), tuple(self.codec.expected(word, self.max_steps)))]

    def _fits(self, contexts: Sequence[tuple[Prompt, Sequence[str | None]]]) -> bool:
        if self.positions is None or not isinstance(self.codec, DecoderCodec):
            return True
        return all(len(prompt.tokens) + len(said) <= self.positions for prompt, said in contexts)

    def _endless(self, word: Word, outcome: Outcome) -> UsageError:
        text = self.codec.text_of(word)
        shown = repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…") if word else "the empty word"
        if self.positions is not None and (outcome.halted or outcome.steps < self.max_steps):
            limit, more = f"a context of {self.positions:,} positions", "a larger context"
        else:
            limit, more = many(self.max_steps, "step"), "more steps"
        return UsageError(
            f"the run of {self.codec.source.name!r} on {shown} does not end within {limit}",
            hint=Remedy(f"leave such words out: {{}}, or allow {more}", skip_unfinished=True),
        )
