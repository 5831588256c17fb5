"""How words are put to a transformer for a RASP program, and how its answers are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import ClassVar

from softmachine.languages.rasp import Program
from softmachine.languages.rasp.core import UNDEFINED, Apply, Length, Operator, Undefined
from softmachine.languages.rasp.evaluate import run
from softmachine.languages.rasp.incremental import Reading
from softmachine.languages.rasp.value_types import Integer
from softmachine.languages.rasp.values import Result
from softmachine.languages.source import spelled
from softmachine.support.errors import ConstructionError, InputError, OutgrownError, StuckError
from softmachine.theorems.codec import DecoderCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.rasp.answers import LARGEST, Answers
from softmachine.theorems.shared.recogniser import StartedCodec
from softmachine.theorems.shared.special_tokens import START, unused

STUCK = "<stuck>"
LENGTH_SO_FAR = "the program is causal: length is the number of letters up to the position, not that of the word"
TABLES_ONLY = (Operator.MULTIPLY, Operator.DIVIDE, Operator.FLOOR_DIVIDE, Operator.MODULO, Operator.POWER)


@dataclass(frozen=True)
class RaspCodec(StartedCodec[Program]):
    """A start token, then the word; the answer at each position is the program's output there.

    Args:
        source: The program.
        length: The number of letters that the weights are made for, if they are made for one: all integers up to there
            have tokens, and functions of two of them are tables.
    """

    length: int | None = None
    speaks_of_empty_word: ClassVar[bool] = False

    @property
    def program(self) -> Program:
        """The program that is run."""
        return self.source

    @property
    def told_length(self) -> bool:
        return not self.program.causal

    @cached_property
    def answers(self) -> Answers:
        """What can be said."""
        return Answers(self.program, self.length)

    @property
    def notes(self) -> tuple[str, ...]:
        """That ``length`` is another one in a causal program."""
        reads = any(isinstance(node, Length) for node in self.program.nodes.values())
        return (LENGTH_SO_FAR,) if reads and self.program.causal else ()

    def prompt(self, word: Word) -> Prompt:
        """The start token and the word.

        Raises:
            OutgrownError: If it has more letters than the weights are made for.
        """
        prompt = super().prompt(word)
        count = len(prompt.tokens) - 1
        if self.length is not None and count > self.length:
            raise OutgrownError(
                f"an input of {count} letters is longer than the weights are made for: {self.length}", context=count
            )
        return prompt

    def fits(self, word: Word, length: int, max_steps: int) -> bool:
        """Whether the weights serve a word: all that it needs has tokens."""
        if self.length is not None:
            return super().fits(word, length, max_steps)
        reach = self.answers.reach(len(self.source.word(word)))
        return reach <= self.answers.largest and not opaque(self.program)

    def interface(self) -> Interface:
        """An output at every letter."""
        meaning = "At a letter it is the program's output there; at the start token it means nothing."
        return Interface(symbols=self.alphabet, meaning=meaning)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The output at every position, undefined if a loop does not end; nobody cares for the start token's."""
        yield None
        try:
            values: Sequence[Result] = run(self.program, word)
        except StuckError:
            values = [UNDEFINED] * len(self.source.word(word))
        yield from map(self.answers.of, values)

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """The values, one at each letter."""
        values = tuple(said[1:])
        return Outcome(verdict="halt", output=spelled(values, values), word=self.source.word(word), values=values)


@dataclass(frozen=True)
class CausalRaspCodec(RaspCodec):
    """The same for the causal program: what a program says if selectors see only keys up to the query."""

    @cached_property
    def program(self) -> Program:
        """The program, made causal."""
        return causal(self.source)


