"""The tokens of Turing machines by counting: the word, and the chain of thought of a counter machine."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.languages.crasp import ACCEPT, REJECT, Program
from softmachine.languages.crasp.from_turing import bounded_program, turing_program
from softmachine.languages.crasp.incremental import VERDICTS
from softmachine.languages.scene import Scene, Stretch
from softmachine.languages.turing import TuringMachine, Verdict, execute
from softmachine.languages.words import count_ordered_words, ordered_words_from
from softmachine.support.errors import InputError, Remedy
from softmachine.theorems.codec import DecoderCodec, Outcome, Prompt, Word
from softmachine.theorems.crasp.tokens import CraspCodec
from softmachine.theorems.shared.turing_tokens import OfMachine


@dataclass(frozen=True)
class CountingCodec(OfMachine, DecoderCodec[TuringMachine]):
    """A start token, the word, and the chain of thought of a counter machine that does what the Turing machine does.

    Args:
        source: The Turing machine.
        relative: Whether every word is an input, by the relative encoding; else those with their letters in order.
    """

    relative: bool = False

    @cached_property
    def program(self) -> Program:
        """The machine as C-RASP with chain of thought."""
        return turing_program(self.machine) if self.relative else bounded_program(self.machine)

    @cached_property
    def _thought(self) -> CraspCodec:
        return CraspCodec(self.program)

    def words(self, length: int, start: int = 0) -> Iterable[tuple[str, ...]]:
        """Those with their letters in order, if no others can be told."""
        return super().words(length, start) if self.relative else ordered_words_from(self.alphabet, length, start)

    def word_count(self, length: int) -> int:
        if self.relative:
            return super().word_count(length)
        return count_ordered_words(len(self.alphabet), length)

    def random_word(self, chooser: random.Random, length: int) -> tuple[str, ...]:
        word = super().random_word(chooser, length)
        return word if self.relative else tuple(sorted(word, key=self.alphabet.index))

    def has_word(self, word: Sequence[str]) -> bool:
        return self.relative or list(word) == sorted(word, key=self.alphabet.index)

    def prompt(self, word: Word) -> Prompt:
        """The start token and the word.

        Raises:
            InputError: If letters are not in order, and only such words can be counted.
        """
        symbols = self.machine.word(word)
        if not self.has_word(symbols):
            raise InputError(
                f"the letters of {self.machine.spell(symbols)!r} are not in the order {' '.join(self.alphabet)}",
                hint=Remedy("only such words can be told by their counts; for others: {}", theorem="turing-relative"),
            )
        return self._thought.prompt(symbols)

    def stops(self, token: str) -> bool:
        return self._thought.stops(token)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """The chain of thought, as the evaluator of C-RASP has it; and the verdict that the Turing machine comes to."""
        for count, token in enumerate(self._thought.expected(self.machine.word(word), max_steps)):
            yield self._verdict(word, count) if token in VERDICTS else token

    def _verdict(self, word: Word, tokens: int) -> str:
        """What a chain of thought of so many tokens ends with.

        It has a token or more for every step that moves the head. Others cost nothing; there are at most as many in a
        row as there are states and symbols, or they would never end.
        """
        in_a_row = len(self.machine.states) * len(self.machine.symbols)
        verdict = execute(self.machine, word, max_steps=(tokens + 1) * (in_a_row + 1)).verdict
        return ACCEPT if verdict in (Verdict.ACCEPT, Verdict.HALT) else REJECT

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """That of the C-RASP program: nothing of a tape is among the tokens."""
        return self._thought.scene(self.machine.word(word), shown)

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """The verdict; nothing else is left of the tape. A machine that knows no acceptance has just halted."""
        outcome = self._thought.outcome(self.machine.word(word), said)
        halted = outcome.accepted and not self.machine.accept
        return Outcome(verdict="halt" if halted else outcome.verdict, steps=outcome.steps)
