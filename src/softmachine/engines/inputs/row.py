"""Inputs labelled by the reference interpreter, and the rows of a data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from softmachine.engines.inputs import Word
from softmachine.languages.source import Source
from softmachine.support.errors import FixHint, UsageError
from softmachine.support.text import pluralize
from softmachine.theorems.codec import Codec, DecoderCodec, Outcome, Prompt, SegmentedCodec

MAX_SHORT_TRACE = 10
"""Traces with more tokens count as long."""
MAX_SHOWN_CHARACTERS = 40
"""Characters of a word in messages."""


@dataclass(frozen=True)
class DatasetRow:
    """A labelled word of a data set.

    Args:
        input: The word as written on the command line.
        length: The number of symbols.
        prompt: The prompt tokens of a model.
        trace: The expected output: of a decoder the tokens after the prompt, of an encoder the output at every position
            of the prompt, None where it is unconstrained.
        output: The final output, such as the tape.
        verdict: "accept", "reject" or "halt".
        steps: The number of steps of the source language.
        split: The part of the data set.
        near: The word of the other verdict, one edit away, that it is paired with; None if it is not paired.
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
        """Convert to plain data."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class LabelledWord:
    """A word with the output of the reference interpreter."""

    word: Word
    prompt: Prompt
    trace: tuple[str | None, ...]
    outcome: Outcome

    @property
    def is_long(self) -> bool:
        """Whether the trace is long."""
        return len(self.trace) > MAX_SHORT_TRACE

    @property
    def verdict(self) -> str:
        """The verdict; words without one are not labelled."""
        assert self.outcome.verdict is not None
        return str(self.outcome.verdict)


class Labeller:
    """Labels words with the reference interpreter, in the tokens of a codec.

    Args:
        codec: Converts words to prompts and traces.
        max_steps: Step limit of a run.
        positions: Limit of the context of a decoder; None if there is none.
        skip: Whether words whose runs do not end are skipped; otherwise they are errors.
        budget: The number of tokens after which a search stops; unlimited by default.
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
        self.skipped: set[Word] = set()

    def __call__(self, word: Word) -> LabelledWord | None:
        """Label a word; None if it is skipped.

        Raises:
            UsageError: If the run does not end and such words are not skipped.
        """
        contexts = self._contexts(word)
        trace = tuple(token for _, output in contexts for token in output)
        self.budget -= len(contexts[0][0].tokens) + len(trace)
        outcome = self.codec.parse_output(word, [token or "" for token in trace])
        if outcome.has_ended and self._fits(contexts):
            return LabelledWord(word, contexts[0][0], trace, outcome)
        if not self.skip:
            raise self._unfinished_error(word, outcome)
        self.skipped.add(word)
        return None

    def to_row(self, judged: LabelledWord, split: str, near: LabelledWord | None) -> DatasetRow:
        """Convert a labelled word to a row."""
        text_of, outcome = self.codec.format_input, judged.outcome
        return DatasetRow(
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
        """Return the prompt and the expected output of the run, or of each of its segments."""
        if isinstance(self.codec, SegmentedCodec):
            return list(self.codec.expected_segments(word, self.max_steps))
        return [(self.codec.prompt(word), tuple(self.codec.expected(word, self.max_steps)))]

    def _fits(self, contexts: Sequence[tuple[Prompt, Sequence[str | None]]]) -> bool:
        if self.positions is None or not isinstance(self.codec, DecoderCodec):
            return True
        return all(len(prompt.tokens) + len(output) <= self.positions for prompt, output in contexts)

    def _unfinished_error(self, word: Word, outcome: Outcome) -> UsageError:
        text = self.codec.format_input(word)
        shown = (
            repr(text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…")
            if word
            else "the empty word"
        )
        if self.positions is not None and (outcome.has_ended or outcome.steps < self.max_steps):
            limit, more = f"a context of {self.positions:,} positions", "a larger context"
        else:
            limit, more = pluralize(self.max_steps, "step"), "more steps"
        return UsageError(
            f"the run of {self.codec.source.name!r} on {shown} does not end within {limit}",
            hint=FixHint(f"skip such words with {{}}, or allow {more}", skip_unfinished=True),
        )