@dataclass(frozen=True)
class GeneratingRaspCodec(DecoderCodec[Program]):
    """A start token, then the word, then what the program appends to it, up to its stop symbol.

    Raises:
        ConstructionError: If the program has none.
    """

    def __post_init__(self) -> None:
        _ = self.stop

    @property
    def start(self) -> str:
        """The token of position 0."""
        return unused(START, self.alphabet)

    @property
    def stuck(self) -> str:
        """What is said where the output is undefined, or no letter."""
        return unused(STUCK, (*self.alphabet, self.stop))

    @property
    def stop(self) -> str:
        """The stop symbol.

        Raises:
            ConstructionError: If the program has none.
        """
        if self.source.stop is None or not self.source.causal:
            raise ConstructionError(
                f"{self.source.name!r} does not feed on its own output: it has no stop symbol",
                hint="write lines like: # causal, and # stop: $",
            )
        return self.source.stop

    @property
    def tokens(self) -> tuple[str, ...]:
        """What can be said: the letters, the stop symbol, and that the program is stuck."""
        return tuple(dict.fromkeys((*self.alphabet, self.stop, self.stuck)))

    def token_of(self, value: Result) -> str:
        """What an output is as a token."""
        symbol = None if isinstance(value, Undefined) else self.source.symbol_of(value)
        return self.stuck if symbol is None else symbol

    def stops(self, token: str) -> bool:
        """Whether it is the stop symbol, or nothing can follow."""
        return token in (self.stop, self.stuck)

    def words(self, length: int, start: int = 0) -> Iterable[tuple[str, ...]]:
        """Every word of a length but the empty one, which has no last position."""
        return super().words(length, start) if length else ()

    def word_count(self, length: int) -> int:
        """How many there are."""
        return super().word_count(length) if length else 0

    def has_word(self, word: Sequence[str]) -> bool:
        """Whether there is a last position."""
        return len(word) > 0

    def prompt(self, word: Word) -> Prompt:
        """The start token and the word.

        Raises:
            InputError: If the word is empty: the output at its last position is what follows.
        """
        letters = self.source.word(word)
        if not letters:
            raise InputError(
                f"{self.source.name!r} writes what its output is at the last position, and the empty word has none",
                hint="give it a word of at least one letter",
            )
        return Prompt((self.start, *letters))

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """What the interpreter appends, one symbol after the other."""
        reading = Reading(self.source)
        new: Sequence[str] = self.prompt(word).tokens[1:]
        for _ in range(max_steps):
            token = self.token_of(reading.read(new))
            yield token
            if self.stops(token):
                return
            new = (token,)

    def following(self, word: Word, said: Sequence[str]) -> Iterator[Sequence[str | None]]:
        """One run of the program on all that was said: it is causal, so what it says early does not depend on later."""
        letters = self.prompt(word).tokens[1:]
        read = takewhile(lambda token: token in self.alphabet and not self.stops(token), said[:-1])
        yield [self.token_of(value) for value in run(self.source, (*letters, *read))[len(letters) - 1 :]]

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """What was appended; nothing is decided unless the stop symbol ends it."""
        stopped = bool(len(said)) and said[-1] == self.stop
        thought = tuple(said[:-1]) if len(said) and self.stops(said[-1]) else tuple(said)
        verdict = "halt" if stopped else None
        return Outcome(
            verdict=verdict, steps=len(thought), output=spelled(thought, thought), word=self.source.word(word)
        )


def bounded(program: Program) -> bool:
    """Whether a length makes a difference: the output is an integer that grows, or a function of two is taken."""
    return Answers(program).reach(1 << 16) > LARGEST or opaque(program)


def opaque(program: Program) -> bool:
    """Whether it takes a product, a quotient or a power of integers that grow, for which there is only a table."""
    for node in program.nodes.values():
        if isinstance(node, Apply) and node.operator in TABLES_ONLY:
            grow = [isinstance(program.types[name], Integer) for name in node.operands]
            if all(grow) or (grow[0] and node.operator is Operator.POWER):
                return True
    return False


def causal(program: Program) -> Program:
    """The same program, with selectors that see only keys up to the query."""
    return program if program.causal else replace(program, causal=True)
