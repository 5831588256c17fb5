"""How words are put to a transformer for temporal logic, and how its answers are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from softmachine.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.languages.temporal import Specification, truth
from softmachine.theorems.shared.special_tokens import START, unused


def start_token(specification: Specification) -> str:
    """The token of position 0, which is not a symbol of the alphabet."""
    return unused(START, specification.alphabet)


@dataclass(frozen=True)
class TemporalCodec(AnsweringCodec[Specification]):
    """A start token, then the word; the answer at each position is whether the formula holds there.

    Args:
        source: The formula and its alphabet.
        told_length: Whether the model is told the length of the word, as encoders are.
    """

    told_length: bool = True

    def prompt(self, word: Word) -> Prompt:
        """The start token and the word; encoders are told its length."""
        symbols = self.source.word(word)
        return Prompt((start_token(self.source), *symbols), len(symbols) if self.told_length else None)

    def interface(self) -> Interface:
        """A truth value at every symbol, and the last one is the verdict."""
        return Interface(
            symbols=self.alphabet,
            meaning="At a symbol it is whether the formula holds there; at the start token it means nothing. "
            "The empty word is rejected.",
            verdict=-1,
        )

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The truth value at every position; nobody cares for the start token's."""
        del max_steps
        yield None
        for value in truth(self.source, word):
            yield "true" if value else "false"

    def read(self, word: Word, said: Sequence[str]) -> Outcome:
        """A word is accepted if the formula holds at its last position."""
        values = tuple(answer == "true" for answer in said[1:])
        accepted = bool(values) and values[-1]
        verdict = "accept" if accepted else "reject"
        return Outcome(verdict=verdict, word=self.source.word(word), values=values)
