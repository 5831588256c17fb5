"""Turing machines by counting: as counter machines, as C-RASP with chain of thought, as softmax decoders.

Theorem 3.3 of "Softmax Transformers are Turing-Complete", for words in a₁* … aₘ*, which their symbol counts determine;
and Theorem 4.3 of that paper, for all words: they are first encoded as numbers, which are lengths that the relation R
reads. Attention is uniform except for that relation, and there are no position features. The cost is time: a step of
the Turing machine takes as many tokens as multiplying and dividing counters, and the numbers of the relative encoding
grow as 2^|w|.

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
    """Build the decoder of the C-RASP program that simulates the machine."""
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
