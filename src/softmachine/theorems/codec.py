"""How words become prompts and how what a model says is read: the codec of a theorem, and what it speaks of.

A model that answers at once, at the positions of its prompt, has an :class:`AnsweringCodec`; one that goes on from its
prompt token by token has a :class:`DecoderCodec`, and if it writes summaries and goes on from them alone, a
:class:`SegmentedCodec`.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeAlias, TypeVar

from softmachine.languages.formats import source_text
from softmachine.languages.scene import Rows, Scene, Stretch
from softmachine.languages.source import Source, spelled
from softmachine.languages.words import words_from
from softmachine.support.compare import Comparison, in_pieces
from softmachine.support.errors import PartedError, Remedy, UsageError
from softmachine.support.text import printable

Word: TypeAlias = str | Iterable[str]
"""An input: text, or its symbols."""
S_co = TypeVar("S_co", bound=Source, covariant=True)


@dataclass(frozen=True)
class Prompt:
    """What a model is started on: the tokens, and the length n of the input word in them (None if it may not know)."""

    tokens: tuple[str, ...]
    length: int | None = None


@dataclass(frozen=True)
class Interface:
    """What goes into a model that answers at once, and what it says where; positions count the tokens of its prompt.

    Args:
        symbols: The tokens that an input is made of.
        meaning: What an answer says, in sentences.
        inputs: What each symbol of an input is, if all inputs have the same; they are the first tokens of the prompt.
        outputs: The name and the position of each output; none if every symbol has an answer of its own.
        verdict: Where "true" means that the input is accepted, -1 for the last position; None if there is no verdict.
    """

    symbols: tuple[str, ...]
    meaning: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[tuple[str, int], ...] = ()
    verdict: int | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run came to, in the terms of its language.

    Args:
        verdict: "accept", "reject" or "halt"; None if it did not end.
        steps: How many steps of the source language were made.
        output: What is left, as text.
        word: The input.
        values: The value at every symbol of the input, where each has one.
    """

    verdict: str | None
    steps: int = 0
    output: str = ""
    word: tuple[str, ...] = ()
    values: tuple[bool | str, ...] | None = None

    @property
    def halted(self) -> bool:
        """Whether the run ended by itself."""
        return self.verdict is not None

    @property
    def accepted(self) -> bool:
        """Whether the run ended with "accept"."""
        return self.verdict == "accept"

    def trace(self) -> Iterator[str]:
        """What happened: one text for the start and one for each step, or the word with the values below it."""
        if self.values is None:
            return
        word = [printable(symbol, keep="") for symbol in self.word]
        shown = [str(int(value)) if isinstance(value, bool) else printable(value, keep="") for value in self.values]
        widths = [max(map(len, pair)) for pair in zip(word, shown, strict=True)]
        for line in (word, shown):
            yield "  ".join(item.ljust(width) for item, width in zip(line, widths, strict=True)).rstrip()


@dataclass(frozen=True)
class Codec(ABC, Generic[S_co]):
    """How words become prompts and how what a model says is read. Theorems provide it.

    Args:
        source: The object of the source language that the model computes.
    """

    source: S_co

    view: ClassVar[str] = ""
    """How a run is shown while it goes on: "tape", or nothing but tokens."""
    goes_on: ClassVar[bool] = False
    """Whether more may be said; else everything is said at once."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols of input words."""
        return self.source.alphabet

    @property
    def notes(self) -> tuple[str, ...]:
        """What every answer from a model of this codec has to say."""
        return ()

    @property
    def input_length(self) -> int | None:
        """The length of all inputs, if they have one: those of circuits and graphs do."""
        return None

    def text_of(self, word: Iterable[str]) -> str:
        """An input as it is written at the command line."""
        return spelled(word, self.alphabet)

    def words(self, length: int, start: int = 0) -> Iterable[tuple[str, ...]]:
        """Every word of a length that the theorem is about, in the order of the alphabet, from the start-th on."""
        return words_from(self.alphabet, length, start) if self.input_length in (None, length) else ()

    def word_count(self, length: int) -> int:
        """How many words of a length there are."""
        return len(self.alphabet) ** length if self.input_length in (None, length) else 0

    def random_word(self, chooser: random.Random, length: int) -> tuple[str, ...]:
        """A random word of a length; the empty one if there are no symbols."""
        return tuple(chooser.choice(self.alphabet) for _ in range(length)) if self.alphabet else ()

    def has_word(self, word: Sequence[str]) -> bool:
        """Whether a word over the alphabet is among those that the theorem is about."""
        return self.input_length in (None, len(word))

    @abstractmethod
    def prompt(self, word: Word) -> Prompt:
        """The sequence that the model is started on."""

    def prompts_together(self, words: Sequence[tuple[str, ...]]) -> list[Prompt]:
        """The same for words of one length; codecs that can look at all of them together do."""
        return [self.prompt(word) for word in words]

    @abstractmethod
    def expected(self, word: Word, max_steps: int) -> Iterable[str | None]:
        """What the reference interpreter says that the model should say.

        Of a decoder, the tokens that follow the prompt; of an encoder, the output at every position of the prompt, None
        where nobody cares.
        """

    def expected_together(self, words: Sequence[tuple[str, ...]], max_steps: int) -> list[Sequence[str | None]]:
        """The same for words of one length; codecs that can compute them together do."""
        return [tuple(self.expected(word, max_steps)) for word in words]

    def expected_pieces(self, word: Word, max_steps: int) -> Iterator[Sequence[str | None]]:
        """The same in pieces; codecs of long runs have them as numbers, in memory that does not grow with the run."""
        return in_pieces(self.expected(word, max_steps))

    @abstractmethod
    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """What it means that the model said this, taken at its word."""

    def read(self, word: Word, said: Sequence[str]) -> Outcome:
        """What it means that the model said this, which must be a run of the source, or how one begins.

        Raises:
            PartedError: If it is none; it says where model and source part.
        """
        self.require_run(word, said)
        return self.outcome(word, said)

    def require_run(self, word: Word, said: Sequence[str]) -> None:
        """Compare what was said with what the reference interpreter says.

        Raises:
            PartedError: If they differ; it says where.
        """
        comparison = Comparison(self.following(word, said))
        comparison.see(said)
        if not self.goes_on:
            comparison.close()
        if comparison.difference is not None:
            raise PartedError(
                f"what the model says is not what {self.source.name!r} does: {comparison.difference}",
                hint=Remedy(
                    "to see all that it says: {}; to run weights that were edited: --unchecked (checked=False)",
                    verify=True,
                ),
            )

    def following(self, word: Word, said: Sequence[str]) -> Iterator[Sequence[str | None]]:
        """What the reference interpreter says, in pieces, up to where it is not what was said.

        A codec that gets all of it from what was said, which is right as long as that is, need not go step by step.
        """
        return self.expected_pieces(word, len(said))

    @abstractmethod
    def positions(self, word: Word, max_steps: int) -> int:
        """The largest n that a run on a word has, in so many steps: how long an input is, or a context becomes."""

    def fits(self, word: Word, length: int, max_steps: int) -> bool:
        """Whether a run on a word, for so many steps, stays within a length.

        Raises:
            OutgrownError: If its prompt does not.
        """
        return self.positions(word, max_steps) <= length

    def reduced(self, word: Word) -> str | None:
        """What the theorem's reduction makes of a word, as text; None if it is not by reduction."""
        self.source.word(word)
        return None

    @property
    def chain(self) -> Source | None:
        """The C-RASP program whose chain of thought the model writes, if it is one."""
        return None

    @property
    def lines(self) -> Sequence[str]:
        """The source, line by line, as people read it."""
        try:
            return source_text(self.source).splitlines()
        except UsageError:  # a theorem about one language has no text
            return (str(self.source),)

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """What a stretch of a run on a word looks like in the terms of the source: by default, its text."""
        del word, shown
        return Scene(self.lines)


