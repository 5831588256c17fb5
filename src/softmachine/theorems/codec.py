"""Codecs: conversion of words to prompts, and of a model's output tokens to results.

An encoder, which answers in one pass at the positions of its prompt, has an :class:`AnsweringCodec`; an autoregressive
decoder has a :class:`DecoderCodec`, and if it writes summaries and resumes from them alone, a :class:`SegmentedCodec`.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeAlias, TypeVar

from softmachine.ir.domain import Domain
from softmachine.languages.formats import serialise_source
from softmachine.languages.run_view import RowsPicture, RunView, TokenWindow
from softmachine.languages.source import Source, format_word
from softmachine.support.compare import Comparison, split_into_chunks
from softmachine.support.errors import DivergedError, FixHint, UsageError
from softmachine.support.text import escape_unprintable

Word: TypeAlias = str | Iterable[str]
"""An input: text, or its symbols."""
S_co = TypeVar("S_co", bound=Source, covariant=True)


@dataclass(frozen=True)
class Prompt:
    """The input of a model: the tokens, and the length n of the input word (None if the model does not receive it)."""

    tokens: tuple[str, ...]
    length: int | None = None


@dataclass(frozen=True)
class Interface:
    """Inputs and outputs of an encoder; positions are indices into the prompt.

    Args:
        symbols: The tokens of inputs.
        meaning: The meaning of an answer, in sentences.
        inputs: The names of the symbols of an input, if all inputs have the same; they are the first tokens of the
            prompt, and the others are the same in every prompt.
        outputs: The name and the position of each output; empty if every symbol has an answer.
        verdict: The position at which "true" means that the input is accepted, -1 for the last position; None if there
            is no verdict.
    """

    symbols: tuple[str, ...]
    meaning: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[tuple[str, int], ...] = ()
    verdict: int | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a run, in terms of its source language.

    Args:
        verdict: "accept", "reject" or "halt"; None if the run did not end.
        steps: The number of steps of the source language.
        output: The output, as text.
        word: The input.
        values: The value at every symbol of the input, if each has one.
    """

    verdict: str | None
    steps: int = 0
    output: str = ""
    word: tuple[str, ...] = ()
    values: tuple[bool | str, ...] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the run ended."""
        return self.verdict is not None

    @property
    def is_accepted(self) -> bool:
        """Whether the run ended with "accept"."""
        return self.verdict == "accept"

    def format_trace(self) -> Iterator[str]:
        """Yield one text for the start and one for each step, or the word with the values below it."""
        if self.values is None:
            return
        word = [escape_unprintable(symbol, keep="") for symbol in self.word]
        shown = [
            str(int(value)) if isinstance(value, bool) else escape_unprintable(value, keep="") for value in self.values
        ]
        widths = [max(map(len, pair)) for pair in zip(word, shown, strict=True)]
        for line in (word, shown):
            yield "  ".join(item.ljust(width) for item, width in zip(line, widths, strict=True)).rstrip()


@dataclass(frozen=True)
class Codec(ABC, Generic[S_co]):
    """Converts words to prompts and output tokens to results; defined by a theorem.

    Args:
        source: The source that the model was compiled from.
    """

    source: S_co

    live_view: ClassVar[str] = ""
    """How a run in progress is displayed: "tape", or empty for tokens only."""
    is_autoregressive: ClassVar[bool] = False
    """Whether the model is autoregressive; else it produces all outputs in one pass."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols of input words."""
        return self.source.alphabet

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes to print with every answer of a model of this codec."""
        return ()

    @property
    def input_length(self) -> int | None:
        """The length of all inputs if it is fixed, as for circuits and graphs; else None."""
        return None

    def format_input(self, word: Iterable[str]) -> str:
        """Format an input as it is written on the command line."""
        return format_word(word, self.alphabet)

    def words(self, length: int, start: int = 0) -> Iterable[tuple[str, ...]]:
        """Words of a length that the theorem covers, in lexicographic order, starting at index ``start``."""
        from softmachine.languages.words import words_from

        return words_from(self.alphabet, length, start) if self.input_length in (None, length) else ()

    def word_count(self, length: int) -> int:
        """Return the number of words of a length."""
        return len(self.alphabet) ** length if self.input_length in (None, length) else 0

    def random_word(self, rng: random.Random, length: int) -> tuple[str, ...]:
        """Return a random word of a length; the empty word if the alphabet is empty."""
        return tuple(rng.choice(self.alphabet) for _ in range(length)) if self.alphabet else ()

    def has_word(self, word: Sequence[str]) -> bool:
        """Whether the theorem covers a word over the alphabet."""
        return self.input_length in (None, len(word))

    @abstractmethod
    def prompt(self, word: Word) -> Prompt:
        """Return the prompt for a word."""

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        """Return the sequences that the model reads: by default, every sequence over its vocabulary.

        It must contain every prompt, and every prompt of a decoder with the tokens of its run but the last one.
        """
        return Domain.all_sequences(vocabulary)

    def prompt_batch(self, words: Sequence[tuple[str, ...]]) -> list[Prompt]:
        """Return the prompts of words of equal length; codecs may override it with a vectorised version."""
        return [self.prompt(word) for word in words]

    @abstractmethod
    def expected(self, word: Word, max_steps: int) -> Iterable[str | None]:
        """Return the output of the reference interpreter.

        For a decoder, the tokens that follow the prompt; for an encoder, the output at every position of the prompt,
        None at positions whose output is unconstrained.
        """

    def expected_batch(self, words: Sequence[tuple[str, ...]], max_steps: int) -> list[Sequence[str | None]]:
        """Return the expected outputs of words of equal length; codecs may override it with a vectorised version."""
        return [tuple(self.expected(word, max_steps)) for word in words]

    def expected_chunks(self, word: Word, max_steps: int) -> Iterator[Sequence[str | None]]:
        """Yield the expected output in chunks; codecs of long runs yield token arrays, in constant memory."""
        return split_into_chunks(self.expected(word, max_steps))

    @abstractmethod
    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """Parse the output of a model without checking it."""

    def parse_run(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """Parse the output of a model, which must be a run of the source or a prefix of one.

        Raises:
            DivergedError: If it is not; the message gives the position of the first difference.
        """
        self.verify_run(word, emitted)
        return self.parse_output(word, emitted)

    def verify_run(self, word: Word, emitted: Sequence[str]) -> None:
        """Compare the output of a model with that of the reference interpreter.

        Raises:
            DivergedError: If they differ; the message gives the position of the first difference.
        """
        comparison = Comparison(self.expected_up_to(word, emitted))
        comparison.feed(emitted)
        if not self.is_autoregressive:
            comparison.close()
        if comparison.difference is not None:
            raise DivergedError(
                f"the output of the model is not a run of {self.source.name!r}: {comparison.difference}",
                hint=FixHint(
                    "to see the whole output: {}; to run edited weights: --unchecked (checked=False)",
                    verify=True,
                ),
            )

    def expected_up_to(self, word: Word, emitted: Sequence[str]) -> Iterator[Sequence[str | None]]:
        """Yield the expected output in chunks, at least up to the first difference from the given output.

        A codec may derive the expected tokens from the given ones, which are correct up to the first difference,
        instead of running the interpreter step by step.
        """
        return self.expected_chunks(word, len(emitted))

    @abstractmethod
    def count_positions(self, word: Word, max_steps: int) -> int:
        """Return the largest n of a run of at most ``max_steps`` steps: the length of the input, or of the context."""

    def fits_in(self, word: Word, length: int, max_steps: int) -> bool:
        """Whether a run of at most ``max_steps`` steps on a word stays within a length.

        Raises:
            ContextTooShortError: If the prompt does not.
        """
        return self.count_positions(word, max_steps) <= length

    def apply_reduction(self, word: Word) -> str | None:
        """Return the result of the theorem's reduction on a word, as text; None if the theorem has no reduction."""
        self.source.word(word)
        return None

    def describe_output(self, output: str, position: int) -> str:
        """Describe an output at a position in terms of the source: by default, the output itself."""
        del position
        return output

    @property
    def chain_program(self) -> Source | None:
        """The C-RASP program whose chain of thought the model writes, if any."""
        return None

    @property
    def source_lines(self) -> Sequence[str]:
        """The lines of the source text."""
        try:
            return serialise_source(self.source).splitlines()
        except UsageError:  # the source of a theorem about one language has no text
            return (str(self.source),)

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """Return the view of a window of a run in terms of the source: by default, the source text."""
        del word, window
        return RunView(self.source_lines)


