"""MAJORITY by uniform attention: one head, one unit, any length.

Theorem. There is a transformer with one layer that decides whether a word over a and b has more a's than b's.

A head without scores averages over the positions 0 … i. With +1 for a, -1 for b and 0 for the start token, it computes
(A - B)/(i+1), where A and B are the numbers of a's and b's; and 1/(i+1) is the average of a bit that is 1 only at the
start token. A - B is an integer, so that A > B exactly if (A - B)/(i+1) is larger than half of 1/(i+1): one unit.

Needs: no position features; independent of the input length. Costs: 1 layer, 1 head, 1 unit, width 5.
"""

from __future__ import annotations

from fractions import Fraction

from softmachine.ir import Program, attend, recogniser, stack, step, token
from softmachine.languages.predicate import FormalLanguage
from softmachine.theorems import Theorem
from softmachine.theorems.shared.recogniser_codec import RecogniserCodec

LANGUAGE = FormalLanguage("majority", ("a", "b"), lambda word: word.count("a") > word.count("b"))


def signals(codec: RecogniserCodec) -> Program:
    """The proof."""
    # Step 1. The token: +1, -1, or the start.
    balance = token("balance", {codec.start: (0,), "a": (1,), "b": (-1,)})
    start = token("start", {codec.start: (1,), "a": (0,), "b": (0,)})

    # Step 2. Averages over the past: (A - B)/(i+1) and 1/(i+1).
    means = attend("mean", value=stack(balance, start))

    # Step 3. Their comparison: (A - B) - 1/2 is never 0.
    more = step("more a than b", means[0] - Fraction(1, 2) * means[1])
    return recogniser(LANGUAGE.name, codec.tokens, more)


MAJORITY = Theorem(
    name="majority",
    statement="more a's than b's, by uniform attention",
    reference="folklore; see Proposition 2.1 of Softmax Transformers are Turing-Complete",
    requirements="no position features; independent of the input length",
    cost="1 layer, 1 head, 1 unit, width 5",
    source=LANGUAGE,
    attentions=("hard",),
    codec=lambda language, _: RecogniserCodec(language),
    signals=lambda codec, _: signals(codec),
    steps=(
        "The token gives the balance: +1 for a, -1 for b, 0 for the start token.",
        "Uniform attention averages it over the past, and also a bit that is 1 at the start token.",
        "The mean of the balance exceeds half the mean of the bit exactly if there are more a's.",
    ),
    api=1,
)
