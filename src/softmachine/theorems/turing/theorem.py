"""Turing machines by counting alone: as counter machines, as C-RASP with chain of thought, as softmax decoders.

Theorem 3.3 of "Softmax Transformers are Turing-Complete", for words a₁* … aₘ*, whose letters can be counted; and
Theorem 4.3, for all words: they are first written as numbers, which are lengths that the relation R reads. Attention is
uniform but for that relation, and there are no position features. The price is time: a step of the Turing machine
takes as many tokens as counters take to be multiplied and divided, and the numbers of the relative encoding grow as
2^|w|.

Needs and costs: see :mod:`softmachine.theorems.crasp`; the reductions are in
:mod:`softmachine.languages.crasp.from_turing`.
"""

from __future__ import annotations

from functools import partial

from softmachine.ir import Program
from softmachine.languages.turing import TuringMachine
from softmachine.theorems.crasp.averages import InRelation
from softmachine.theorems.crasp.cost import COST
from softmachine.theorems.crasp.theorem import UNIFORM, of_program
from softmachine.theorems.crasp.truth import Sign
from softmachine.theorems.theorem import Theorem
from softmachine.theorems.turing.tokens import CountingCodec


def signals(codec: CountingCodec, attention: str) -> Program:
    """The signals of the C-RASP program that does what the machine does."""
    return of_program(codec.program, Sign.HEAVISIDE, attention, None)


_theorem = partial(
    Theorem,
    needs=UNIFORM,
    cost=COST,
    source=TuringMachine,
    attentions=("soft", "hard"),
    signals=signals,
    features=(InRelation,),
)

THEOREMS = (
    _theorem(
        "turing-counter",
        "Theorem 3.3: a Turing machine as a counter machine, as C-RASP with chain of thought; letters in order",
        "Softmax Transformers are Turing-Complete, Theorem 3.3",
        codec=lambda machine, _: CountingCodec(machine),
        steps=(
            "The halves of the tape to the left and to the right of the head are numbers, held in counters.",
            "A step of the machine multiplies one of them and divides the other: loops of a counter machine.",
            "The input has its letters in order, so that its counts tell it.",
            "The counter machine is C-RASP with chain of thought (Lemma 3.5), and that a decoder (Proposition 2.1).",
        ),
        rank=8,
    ),
    _theorem(
        "turing-relative",
        "Theorem 4.3: the same for every word, which the relative encoding writes as numbers; for very short words",
        "Softmax Transformers are Turing-Complete, Theorem 4.3",
        codec=lambda machine, _: CountingCodec(machine, relative=True),
        steps=(
            "The relation R lets a position count those positions whose distance spells a bit of the word.",
            "So the word is written as a number, in unary, by a chain of thought of its own.",
            "From there on it is Theorem 3.3.",
        ),
        rank=9,
    ),
)
