"""Guided tour of one token of a counter machine's run."""

from __future__ import annotations

from softmachine.theorems.crasp.telling import RULES
from softmachine.theorems.theorem import Guide

GUIDE = (
    Guide(
        "Which transition was last?",
        "Lemma 3.5 of “Softmax Transformers are Turing-Complete”. A run has a token for each transition; the last "
        "transition determines the state, so that the token here determines it.",
        ("token",),
    ),
    Guide(
        "What is in the counters?",
        "Lemma 3.5 of “Softmax Transformers are Turing-Complete”. A counter is the number of its letter in the input, "
        "plus the changes by the transitions so far: a sum of counts. Uniform attention gives each sum over i+1 "
        "(Proposition 2.1 of the same paper), and 1/(i+1).",
        ("mean…",),
    ),
    Guide(
        "Which tests hold?",
        "Proposition 2.1 of “Softmax Transformers are Turing-Complete”. A test compares a counter with a number: the "
        "sign of a sum that is never nearer to 0 than 1/(2(i+1)).",
        ("a ≥ …", "a ≤ …"),
    ),
    RULES,
)
