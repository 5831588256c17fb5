"""Codecs of RASP programs: elementwise output, made causal, and autoregressive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import ClassVar

from softmachine.ir.domain import Domain
from softmachine.languages.rasp import RaspProgram
from softmachine.languages.rasp.incremental_interpreter import StreamingEvaluator
from softmachine.languages.rasp.interpreter import run
from softmachine.languages.rasp.ir import UNDEFINED, Apply, Length, Operator, Undefined
from softmachine.languages.rasp.types import IntegerType
from softmachine.languages.rasp.values import PartialValue
from softmachine.languages.source import format_word
from softmachine.support.errors import ConstructionError, ContextTooShortError, InputError, NoNextTokenError
from softmachine.theorems.codec import DecoderCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.rasp.rasp.output_tokens import MAX_INTEGER_TOKEN, OutputVocabulary
from softmachine.theorems.shared.recogniser_codec import START_TOKEN, StartTokenCodec, unused_token

STUCK_TOKEN = "<stuck>"
CAUSAL_LENGTH_NOTE = "the program is causal: length is the number of symbols up to the position, not that of the word"
OPERATORS_BY_TABLE = (Operator.MULTIPLY, Operator.DIVIDE, Operator.FLOOR_DIVIDE, Operator.MODULO, Operator.POWER)


@dataclass(frozen=True)
class RaspCodec(StartTokenCodec[RaspProgram]):
    """Codec with prompt "start token, word"; the output at each position is the program's output there.

    Args:
        source: The program.
        length: The maximal length of words that the weights are built for, if any: all integers that occur up to it
            have tokens, and functions of two of them are tables.
    """

    length: int | None = None
    answers_empty_word: ClassVar[bool] = False

    @property
    def program(self) -> RaspProgram:
        """The program that is run."""
        return self.source

    @property
    def receives_length(self) -> bool:
        return not self.program.causal

    @cached_property
    def output_vocabulary(self) -> OutputVocabulary:
        """The output vocabulary."""
        return OutputVocabulary(self.program, self.length)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on ``length``, which has another meaning in a causal program."""
        reads = any(isinstance(node, Length) for node in self.program.nodes.values())
        return (CAUSAL_LENGTH_NOTE,) if reads and self.program.causal else ()

    def prompt(self, word: Word) -> Prompt:
        """The start token and the word.

        Raises:
            ContextTooShortError: If the word is longer than the weights are built for.
        """
        prompt = super().prompt(word)
        count = len(prompt.tokens) - 1
        if self.length is not None and count > self.length:
            raise ContextTooShortError(
                f"the input has {count} symbols, but the weights are built for at most {self.length}", context=count
            )
        return prompt

    def fits_in(self, word: Word, length: int, max_steps: int) -> bool:
        """Whether the weights serve a word: all outputs have tokens."""
        if self.length is not None:
            return super().fits_in(word, length, max_steps)
        reach = self.output_vocabulary.output_bound(len(self.source.word(word)))
        return reach <= self.output_vocabulary.max_integer and not uses_unbounded_products(self.program)

    def interface(self) -> Interface:
        """An output at every symbol."""
        meaning = "At a symbol it is the program's output there; at the start token it means nothing."
        return Interface(symbols=self.alphabet, meaning=meaning)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The output at every position, undefined if a loop does not end; None at the start token, as unconstrained."""
        yield None
        try:
            values: Sequence[PartialValue] = run(self.program, word)
        except NoNextTokenError:
            values = [UNDEFINED] * len(self.source.word(word))
        yield from map(self.output_vocabulary.token_of, values)

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """The values, one per symbol."""
        values = tuple(emitted[1:])
        return Outcome(verdict="halt", output=format_word(values, values), word=self.source.word(word), values=values)


@dataclass(frozen=True)
class CausalRaspCodec(RaspCodec):
    """Codec of the program made causal: selectors see only keys up to the query."""

    @cached_property
    def program(self) -> RaspProgram:
        """The program, made causal."""
        return make_causal(self.source)


@dataclass(frozen=True)
class GeneratingRaspCodec(DecoderCodec[RaspProgram]):
    """Codec with context "start token, word, symbols that the program appends, up to its stop symbol".

    Raises:
        ConstructionError: If the program has none.
    """

    def __post_init__(self) -> None:
        _ = self.stop

    @property
    def start(self) -> str:
        """The token of position 0."""
        return unused_token(START_TOKEN, self.alphabet)

    @property
    def stuck(self) -> str:
        """The token for an output that is undefined or not a symbol."""
        return unused_token(STUCK_TOKEN, (*self.alphabet, self.stop))

    @property
    def stop(self) -> str:
        """The stop symbol.

        Raises:
            ConstructionError: If the program has none.
        """
        if self.source.stop is None or not self.source.causal:
            raise ConstructionError(
                f"{self.source.name!r} is not autoregressive: it has no stop symbol",
                hint="add the header lines '# causal' and '# stop: $'",
            )
        return self.source.stop

    @property
    def tokens(self) -> tuple[str, ...]:
        """The output vocabulary: the alphabet, the stop symbol, and the token for "stuck"."""
        return tuple(dict.fromkeys((*self.alphabet, self.stop, self.stuck)))

    def token_of(self, value: PartialValue) -> str:
        """The token of an output."""
        symbol = None if isinstance(value, Undefined) else self.source.output_symbol(value)
        return self.stuck if symbol is None else symbol

    def is_stop_token(self, token: str) -> bool:
        """Whether the token is the stop symbol or the one for "stuck"."""
        return token in (self.stop, self.stuck)

    def words(self, length: int, start: int = 0) -> Iterable[tuple[str, ...]]:
        """Every word of a length but the empty one, which has no last position."""
        return super().words(length, start) if length else ()

    def word_count(self, length: int) -> int:
        """The number of such words."""
        return super().word_count(length) if length else 0

    def has_word(self, word: Sequence[str]) -> bool:
        """Whether the word is not empty."""
        return len(word) > 0

    def prompt(self, word: Word) -> Prompt:
        """The start token and the word.

        Raises:
            InputError: If the word is empty: the output at its last position is what follows.
        """
        letters = self.source.word(word)
        if not letters:
            raise InputError(
                f"{self.source.name!r} emits its output at the last position, and the empty word has none",
                hint="give a word of at least one symbol",
            )
        return Prompt((self.start, *letters))

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        """The sequences of the start token and symbols of the alphabet."""
        return Domain(frozenset({self.start}), frozenset(self.alphabet))

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """The symbols that the reference interpreter appends, one per step."""
        reading = StreamingEvaluator(self.source)
        new: Sequence[str] = self.prompt(word).tokens[1:]
        for _ in range(max_steps):
            token = self.token_of(reading.append(new))
            yield token
            if self.is_stop_token(token):
                return
            new = (token,)

    def expected_up_to(self, word: Word, emitted: Sequence[str]) -> Iterator[Sequence[str | None]]:
        """One run of the program on the whole output: it is causal, so that outputs do not depend on later symbols."""
        letters = self.prompt(word).tokens[1:]
        read = takewhile(lambda token: token in self.alphabet and not self.is_stop_token(token), emitted[:-1])
        yield [self.token_of(value) for value in run(self.source, (*letters, *read))[len(letters) - 1 :]]

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """The appended symbols; the verdict is None unless the stop symbol ends them."""
        stopped = bool(len(emitted)) and emitted[-1] == self.stop
        appended = tuple(emitted[:-1]) if len(emitted) and self.is_stop_token(emitted[-1]) else tuple(emitted)
        verdict = "halt" if stopped else None
        return Outcome(
            verdict=verdict, steps=len(appended), output=format_word(appended, appended), word=self.source.word(word)
        )


def needs_max_length(program: RaspProgram) -> bool:
    """Whether weights can be built for a maximal length: the output grows, or a function of two integers is used."""
    return OutputVocabulary(program).output_bound(1 << 16) > MAX_INTEGER_TOKEN or uses_unbounded_products(program)


def uses_unbounded_products(program: RaspProgram) -> bool:
    """Whether it uses a product, a quotient or a power of growing integers, which are only possible as tables."""
    for node in program.nodes.values():
        if isinstance(node, Apply) and node.operator in OPERATORS_BY_TABLE:
            grow = [isinstance(program.types[name], IntegerType) for name in node.operands]
            if all(grow) or (grow[0] and node.operator is Operator.POWER):
                return True
    return False


def make_causal(program: RaspProgram) -> RaspProgram:
    """The same program, with selectors that see only keys up to the query."""
    return program if program.causal else replace(program, causal=True)