class AnsweringCodec(Codec[S_co]):
    """Codec of an encoder: answers in one pass, at the positions of its prompt."""

    @abstractmethod
    def interface(self) -> Interface:
        """Describe the inputs and outputs."""

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        """Return the prompts with any symbols at the inputs that the interface names; without names, every sequence."""
        interface = self.interface()
        if not interface.inputs or self.input_length is None:
            return super().domain(vocabulary)
        rest = self.prompt(next(iter(self.words(self.input_length)))).tokens[len(interface.inputs) :]
        return Domain.of_positions([*[interface.symbols] * len(interface.inputs), *((token,) for token in rest)])

    def count_positions(self, word: Word, max_steps: int) -> int:
        """Return the length of the input according to the prompt; ``max_steps`` is ignored."""
        del max_steps
        prompt = self.prompt(word)
        return len(prompt.tokens) - 1 if prompt.length is None else prompt.length

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """Return the tokens with the expected answers below them."""
        expected = tuple(self.expected(word, 0))[window.first : window.first + len(window.tokens)]
        return RunView(
            self.source_lines, picture=RowsPicture(first=window.first, word=window.tokens, rows=(("answer", expected),))
        )


class DecoderCodec(Codec[S_co]):
    """Codec of an autoregressive decoder, which runs until it emits a stop token."""

    is_autoregressive: ClassVar[bool] = True
    has_initial_token: ClassVar[bool] = False
    """Whether the first token of a run only announces the start configuration."""

    @abstractmethod
    def is_stop_token(self, token: str) -> bool:
        """Whether the run ends with this token."""

    def is_step(self, token: str) -> bool:
        """Whether the token is a step of the source language: by default, every token that is not a stop token."""
        return not self.is_stop_token(token)

    def max_tokens(self, max_steps: int) -> int:
        """Return the maximal number of tokens of an unfinished run of ``max_steps`` steps: one per step."""
        return max_steps

    def count_positions(self, word: Word, max_steps: int) -> int:
        """Return the number of tokens of prompt and run together."""
        return len(self.prompt(word).tokens) + sum(1 for _ in self.expected(word, max_steps))

    def fits_in(self, word: Word, length: int, max_steps: int) -> bool:
        """Whether prompt and run stay within a length."""
        return super().fits_in(word, length, min(max_steps, length))  # every step emits at least one token


