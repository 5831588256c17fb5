"""Codec of uniform circuit families: the reduction to circuit evaluation (Lemmas C.1, C.2 of Svete et al. 2026)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.languages.circuit import Basis, Circuit
from softmachine.languages.family import Family
from softmachine.languages.scene import Scene, Stretch
from softmachine.support.errors import ConstructionError
from softmachine.support.text import many
from softmachine.theorems.circuit.tokens import wire_values, wires_scene
from softmachine.theorems.circuit_evaluator.tokens import (
    ARGUMENT,
    AT_LEAST,
    GATES,
    ONE,
    THRESHOLD,
    ZERO,
    fitting_length,
    pointer_width,
    serialised,
)
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.shared.one_length import of_length
from softmachine.theorems.shared.special_tokens import PAD

GATE_NAMES = (*GATES, THRESHOLD)
MARKS = (*GATE_NAMES, ZERO, ONE, ARGUMENT, AT_LEAST)
"""Tokens that are preceded by a space."""
MOST_POSITIONS = 1 << 16
"""Maximal number of positions."""


@dataclass(frozen=True)
class FamilyCodec(AnsweringCodec[Family]):
    """The word and padding; position features add (w, ⟨C_n⟩), the result of the reduction.

    Lemma C.1: ⟨C_n⟩ depends on n alone, and a machine with logarithmic space prints it. Lemma C.2: the sequence is
    padded so that its length T determines a sufficient number of iterations, ⌈log₂ T⌉^d, for every circuit of the
    family.
    """

    length: int = 0
    basis: Basis = Basis.AC

    def __post_init__(self) -> None:
        if self.basis is Basis.AC and self.source.counts:
            raise ConstructionError(
                f"family {self.source.name!r} has threshold gates, which need logarithmic precision",
                hint="use the theorem uniform-circuits-threshold",
            )
        if self.positions_needed > MOST_POSITIONS:
            raise ConstructionError(
                f"the circuit of family {self.source.name!r} for {many(self.length, 'input')} takes "
                f"{self.positions_needed:,} positions; at most {MOST_POSITIONS:,} are allowed",
                hint="give a shorter word",
            )

    @cached_property
    def circuit(self) -> Circuit:
        """C_n."""
        return self.source.circuit(self.length)

    @cached_property
    def positions_needed(self) -> int:
        """T: the smallest length that fits (w, ⟨C_n⟩) and gives as many iterations as C_n is deep (Lemma C.2).

        If the family declares a bound of the depth, the bound is used: a logspace machine cannot compute longest paths.
        """
        length = fitting_length(self.circuit, self.length, self.basis)
        while pointer_width(length) ** self.source.exponent < self.source.depth(self.length):
            length = fitting_length(self.circuit, (1 << pointer_width(length)) + 1, self.basis)
        return length

    @property
    def turns(self) -> int:
        """⌈log₂ T⌉^d."""
        return int(pointer_width(self.positions_needed) ** self.source.exponent)

    @property
    def input_length(self) -> int:
        return self.length

    @cached_property
    def position(self) -> dict[str, int]:
        """The position of each wire."""
        return self._serialised("0" * self.length)[1]

    def instance(self, word: Word) -> list[str]:
        """Return (w, ⟨C_n⟩) and padding: the result of the reduction, and the input of the evaluator."""
        tokens, _ = self._serialised(self.source.word(word))
        return [*tokens, *[PAD] * (self.positions_needed - len(tokens))]

    def reduced(self, word: Word) -> str:
        """Return the instance as text, without padding: a line for the inputs and one for each gate."""
        self.prompt(word)
        text = "".join(
            f" {token}" if token in MARKS else token for token in self._serialised(self.source.word(word))[0]
        )
        return re.sub(rf" ({'|'.join(GATE_NAMES)})", r"\n\1", text).strip() + "\n"

    def _serialised(self, word: Sequence[str]) -> tuple[list[str], dict[str, int]]:
        bits = pointer_width(self.positions_needed)
        return serialised(self.circuit, word, bits, basis=self.basis, listed=True)

    def prompt(self, word: Word) -> Prompt:
        """The word and padding.

        Raises:
            OutgrownError: If the word does not have the length that the weights are for.
        """
        symbols = of_length(self.source.word(word), self.length)
        return Prompt((*symbols, *[PAD] * (self.positions_needed - self.length)), self.length)

    @property
    def answer_position(self) -> int:
        """The position of the output."""
        return self.position[self.circuit.outputs[0]]

    def interface(self) -> Interface:
        """Describe the inputs and the output: a bit per symbol."""
        return Interface(
            symbols=self.alphabet,
            meaning="At a wire it is whether the value of the wire is 1; elsewhere it is undefined.",
            inputs=self.circuit.inputs,
            outputs=((self.circuit.outputs[0], self.answer_position),),
            verdict=self.answer_position,
        )

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """Yield the value of every wire; None at other positions."""
        held = wire_values(self.circuit, self.source.word(word))
        at = {position: wire for wire, position in self.position.items()}
        for position in range(self.positions_needed):
            yield held[at[position]] if position in at else None

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """Return the circuit with the values of its wires."""
        lines = tuple(map(str, self.circuit.ordered))
        return wires_scene(self.circuit, self.source.word(word), self.position, lines, self.answer_position, shown)

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """Accepted if the output is 1."""
        accepted = said[self.answer_position] == "true"
        return Outcome(verdict="accept" if accepted else "reject", word=self.source.word(word))
