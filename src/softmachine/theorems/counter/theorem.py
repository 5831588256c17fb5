"""Counter machines as C-RASP with chain of thought: Lemma 3.5 of "Softmax Transformers are Turing-Complete".

A run has one token per transition. The value of a counter is its initial value, the number of occurrences of its symbol
in the input, plus the updates of the transitions in the chain of thought: a sum of counts. The test of a transition is
therefore a comparison of counts, and the state is the target of the last transition. The C-RASP program has one rule
per transition, in order.

Needs and costs: those of C-RASP, see :mod:`softmachine.theorems.crasp`; the reduction is
:mod:`softmachine.languages.crasp.from_counter`.
"""

from __future__ import annotations

from softmachine.ir import Program as Signals
from softmachine.languages.counter import CounterMachine
from softmachine.theorems.counter.telling import GUIDE
from softmachine.theorems.counter.tokens import CounterCodec
from softmachine.theorems.crasp.averages import InRelation
from softmachine.theorems.crasp.cost import COST
from softmachine.theorems.crasp.telling import tell
from softmachine.theorems.crasp.theorem import POSITIONS, UNIFORM, of_program
from softmachine.theorems.crasp.truth import Sign
from softmachine.theorems.theorem import Needs, Theorem

_STATEMENT = "a counter machine as C-RASP with chain of thought, "
_REFERENCE = "Softmax Transformers are Turing-Complete, Lemma 3.5 and Proposition 2.1"


def signals(codec: CounterCodec, attention: str, sign: Sign) -> Signals:
    """The signals of the machine's C-RASP program."""
    return of_program(codec.program, sign, attention, codec.length)


def _theorem(name: str, sign: Sign, how: str, needs: Needs, rank: int, length: str = "") -> Theorem:
    return Theorem(
        name,
        f"{_STATEMENT}{how}",
        _REFERENCE,
        needs,
        COST,
        CounterMachine,
        ("soft", "hard"),
        codec=CounterCodec,
        signals=lambda codec, attention: signals(codec, attention, sign),
        steps=(
            "A counter is a sum of counts: of its symbol in the input, and of the transitions that update it.",
            "The test of a transition is a comparison of such sums; the state is the target of the last transition.",
            "Each transition is a rule of C-RASP with chain of thought, which the theorem crasp compiles.",
        ),
        guide=GUIDE,
        tells=tell,
        features=(InRelation,),
        length=length,
        rank=rank,
    )


THEOREMS = (
    _theorem("counter", Sign.HEAVISIDE, "by uniform attention and Heaviside units", UNIFORM, 1),
    _theorem("counter-relu", Sign.RELU, "with ReLU alone", UNIFORM.and_also("input symbols in any order"), 2),
    _theorem(
        "counter-relu-max-length",
        Sign.BOUNDED,
        "with ReLU alone, with a slope for a maximal length",
        UNIFORM,
        3,
        POSITIONS,
    ),
)
