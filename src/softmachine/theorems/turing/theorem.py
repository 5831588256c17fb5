"""Turing machines by counting alone: as counter machines, as C-RASP with chain of thought, as softmax decoders.

Theorem 3.3 of "Softmax Transformers are Turing-Complete", for words a₁* … aₘ*, whose letters can be counted; and
Theorem 4.3, for all words: they are first written as numbers, which are lengths that the relation R reads. Attention is
uniform but for that relation, and there are no position features. The price is time: a step of the Turing machine
takes as many tokens as counters take to be multiplied and divided, and the numbers of the relative encoding grow as
2^|w|.

Needs and costs: see :mod:`.crasp`; the reductions are in :mod:`softmachine.languages.crasp.from_turing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from softmachine.codec import Outcome, Prompt
from softmachine.errors import InputError
from softmachine.languages.crasp import Program
from softmachine.languages.crasp.from_turing import bounded_program, turing_program
from softmachine.languages.turing import TuringMachine
from softmachine.languages.turing.json_form import machine_from_json, machine_to_json
from softmachine.theorems.crasp.tokens import CraspCodec, variant_from_json, variant_to_json
from softmachine.theorems.crasp.variant import Variant
from softmachine.theorems.shared.turing_tokens import OfMachine


@dataclass(frozen=True)
class CountingCodec(OfMachine):
    """A start token, the word, and the chain of thought of a counter machine that does what the Turing machine does.

    Args:
        machine: The Turing machine.
        variant: How signs are taken.
        relative: Whether every word is an input, by the relative encoding; else those with their letters in order.
    """

    machine: TuringMachine
    variant: Variant
    relative: bool
    kind: str = "turing"

    @cached_property
    def program(self) -> Program:
        """The machine as C-RASP with chain of thought."""
        return turing_program(self.machine) if self.relative else bounded_program(self.machine)

    @cached_property
    def _thought(self) -> CraspCodec:
        return CraspCodec(self.program, self.variant)

    def prompt(self, word: str | Iterable[str]) -> Prompt:
        """The start token and the word.

        Raises:
            InputError: If letters are not in order, and only such words can be counted.
        """
        symbols = self.machine.word(word)
        if not self.relative and list(symbols) != sorted(symbols, key=self.alphabet.index):
            raise InputError(
                f"the letters of {self.machine.spell(symbols)!r} are not in the order {' '.join(self.alphabet)}",
                hint="only such words can be told by their counts; for others: --construction turing-relative",
            )
        return self._thought.prompt(symbols)

    def stops(self, token: str) -> bool:
        """Whether the token is a verdict."""
        return self._thought.stops(token)

    def token_limit(self, max_steps: int) -> int:
        """Steps are those of the counter machine, one token each."""
        return max_steps

    def expected(self, word: str | Iterable[str], max_steps: int) -> Iterator[str]:
        """The chain of thought, as the evaluator of C-RASP has it."""
        return self._thought.expected(self.machine.word(word), max_steps)

    def read(self, word: str | Iterable[str], tokens: Sequence[str]) -> Outcome:
        """The verdict; nothing else is left of the tape. A machine that knows no acceptance has just halted."""
        outcome = self._thought.read(self.machine.word(word), tokens)
        halted = outcome.accepted and not self.machine.accept
        return Outcome(verdict="halt" if halted else outcome.verdict, steps=outcome.steps, output="")

    def to_json(self) -> dict[str, object]:
        """The machine and the variant."""
        what = {"machine": machine_to_json(self.machine), "relative": self.relative}
        return {"kind": self.kind, "codec": "counting", **what, **variant_to_json(self.variant)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> CountingCodec:
        """The codec that :meth:`to_json` described."""
        return CountingCodec(machine_from_json(data["machine"]), variant_from_json(data), bool(data["relative"]))
