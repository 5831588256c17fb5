"""Words whose first and last letter are equal: a lookup, rounding and a comparison, for any length.

Theorem. There is a transformer with one head that decides whether the first and the last letter of a word over a and b
are equal. Softmax attention of scale O(1) does the same.

The head looks up position 1: the score 2j - j² has its maximum at j = 1, and the key k positions away is k² below. So
softmax retrieves the bit "the letter is a" with a small error, whatever the length is. Two hidden units round it: its
value is again 0 or 1 (Lemma 9 of "Simulating Hard Attention Using Soft Attention"). Two bits are equal if each is at
least the other: two steps and a conjunction.

Needs: the positions i and i². Costs: 3 layers, 1 head, 5 units, width 8.
"""

from __future__ import annotations

from softmachine.ir import Program, constant, recogniser, step, token
from softmachine.ir.gadgets import all_of, lookup, round_unit_bit
from softmachine.languages.predicate import FormalLanguage
from softmachine.theorems import Theorem
from softmachine.theorems.shared.recogniser_codec import RecogniserCodec

LANGUAGE = FormalLanguage("same-ends", ("a", "b"), lambda word: word[:1] == word[-1:])


def signals(codec: RecogniserCodec) -> Program:
    """The proof."""
    # Step 1. The token: is it a?
    is_a = token("is a", {codec.start: (0,), "a": (1,), "b": (0,)})

    # Step 2. Lookup: the bit at position 1; at position 0, where that is not visible, its own.
    first = lookup("first letter", constant(1), is_a)

    # Step 3. Rounding: softmax retrieves the bit with an error, and a step must not read one.
    first = round_unit_bit("first is a", first)

    # Step 4. Comparison: two bits are equal if each is at least the other.
    at_least, at_most = step("first ≥ last", first - is_a), step("last ≥ first", is_a - first)
    return recogniser(LANGUAGE.name, codec.tokens, all_of("equal", at_least, at_most))


SAME_ENDS = Theorem(
    name="same-ends",
    statement="first and last letter are equal, by a lookup, rounding and a comparison",
    reference="folklore; rounding is Lemma 9 of Simulating Hard Attention Using Soft Attention",
    requirements="the positions i and i²; independent of the input length; scale O(1)",
    cost="3 layers, 1 head, 5 units, width 8",
    source=LANGUAGE,
    attentions=("hard",),
    codec=lambda language, _: RecogniserCodec(language),
    signals=lambda codec, _: signals(codec),
    steps=(
        "The token gives a bit: whether the letter is a.",
        "A head looks it up at position 1.",
        "Two units round the retrieved bit.",
        "Two steps and a conjunction compare it with the bit at the current position.",
    ),
    api=1,
)
