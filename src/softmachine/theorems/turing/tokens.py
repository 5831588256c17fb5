"""Codec of Turing machines by counting: the word, and the chain of thought of a counter machine."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.languages.crasp import ACCEPT, REJECT
from softmachine.languages.crasp import Program as CraspProgram
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
    """A start token, the word, and the chain of thought of a counter machine that simulates the Turing machine.

    Args:
        source: The Turing machine.
        relative: Whether all words are inputs, by the relative encoding; else only words with sorted symbols.
    """

    relative: bool = False

    @cached_property
    def program(self) -> CraspProgram:
        """The machine as C-RASP with chain of thought."""
        return turing_program(self.machine) if self.relative else bounded_program(self.machine)

    @cached_property
    def _thought(self) -> CraspCodec:
        return CraspCodec(self.program)

    def words(self, length: int, start: int = 0) -> Iterable[tuple[str, ...]]:
        """Return the words with sorted symbols, if only these are inputs."""
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
            InputError: If the symbols are not sorted, and only sorted words are inputs.
        """
        symbols = self.machine.word(word)
        if not self.has_word(symbols):
            raise InputError(
                f"the symbols of {self.machine.spell(symbols)!r} are not in the order {' '.join(self.alphabet)}",
                hint=Remedy(
                    "only sorted words are determined by their counts; for others: {}",
                    theorem="turing-counter-relative-bias",
                ),
            )
        return self._thought.prompt(symbols)

    def stops(self, token: str) -> bool:
        return self._thought.stops(token)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """Yield the chain of thought of the C-RASP interpreter, and the verdict of the Turing machine."""
        for count, token in enumerate(self._thought.expected(self.machine.word(word), max_steps)):
            yield self._verdict(word, count) if token in VERDICTS else token

    def _verdict(self, word: Word, tokens: int) -> str:
        """Return the verdict at the end of a chain of thought of ``tokens`` tokens.

        Every step that moves the head takes at least one token. Other steps take none; at most states × symbols of them
        follow one another, or the machine would not halt.
        """
        in_a_row = len(self.machine.states) * len(self.machine.symbols)
        verdict = execute(self.machine, word, max_steps=(tokens + 1) * (in_a_row + 1)).verdict
        return ACCEPT if verdict in (Verdict.ACCEPT, Verdict.HALT) else REJECT

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """Return the view of the C-RASP program: the tokens contain no tape."""
        return self._thought.scene(self.machine.word(word), shown)

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """Parse the verdict; the tape is not recorded. A machine without accepting states only halts."""
        outcome = self._thought.outcome(self.machine.word(word), said)
        halted = outcome.accepted and not self.machine.accept
        return Outcome(verdict="halt" if halted else outcome.verdict, steps=outcome.steps)
