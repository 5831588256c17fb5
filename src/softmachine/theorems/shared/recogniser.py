"""A codec that is ready for any recogniser: a start token, then the word; the answer is whether it is accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from softmachine.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.languages.predicate import FormalLanguage
from softmachine.theorems.shared.special_tokens import START, unused


@dataclass(frozen=True)
class RecogniserCodec(AnsweringCodec[FormalLanguage]):
    """A start token, then the word; "true" or "false" at every position, or only at the last one that counts.

    Args:
        source: The language; its predicate is the reference.
        prefixes: Whether the answer at every position is about the word up to there, as in a model that looks back;
            else only the last answer counts, and the model is told the length of the word.
    """

    prefixes: bool = True

    @property
    def start(self) -> str:
        """The token of position 0."""
        return unused(START, self.alphabet)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The vocabulary: the start token and the letters."""
        return (self.start, *self.alphabet)

    def prompt(self, word: Word) -> Prompt:
        """The start token and the word."""
        letters = self.source.word(word)
        return Prompt((self.start, *letters), None if self.prefixes else len(letters))

    def interface(self) -> Interface:
        """The last answer is the verdict."""
        if self.prefixes:
            meaning = "It is whether the word up to there is accepted; at the start token, whether the empty word is."
        else:
            meaning = "At the last position it is whether the word is accepted; elsewhere it means nothing."
        return Interface(symbols=self.alphabet, meaning=meaning, verdict=-1)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """What the predicate says of the word, and of all that it begins with."""
        del max_steps
        letters = self.source.word(word)
        for count in range(len(letters) + 1):
            asked = self.prefixes or count == len(letters)
            yield str(bool(self.source.accepts(letters[:count]))).lower() if asked else None

    def read(self, word: Word, said: Sequence[str]) -> Outcome:
        """A word is accepted if the last answer is true."""
        values = tuple(answer == "true" for answer in said[1:]) if self.prefixes else None
        verdict = "accept" if said[-1] == "true" else "reject"
        return Outcome(verdict=verdict, word=self.source.word(word), values=values)
