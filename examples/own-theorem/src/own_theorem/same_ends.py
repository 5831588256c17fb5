"""Words whose first and last letter are equal: a lookup, and a comparison that rounds, for any length.

Theorem. There is a transformer with one layer and one head that decides whether the first and the last letter of a word
over a, b and c are equal. Softmax attention does the same, with a scale that is independent of the length.

Letters are the numbers 1, 2 and 3. The head looks up the number at position 1: the score 2j - j² has its maximum at
j = 1, and the key k positions away is k² below. So softmax retrieves the number with a small error, whatever the length
is. Its difference from the number of the last letter is compared with 0 by four units, which are exact for errors up to
1/4 (Lemma 9 of "Simulating Hard Attention Using Soft Attention", for integers).

Needs: the positions i and i². Costs: 1 layer, 1 head, 4 units, width 5.
"""

from __future__ import annotations

from softmachine.ir import Program, constant, recogniser, token
from softmachine.ir.gadgets import compare_with_zero, lookup
from softmachine.languages.predicate import FormalLanguage
from softmachine.theorems import Theorem
from softmachine.theorems.shared.recogniser_codec import RecogniserCodec

LANGUAGE = FormalLanguage("same-ends", ("a", "b", "c"), lambda word: word[:1] == word[-1:])


def signals(codec: RecogniserCodec) -> Program:
    """The proof."""
    # Step 1. The token: letters as numbers.
    letter = token("letter", {codec.start: (0,), "a": (1,), "b": (2,), "c": (3,)})

    # Step 2. Lookup: the number at position 1; at position 0, where that is not visible, its own.
    first = lookup("first letter", constant(1), letter)

    # Step 3. Rounding and comparison: the difference of two integers is within 1/4 of 0 exactly if they are equal.
    equal = compare_with_zero("equal", first - letter, "=", constant(1))
    return recogniser(LANGUAGE.name, codec.tokens, equal)


SAME_ENDS = Theorem(
    name="same-ends",
    statement="first and last letter are equal, by a lookup and a comparison that rounds",
    reference="folklore; rounding is Lemma 9 of Simulating Hard Attention Using Soft Attention",
    requirements="the positions i and i²; scale O(1); independent of the input length",
    cost="1 layer, 1 head, 4 units, width 5",
    source=LANGUAGE,
    attentions=("hard",),
    codec=lambda language, _: RecogniserCodec(language),
    signals=lambda codec, _: signals(codec),
    steps=(
        "The token gives the number of the letter.",
        "A head looks it up at position 1.",
        "Four units compare the retrieved number, rounded, with that of the current letter.",
    ),
    api=1,
)