class AnsweringCodec(Codec[S_co]):
    """The codec of a model that answers at once, at the positions of its prompt."""

    @abstractmethod
    def interface(self) -> Interface:
        """What goes in, and what is said where."""

    def positions(self, word: Word, max_steps: int) -> int:
        """The length of the input, as the prompt says it; steps do not matter."""
        del max_steps
        prompt = self.prompt(word)
        return len(prompt.tokens) - 1 if prompt.length is None else prompt.length

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """The tokens with the answers that should be under them."""
        expected = tuple(self.expected(word, 0))[shown.first : shown.first + len(shown.tokens)]
        return Scene(self.lines, picture=Rows(first=shown.first, word=shown.tokens, rows=(("answer", expected),)))


class DecoderCodec(Codec[S_co]):
    """The codec of a model that goes on from its prompt, token by token, until a token stops it."""

    goes_on: ClassVar[bool] = True
    announces: ClassVar[bool] = False
    """Whether a run's first token only says where it starts."""

    @abstractmethod
    def stops(self, token: str) -> bool:
        """Whether the run is over with this token."""

    def is_step(self, token: str) -> bool:
        """Whether the token is a step of the source language, as all are that do not stop the run, unless it says."""
        return not self.stops(token)

    def token_limit(self, max_steps: int) -> int:
        """How many tokens a run of so many steps has at most, when it has not ended: one a step."""
        return max_steps

    def positions(self, word: Word, max_steps: int) -> int:
        """How many tokens the prompt and the run have."""
        return len(self.prompt(word).tokens) + sum(1 for _ in self.expected(word, max_steps))

    def fits(self, word: Word, length: int, max_steps: int) -> bool:
        """Whether prompt and run stay within a length."""
        return super().fits(word, length, min(max_steps, length))  # a step has at least one token


class SegmentedCodec(DecoderCodec[S_co]):
    """The codec of a model that may write summaries, each the prompt of a segment that goes on from it alone."""

    @abstractmethod
    def is_step(self, token: str) -> bool:
        """Whether the token is a step of the source language."""

    @abstractmethod
    def segment_begins(self, token: str) -> bool:
        """Whether a summary begins with this token."""

    @abstractmethod
    def segment_ends(self, token: str) -> bool:
        """Whether a summary ends with this token."""

    @abstractmethod
    def expected_segments(self, word: Word, max_steps: int) -> Iterable[tuple[Prompt, tuple[str, ...]]]:
        """What the reference interpreter says that the model should say, segment by segment, with their prompts."""

    def positions(self, word: Word, max_steps: int) -> int:
        """How many tokens the longest context has."""
        return max(self._contexts(word, max_steps))

    def fits(self, word: Word, length: int, max_steps: int) -> bool:
        """Whether every context stays within a length."""
        return all(context <= length for context in self._contexts(word, max_steps))

    def _contexts(self, word: Word, max_steps: int) -> Iterator[int]:
        for prompt, said in self.expected_segments(word, max_steps):
            yield len(prompt.tokens) + len(said)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """The same without prompts: what is said in all segments."""
        for _, said in self.expected_segments(word, max_steps):
            yield from said