class SegmentedCodec(DecoderCodec[S_co]):
    """Codec of a decoder that may write summaries, each the prompt of a segment that resumes from it alone."""

    @abstractmethod
    def is_step(self, token: str) -> bool:
        """Whether the token is a step of the source language."""

    @abstractmethod
    def begins_segment(self, token: str) -> bool:
        """Whether a summary begins with this token."""

    @abstractmethod
    def ends_segment(self, token: str) -> bool:
        """Whether a summary ends with this token."""

    @abstractmethod
    def expected_segments(self, word: Word, max_steps: int) -> Iterable[tuple[Prompt, tuple[str, ...]]]:
        """Yield the prompt and the expected output of each segment, from the reference interpreter."""

    def count_positions(self, word: Word, max_steps: int) -> int:
        """Return the number of tokens of the longest context."""
        return max(self._context_lengths(word, max_steps))

    def fits_in(self, word: Word, length: int, max_steps: int) -> bool:
        """Whether every context stays within a length."""
        return all(context <= length for context in self._context_lengths(word, max_steps))

    def _context_lengths(self, word: Word, max_steps: int) -> Iterator[int]:
        for prompt, output in self.expected_segments(word, max_steps):
            yield len(prompt.tokens) + len(output)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """Yield the expected output of all segments."""
        for _, output in self.expected_segments(word, max_steps):
            yield from output
