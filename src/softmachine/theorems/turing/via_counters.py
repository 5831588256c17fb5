"""Turing machines by counting: as counter machines, as C-RASP with chain of thought, as softmax decoders.

Theorem 3.3 of "Softmax Transformers are Turing-Complete", for words in a₁* … aₘ*, which their symbol counts determine;
and Theorem 4.3 of that paper, for all words: they are first encoded as numbers, which are lengths that the relation R
reads. Attention is uniform except for that relation, and there are no position features. The cost is time: a step of
the Turing machine takes as many tokens as multiplying and dividing counters, and the numbers of the relative encoding
grow as 2^|w|.

Needs and costs: see :mod:`softmachine.theorems.counting.crasp`; the reductions are in
:mod:`softmachine.languages.crasp.from_turing_relative`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from softmachine.ir import Program
from softmachine.ir.domain import Domain
from softmachine.languages.crasp import ACCEPT, REJECT, CraspProgram
from softmachine.languages.crasp.from_turing_relative import build_bounded_program, build_turing_program
from softmachine.languages.crasp.streaming_interpreter import VERDICTS
from softmachine.languages.run_view import RunView, TokenWindow
from softmachine.languages.turing import TuringMachine, Verdict, execute
from softmachine.languages.words import count_ordered_words, ordered_words_from
from softmachine.support.errors import FixHint, InputError
from softmachine.theorems.codec import DecoderCodec, Outcome, Prompt, Word
from softmachine.theorems.counting.crasp.boolean import SignUnits
from softmachine.theorems.counting.crasp.codec import CraspCodec
from softmachine.theorems.counting.crasp.counts import InRelation
from softmachine.theorems.counting.crasp.theorem import COST, UNIFORM_REQUIREMENTS, build_signals
from softmachine.theorems.shared.turing_codec import MachineCodecMixin
from softmachine.theorems.theorem import Theorem


@dataclass(frozen=True)
class CountingCodec(MachineCodecMixin, DecoderCodec[TuringMachine]):
    """A start token, the word, and the chain of thought of a counter machine that simulates the Turing machine.

    Args:
        source: The Turing machine.
        relative: Whether all words are inputs, by the relative encoding; else only words with sorted symbols.
    """

    relative: bool = False

    @cached_property
    def program(self) -> CraspProgram:
        """The machine as C-RASP with chain of thought."""
        return build_turing_program(self.machine) if self.relative else build_bounded_program(self.machine)

    @cached_property
    def _chain_of_thought(self) -> CraspCodec:
        return CraspCodec(self.program)

    def words(self, length: int, start: int = 0) -> Iterable[tuple[str, ...]]:
        """Return the words with sorted symbols, if only these are inputs."""
        return super().words(length, start) if self.relative else ordered_words_from(self.alphabet, length, start)

    def word_count(self, length: int) -> int:
        if self.relative:
            return super().word_count(length)
        return count_ordered_words(len(self.alphabet), length)

    def random_word(self, rng: random.Random, length: int) -> tuple[str, ...]:
        word = super().random_word(rng, length)
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
                f"the symbols of {self.machine.format_symbols(symbols)!r} are not in the order "
                f"{' '.join(self.alphabet)}",
                hint=FixHint(
                    "only sorted words are determined by their counts; for others: {}",
                    theorem="turing-counter-relative-bias",
                ),
            )
        return self._chain_of_thought.prompt(symbols)

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        return self._chain_of_thought.domain(vocabulary)

    def is_stop_token(self, token: str) -> bool:
        return self._chain_of_thought.is_stop_token(token)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """Yield the chain of thought of the C-RASP interpreter, and the verdict of the Turing machine."""
        for count, token in enumerate(self._chain_of_thought.expected(self.machine.word(word), max_steps)):
            yield self._final_verdict(word, count) if token in VERDICTS else token

    def _final_verdict(self, word: Word, tokens: int) -> str:
        """Return the verdict at the end of a chain of thought of ``tokens`` tokens.

        Every step that moves the head takes at least one token. Other steps take none; at most states × symbols of them
        follow one another, or the machine would not halt.
        """
        in_a_row = len(self.machine.states) * len(self.machine.symbols)
        verdict = execute(self.machine, word, max_steps=(tokens + 1) * (in_a_row + 1)).verdict
        return ACCEPT if verdict in (Verdict.ACCEPT, Verdict.HALT) else REJECT

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """Return the view of the C-RASP program: the tokens contain no tape."""
        return self._chain_of_thought.run_view(self.machine.word(word), window)

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """Parse the verdict; the tape is not recorded. A machine without accepting states only halts."""
        outcome = self._chain_of_thought.parse_output(self.machine.word(word), emitted)
        halted = outcome.is_accepted and not self.machine.accept
        return Outcome(verdict="halt" if halted else outcome.verdict, steps=outcome.steps)


def signals(codec: CountingCodec, attention: str) -> Program:
    """Build the decoder of the C-RASP program that simulates the machine."""
    return build_signals(codec.program, SignUnits.HEAVISIDE, attention, None)


_theorem = partial(
    Theorem,
    requirements=UNIFORM_REQUIREMENTS,
    cost=COST,
    source=TuringMachine,
    attentions=("soft", "hard"),
    signals=signals,
    features=(InRelation,),
)

THEOREMS = (
    _theorem(
        "turing-counter",
        "Turing machines on sorted words, as counter machines in C-RASP with chain of thought",
        "Softmax Transformers are Turing-Complete, Theorem 3.3",
        codec=lambda machine, _: CountingCodec(machine),
        steps=(
            "The halves of the tape to the left and to the right of the head are numbers, stored in counters.",
            "A step of the machine multiplies one of them and divides the other: loops of a counter machine.",
            "The symbols of the input are sorted, so that their counts determine it.",
            "It becomes C-RASP (Lemma 3.5 of “Softmax Transformers are Turing-Complete”), and that becomes a decoder.",
        ),
        rank=8,
    ),
    _theorem(
        "turing-counter-relative-bias",
        "Turing machines on all words, encoded as numbers of size 2^|w|, as counter machines in C-RASP",
        "Softmax Transformers are Turing-Complete, Theorem 4.3",
        codec=lambda machine, _: CountingCodec(machine, relative=True),
        steps=(
            "The relation R lets a position count the positions whose distance encodes a bit of the word.",
            "So a first chain of thought encodes the word as a number, in unary.",
            "The rest is the theorem for sorted words.",
        ),
        rank=9,
    ),
)
