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

from collections.abc import Callable
from dataclasses import replace

from softmachine.ir import Program, Signal, recogniser
from softmachine.ir.gadgets.wiring import flag
from softmachine.ir.primitives import token
from softmachine.languages.circuit import Basis
from softmachine.languages.family import Family
from softmachine.theorems.circuit_evaluator.theorem import cost as boolean_cost
from softmachine.theorems.circuit_evaluator.theorem import evaluated as evaluate_boolean
from softmachine.theorems.circuit_evaluator.tokens import ONE
from softmachine.theorems.cost import Cost, Expression, ceil_log2, largest, let, parameter
from softmachine.theorems.shared.special_tokens import PAD
from softmachine.theorems.theorem import Guide, Needs, Theorem
from softmachine.theorems.threshold_evaluator.theorem import cost as threshold_cost
from softmachine.theorems.threshold_evaluator.theorem import evaluated as evaluate_threshold
from softmachine.theorems.uniform_circuits.tokens import FamilyCodec

TOKENS = ("0", "1", PAD)


def signals(codec: FamilyCodec, *, soft: bool) -> Program:
    """Build a transformer that outputs the value of every wire of C_n on words of length n."""
    # Step 1. The reduction: the tokens of the instance.
    tokens = codec.instance("0" * codec.length)

    def reads(*names: str) -> Signal:
        if names == (ONE,):
            return token("is x=1", {"1": (1,), "0": (0,), PAD: (0,)})
        return flag(f"is {' or '.join(names)}", [int(item in names) for item in tokens])

    # Step 2. The evaluator.
    evaluate = evaluate_boolean if codec.basis is Basis.AC else evaluate_threshold
    value = evaluate(reads, codec.positions_needed, codec.turns, soft=soft)
    return recogniser(f"{codec.source.name}-{codec.length}", TOKENS, value, positions=codec.positions_needed)


_REDUCTION = Guide(
    "What is at this position?",
    "Lemmas C.1 and C.2 of Svete et al. 2026. The first tokens are the word; position features encode the circuit for "
    "words of this length, serialised as in Definition C.1.",
    ("is…",),
)
_NUMBERS = Guide(
    "Which number ends here?",
    "Lemma B.7 of Svete et al. 2026: every bit copies the prefix from its predecessor, and appends itself.",
    ("predecessor", "reading numbers"),
)
_WIRES = Guide(
    "What does the wire hold?",
    "Lemma C.3 of Svete et al. 2026: an argument fetches the bit of its wire, and a gate attends to its arguments.",
    ("wire", "argument", "decides", "balance", "enough"),
)
_TURNS = Guide(
    "Iterate",
    "Corollary 5.1 of Svete et al. 2026: ⌈log₂ T⌉^d iterations for T positions, for every circuit.",
    ("layers of gates",),
)
GUIDE = (_REDUCTION, _NUMBERS, _WIRES, _TURNS)


def _cost(of: Callable[[Expression, Expression], Cost]) -> Cost:
    """Return the cost of an evaluator of T tokens with ⌈log₂ T⌉^d iterations."""
    tokens = parameter("T", "positions (polynomial in n)", lambda codec: codec.positions_needed)
    address = let("p", largest(2, ceil_log2(tokens)))
    found = of(address, address ** parameter("d", "exponent of the family", lambda codec: codec.source.exponent))
    return replace(found, exact={"positions": tokens})


THEOREMS = (
    Theorem(
        "uniform-circuits",
        "Languages of uniform AC^d circuit families, by reduction to circuit evaluation, constant precision",
        "Revisiting Padded Transformer Expressivity, Theorem 5.1 (a), Corollary 5.1, Lemmas C.1 to C.3",
        Needs(
            "the tokens of ⟨C_n⟩, the position and those of four neighbours in ⌈log₂ T⌉ bits",
            scale="O(log T)",
            also="padding; any F_b with b ≥ 2",
        ),
        _cost(boolean_cost),
        Family,
        ("hard", "soft"),
        codec=FamilyCodec,
        signals=lambda codec, attention: signals(codec, soft=attention == "soft"),
        steps=(
            "The reduction: the word is followed by the tokens of the circuit for its length, as position features.",
            "The circuit evaluator reads them in ⌈log₂ T⌉^d iterations; its layers do not depend on the family.",
        ),
        guide=GUIDE,
        length="the length of words",
        rank=2,
    ),
    Theorem(
        "uniform-circuits-threshold",
        "Languages of uniform TC^d circuit families, by reduction to circuit evaluation, constant width",
        "Revisiting Padded Transformer Expressivity, Theorem 5.1 (b), Lemmas C.1 to C.3",
        Needs(
            "the tokens of ⟨C_n⟩, i, i² and the positions of five neighbours",
            scale="4⌈log₂ T⌉ + 8",
            also="padding; F_b with b ≥ 2⌈log₂ T⌉ + 1",
        ),
        _cost(threshold_cost),
        Family,
        ("hard", "soft"),
        codec=lambda family, length: FamilyCodec(family, length, Basis.TC),
        signals=lambda codec, attention: signals(codec, soft=attention == "soft"),
        steps=(
            "The reduction: the word is followed by the tokens of the circuit for its length, as position features.",
            "The threshold evaluator reads them in ⌈log₂ T⌉^d iterations; its layers do not depend on the family.",
        ),
        guide=GUIDE,
        length="the length of words",
        rank=1,
    ),
)
