"""Languages of uniform circuit families, by reduction to circuit evaluation: Corollary 5.1 and Theorem 5.1.

All numbers refer to "Revisiting Padded Transformer Expressivity" (Svete et al. 2026). By Theorem 5.1, looped padded
transformers recognise all of FO-uniform AC^d (constant precision, logarithmic width) and of FO-uniform TC^d
(logarithmic precision, constant width). The proof reduces a language to circuit evaluation; this module implements it.

**The reduction** (Lemmas C.1 and C.2) maps a word w of length n to (w, ⟨C_n⟩), the tokens of Definition C.1. The first
n tokens are the word itself. The others depend on n alone and are printed by a machine with logarithmic space, so that
by Definition A.5 they may be position features: at every position, a flag for each token. ``softmachine reduce`` prints
them. Padding is added until ⌈log₂ T⌉^d is at least the depth, which makes the instance wide; such a T is polynomial in
n.

**The evaluator** (Corollary 5.1) is that of ``circuit-evaluator`` or ``circuit-evaluator-threshold``: its layers
and the number of iterations only depend on the length T. The family only determines the tokens.

Needs: ⟨C_n⟩ and the evaluator's features at every position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from softmachine.ir import Program, Signal, recogniser
from softmachine.ir.gadgets.binary_addresses import position_flag
from softmachine.ir.primitives import token
from softmachine.languages.circuit import Basis, Circuit
from softmachine.languages.family import CircuitFamily
from softmachine.languages.run_view import RunView, TokenWindow
from softmachine.support.errors import ConstructionError
from softmachine.support.text import pluralize
from softmachine.theorems.circuits.circuit.codec import wire_values, wires_view
from softmachine.theorems.circuits.evaluator import (
    ARGUMENT_MARK,
    GATES,
    ONE,
    THRESHOLD,
    THRESHOLD_MARK,
    ZERO,
    fitting_length,
    pointer_width,
    serialise,
)
from softmachine.theorems.circuits.evaluator import cost as boolean_cost
from softmachine.theorems.circuits.evaluator import wire_values_after as evaluate_boolean
from softmachine.theorems.circuits.evaluator_threshold import cost as threshold_cost
from softmachine.theorems.circuits.evaluator_threshold import wire_values_after as evaluate_threshold
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.cost import Cost, Expression, ceil_log2, define, largest, parameter
from softmachine.theorems.shared.recogniser_codec import PAD_TOKEN, require_length
from softmachine.theorems.theorem import Requirements, Theorem, TourStep

GATE_NAMES = (*GATES, THRESHOLD)
SPACED_TOKENS = (*GATE_NAMES, ZERO, ONE, ARGUMENT_MARK, THRESHOLD_MARK)
"""Tokens that are preceded by a space."""
MAX_POSITIONS = 1 << 16
"""Maximal number of positions."""


@dataclass(frozen=True)
class FamilyCodec(AnsweringCodec[CircuitFamily]):
    """The word and padding; position features add (w, ⟨C_n⟩), the result of the reduction.

    Lemma C.1: ⟨C_n⟩ depends on n alone, and a machine with logarithmic space prints it. Lemma C.2: the sequence is
    padded so that its length T determines a sufficient number of iterations, ⌈log₂ T⌉^d, for every circuit of the
    family.
    """

    length: int = 0
    basis: Basis = Basis.AC

    def __post_init__(self) -> None:
        if self.basis is Basis.AC and self.source.has_threshold_gates:
            raise ConstructionError(
                f"family {self.source.name!r} has threshold gates, which need logarithmic precision",
                hint="use the theorem uniform-circuits-threshold",
            )
        if self.total_positions > MAX_POSITIONS:
            raise ConstructionError(
                f"the circuit of family {self.source.name!r} for {pluralize(self.length, 'input')} takes "
                f"{self.total_positions:,} positions; at most {MAX_POSITIONS:,} are allowed",
                hint="give a shorter word",
            )

    @cached_property
    def circuit(self) -> Circuit:
        """C_n."""
        return self.source.circuit(self.length)

    @cached_property
    def total_positions(self) -> int:
        """T: the smallest length that fits (w, ⟨C_n⟩) and gives as many iterations as C_n is deep (Lemma C.2).

        If the family declares a bound of the depth, the bound is used: a logspace machine cannot compute longest paths.
        """
        length = fitting_length(self.circuit, self.length, self.basis)
        while pointer_width(length) ** self.source.exponent < self.source.depth(self.length):
            length = fitting_length(self.circuit, (1 << pointer_width(length)) + 1, self.basis)
        return length

    @property
    def iterations(self) -> int:
        """⌈log₂ T⌉^d."""
        return int(pointer_width(self.total_positions) ** self.source.exponent)

    @property
    def input_length(self) -> int:
        return self.length

    @cached_property
    def wire_positions(self) -> dict[str, int]:
        """The position of each wire."""
        return self._serialise("0" * self.length)[1]

    def evaluator_input(self, word: Word) -> list[str]:
        """Return (w, ⟨C_n⟩) and padding: the result of the reduction, and the input of the evaluator."""
        tokens, _ = self._serialise(self.source.word(word))
        return [*tokens, *[PAD_TOKEN] * (self.total_positions - len(tokens))]

    def apply_reduction(self, word: Word) -> str:
        """Return the instance as text, without padding: a line for the inputs and one for each gate."""
        self.prompt(word)
        text = "".join(
            f" {token}" if token in SPACED_TOKENS else token for token in self._serialise(self.source.word(word))[0]
        )
        return re.sub(rf" ({'|'.join(GATE_NAMES)})", r"\n\1", text).strip() + "\n"

    def _serialise(self, word: Sequence[str]) -> tuple[list[str], dict[str, int]]:
        bits = pointer_width(self.total_positions)
        return serialise(self.circuit, word, bits, basis=self.basis, order=True)

    def prompt(self, word: Word) -> Prompt:
        """The word and padding.

        Raises:
            ContextTooShortError: If the word does not have the length that the weights are for.
        """
        symbols = require_length(self.source.word(word), self.length)
        return Prompt((*symbols, *[PAD_TOKEN] * (self.total_positions - self.length)), self.length)

    @property
    def answer_position(self) -> int:
        """The position of the output."""
        return self.wire_positions[self.circuit.outputs[0]]

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
        at = {position: wire for wire, position in self.wire_positions.items()}
        for position in range(self.total_positions):
            yield held[at[position]] if position in at else None

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """Return the circuit with the values of its wires."""
        lines = tuple(map(str, self.circuit.sorted_gates))
        return wires_view(
            self.circuit, self.source.word(word), self.wire_positions, lines, self.answer_position, window
        )

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """Accepted if the output is 1."""
        accepted = emitted[self.answer_position] == "true"
        return Outcome(verdict="accept" if accepted else "reject", word=self.source.word(word))


TOKENS = ("0", "1", PAD_TOKEN)


def signals(codec: FamilyCodec, *, soft: bool) -> Program:
    """Build a transformer that outputs the value of every wire of C_n on words of length n."""
    # Step 1. The reduction: the tokens of the instance.
    tokens = codec.evaluator_input("0" * codec.length)

    def reads(*names: str) -> Signal:
        if names == (ONE,):
            return token("is x=1", {"1": (1,), "0": (0,), PAD_TOKEN: (0,)})
        return position_flag(f"is {' or '.join(names)}", [int(item in names) for item in tokens])

    # Step 2. The evaluator.
    evaluate = evaluate_boolean if codec.basis is Basis.AC else evaluate_threshold
    value = evaluate(reads, codec.total_positions, codec.iterations, soft=soft)
    return recogniser(f"{codec.source.name}-{codec.length}", TOKENS, value, positions=codec.total_positions)


_REDUCTION_STEP = TourStep(
    "What is at this position?",
    "Lemmas C.1 and C.2 of Svete et al. 2026. The first tokens are the word; position features encode the circuit for "
    "words of this length, serialised as in Definition C.1.",
    ("is…",),
)
_NUMBERS_STEP = TourStep(
    "Which number ends here?",
    "Lemma B.7 of Svete et al. 2026: every bit copies the prefix from its predecessor, and appends itself.",
    ("predecessor", "reading numbers"),
)
_WIRES_STEP = TourStep(
    "What does the wire hold?",
    "Lemma C.3 of Svete et al. 2026: an argument fetches the bit of its wire, and a gate attends to its arguments.",
    ("wire", "argument", "decides", "balance", "enough"),
)
_ITERATION_STEP = TourStep(
    "Iterate",
    "Corollary 5.1 of Svete et al. 2026: ⌈log₂ T⌉^d iterations for T positions, for every circuit.",
    ("layers of gates",),
)
TOUR = (_REDUCTION_STEP, _NUMBERS_STEP, _WIRES_STEP, _ITERATION_STEP)


def _evaluator_cost(cost: Callable[[Expression, Expression], Cost]) -> Cost:
    """Return the cost of an evaluator of T tokens with ⌈log₂ T⌉^d iterations."""
    tokens = parameter("T", "positions (polynomial in n)", lambda codec: codec.total_positions)
    address = define("p", largest(2, ceil_log2(tokens)))
    found = cost(address, address ** parameter("d", "exponent of the family", lambda codec: codec.source.exponent))
    return replace(found, exact={"positions": tokens})


THEOREMS = (
    Theorem(
        "uniform-circuits",
        "Languages of uniform AC^d circuit families, by reduction to circuit evaluation, constant precision",
        "Revisiting Padded Transformer Expressivity, Theorem 5.1 (a), Corollary 5.1, Lemmas C.1 to C.3",
        Requirements(
            "the tokens of ⟨C_n⟩, the position and those of four neighbours in ⌈log₂ T⌉ bits",
            scale="O(log T)",
            remark="padding; any F_b with b ≥ 2",
        ),
        _evaluator_cost(boolean_cost),
        CircuitFamily,
        ("hard", "soft"),
        codec=FamilyCodec,
        signals=lambda codec, attention: signals(codec, soft=attention == "soft"),
        steps=(
            "The reduction: the word is followed by the tokens of the circuit for its length, as position features.",
            "The circuit evaluator reads them in ⌈log₂ T⌉^d iterations; its layers do not depend on the family.",
        ),
        tour=TOUR,
        length="the length of words",
        rank=2,
    ),
    Theorem(
        "uniform-circuits-threshold",
        "Languages of uniform TC^d circuit families, by reduction to circuit evaluation, constant width",
        "Revisiting Padded Transformer Expressivity, Theorem 5.1 (b), Lemmas C.1 to C.3",
        Requirements(
            "the tokens of ⟨C_n⟩, i, i² and the positions of five neighbours",
            scale="4⌈log₂ T⌉ + 8",
            remark="padding; F_b with b ≥ 2⌈log₂ T⌉ + 1",
        ),
        _evaluator_cost(threshold_cost),
        CircuitFamily,
        ("hard", "soft"),
        codec=lambda family, length: FamilyCodec(family, length, Basis.TC),
        signals=lambda codec, attention: signals(codec, soft=attention == "soft"),
        steps=(
            "The reduction: the word is followed by the tokens of the circuit for its length, as position features.",
            "The threshold evaluator reads them in ⌈log₂ T⌉^d iterations; its layers do not depend on the family.",
        ),
        tour=TOUR,
        length="the length of words",
        rank=1,
    ),
)
