"""Codecs of recognisers: encoders whose prompt is a start token and the word.

The start token at position 0 and padding are distinct from the tokens of the source. Weights of a nonuniform family are
built for one length, which is required of words.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from softmachine.ir.domain import Domain
from softmachine.languages.predicate import FormalLanguage
from softmachine.support.errors import ContextTooShortError
from softmachine.support.text import pluralize
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, S_co, Word

START_TOKEN, PAD_TOKEN = "<s>", "□"


def unused_token(text: str, taken: Container[str]) -> str:
    """Return the text, wrapped in angle brackets until it is not a token of the source."""
    while text in taken:
        text = f"<{text}>"
    return text


class StartTokenCodec(AnsweringCodec[S_co]):
    """A start token, then the word; the answer at every position is whether the prefix up to it is accepted."""

    answers_empty_word: ClassVar[bool] = True
    """Whether the answer at the start token is about the empty word; else the empty word is rejected."""

    @property
    def start(self) -> str:
        """The token of position 0."""
        return unused_token(START_TOKEN, self.alphabet)

    @property
    def receives_length(self) -> bool:
        """Whether the model receives the length of the word, as encoders do."""
        return True

    def prompt(self, word: Word) -> Prompt:
        letters = self.source.word(word)
        return Prompt((self.start, *letters), len(letters) if self.receives_length else None)

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        """Return the sequences of the start token and symbols of the alphabet."""
        return Domain(frozenset({self.start}), frozenset(self.alphabet))

    def interface(self) -> Interface:
        meaning = "It is whether the prefix up to that position is accepted; at the start token, the empty word."
        return Interface(symbols=self.alphabet, meaning=meaning, verdict=-1)

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """Parse the answers: the word is accepted if the last one is true."""
        values = tuple(answer == "true" for answer in emitted[1:])
        accepted = emitted[-1] == "true" and (self.answers_empty_word or len(emitted) > 1)
        return Outcome(verdict="accept" if accepted else "reject", word=self.source.word(word), values=values)


@dataclass(frozen=True)
class RecogniserCodec(StartTokenCodec[FormalLanguage]):
    """A start token, then the word; "true" or "false" at every position, or only at the last one that counts.

    Args:
        source: The language; its predicate is the reference.
        answers_every_prefix: Whether the answer at every position is about the prefix up to it, as in a causal model;
            else only the last answer counts, and the model receives the length of the word.
    """

    answers_every_prefix: bool = True

    @property
    def tokens(self) -> tuple[str, ...]:
        """The vocabulary: the start token and the alphabet."""
        return (self.start, *self.alphabet)

    @property
    def receives_length(self) -> bool:
        return not self.answers_every_prefix

    def interface(self) -> Interface:
        if self.answers_every_prefix:
            return super().interface()
        meaning = "At the last position it is whether the word is accepted; elsewhere it is undefined."
        return Interface(symbols=self.alphabet, meaning=meaning, verdict=-1)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """Yield the value of the predicate on every prefix of the word."""
        letters = self.source.word(word)
        for count in range(len(letters) + 1):
            counts = self.answers_every_prefix or count == len(letters)
            yield str(bool(self.source.accepts(letters[:count]))).lower() if counts else None

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        outcome = super().parse_output(word, emitted)
        return outcome if self.answers_every_prefix else replace(outcome, values=None)


def require_length(word: tuple[str, ...], length: int) -> tuple[str, ...]:
    """Return the word if it has the length that the weights are built for.

    Raises:
        ContextTooShortError: If it has a different length; the message names the required context.
    """
    if len(word) != length:
        raise ContextTooShortError(
            f"the word has {pluralize(len(word), 'symbol')}, but these weights are for words of length {length}",
            context=len(word),
            hint_format="every length has its own weights: {}",
        )
    return word
