"""How words are put to a transformer for a RASP program, and how its answers are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from softmachine.codec import Interface, Outcome, Word
from softmachine.languages.rasp import Program
from softmachine.languages.rasp.evaluate import run
from softmachine.theorems.rasp.answers import Answers
from softmachine.theorems.shared.recogniser import StartedCodec


@dataclass(frozen=True)
class RaspCodec(StartedCodec[Program]):
    """A start token, then the word; the answer at each position is the program's output there."""

    speaks_of_empty_word: ClassVar[bool] = False

    @property
    def told_length(self) -> bool:
        return not self.source.causal

    @property
    def answers(self) -> Answers:
        """What can be said."""
        return Answers(self.source)

    def interface(self) -> Interface:
        """An output at every letter."""
        meaning = "At a letter it is the program's output there; at the start token it means nothing."
        return Interface(symbols=self.alphabet, meaning=meaning)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The output at every position; nobody cares for the start token's."""
        answers = self.answers
        yield None
        yield from map(answers.of, run(self.source, word))

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """The values, one at each letter."""
        values = tuple(said[1:])
        blank = "" if all(len(text) == 1 for text in values) else " "
        return Outcome(verdict="halt", output=blank.join(values), word=self.source.word(word), values=values)
