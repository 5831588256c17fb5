"""Every language of a uniform family of circuits, by one evaluator: Corollary 5.1 and Theorem 5.1.

Theorem 5.1 says that looped padded transformers recognise all of FO-uniform AC^d (constant precision, logarithmic
width) and of FO-uniform TC^d (logarithmic precision, constant width). Its proof reduces a language to circuit
evaluation, and evaluates; this is that proof, run.

**The reduction** (Lemmas C.1 and C.2) turns a word w of n letters into (w, ⟨C_n⟩), the tokens of Definition C.1. The
first n tokens are the word itself. The others depend on n alone and are printed by a machine with logarithmic space, so
that Definition A.5 lets them be position features: at every position, a flag for each token that stands there.
``softmachine reduce`` prints them. Padding is added until ⌈log₂ T⌉^d is at least the depth; that is what makes the
instance wide, and such a T is polynomial in n.

**The evaluator** (Corollary 5.1) is that of ``circuit-evaluator`` or ``threshold-evaluator``: its layers, and now the
number of its turns as well, depend on the length T only. Nothing in it knows the family: that is all in the tokens.

Needs: ⟨C_n⟩ and the evaluator's features at every position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from softmachine.ir import Program, Signal, recogniser
from softmachine.ir.gadgets.wiring import flag
from softmachine.ir.primitives import token
from softmachine.languages.circuit import Basis
from softmachine.languages.family import Family
from softmachine.theorems.circuit_evaluator import theorem as plain
from softmachine.theorems.circuit_evaluator.tokens import ONE
from softmachine.theorems.cost import Cost, Expression, ceil_log2, largest, let, parameter
from softmachine.theorems.shared.special_tokens import PAD
from softmachine.theorems.theorem import Guide, Needs, Theorem
from softmachine.theorems.threshold_evaluator import theorem as counting
from softmachine.theorems.uniform_circuits.tokens import FamilyCodec

TOKENS = ("0", "1", PAD)


def signals(codec: FamilyCodec, *, soft: bool) -> Program:
    """A transformer that says of words of n letters what every wire of C_n holds."""
    # Step 1. The reduction: what stands where.
    tokens = codec.instance("0" * codec.length)

    def reads(*names: str) -> Signal:
        if names == (ONE,):
            return token("is x=1", {"1": (1,), "0": (0,), PAD: (0,)})
        return flag(f"is {' or '.join(names)}", [int(item in names) for item in tokens])

    # Step 2. The evaluator.
    evaluated = plain.evaluated if codec.basis is Basis.AC else counting.evaluated
    value = evaluated(reads, codec.positions_needed, codec.turns, soft=soft)
    return recogniser(f"{codec.source.name}-{codec.length}", TOKENS, value, positions=codec.positions_needed)


_REDUCTION = Guide(
    "What stands here?",
    "Lemmas C.1 and C.2. The first tokens are the word; after it comes the circuit for words of this length, as "
    "Definition C.1 writes it, which position features say.",
    ("is…",),
)
_NUMBERS = Guide(
    "Which number ends here?",
    "Lemma B.7: every bit takes over the number so far from its predecessor, and adds itself.",
    ("predecessor", "reading numbers"),
)
_WIRES = Guide(
    "What does the wire hold?",
    "Lemma C.3: an argument fetches the bit of the wire that it is, and a gate looks at its arguments.",
    ("wire", "argument", "decides", "balance", "enough"),
)
_TURNS = Guide(
    "Once more",
    "Corollary 5.1: ⌈log₂ T⌉^d turns for T positions, whatever the circuit is.",
    ("layers of gates",),
)
GUIDE = (_REDUCTION, _NUMBERS, _WIRES, _TURNS)


def _cost(of: Callable[[Expression, Expression], Cost]) -> Cost:
    """The cost of an evaluator of T tokens, which turns ⌈log₂ T⌉^d times."""
    tokens = parameter("T", "positions (polynomial in n)", lambda codec: codec.positions_needed)
    address = let("p", largest(2, ceil_log2(tokens)))
    found = of(address, address ** parameter("d", "exponent of the family", lambda codec: codec.source.exponent))
    return replace(found, exact={"positions": tokens})


THEOREMS = (
    Theorem(
        "uniform-circuits",
        "Corollary 5.1, Theorem 5.1 (a): languages of uniform AC^d families, by reduction to circuit evaluation",
        "Revisiting Padded Transformer Expressivity, Theorem 5.1 (a), Corollary 5.1, Lemmas C.1 to C.3",
        Needs(
            "the tokens of ⟨C_n⟩, the position and those of four neighbours in ⌈log₂ T⌉ bits",
            scale="O(log T)",
            also="padding; any F_b from F_2 on",
        ),
        _cost(plain.cost),
        Family,
        ("hard", "soft"),
        codec=FamilyCodec,
        signals=lambda codec, attention: signals(codec, soft=attention == "soft"),
        steps=(
            "The reduction: after the word stand the tokens of the circuit for its length, as position features.",
            "The circuit evaluator reads them, and turns ⌈log₂ T⌉^d times; nothing in it depends on the family.",
        ),
        guide=GUIDE,
        length="how many letters words have",
        rank=2,
    ),
    Theorem(
        "uniform-thresholds",
        "Theorem 5.1 (b): languages of uniform TC^d families, by reduction to circuit evaluation, constant width",
        "Revisiting Padded Transformer Expressivity, Theorem 5.1 (b), Lemmas C.1 to C.3",
        Needs(
            "the tokens of ⟨C_n⟩, i, i² and the positions of five neighbours",
            scale="4⌈log₂ T⌉ + 8",
            also="padding; F_b from b = 2⌈log₂ T⌉ + 1 on",
        ),
        _cost(counting.cost),
        Family,
        ("hard", "soft"),
        codec=lambda family, length: FamilyCodec(family, length, Basis.TC),
        signals=lambda codec, attention: signals(codec, soft=attention == "soft"),
        steps=(
            "The reduction: after the word stand the tokens of the circuit for its length, as position features.",
            "The threshold evaluator reads them, and turns ⌈log₂ T⌉^d times; nothing in it depends on the family.",
        ),
        guide=GUIDE,
        length="how many letters words have",
        rank=1,
    ),
)
