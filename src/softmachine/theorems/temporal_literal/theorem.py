"""Temporal logic with counting in a transformer that has the position encodings of the corollaries, and nothing more.

Corollaries 17 and 22 of "Simulating Hard Attention Using Soft Attention" for encoders, 18 and 23 for future-masked
transformers, each in its variants (a) and (b); with them Theorems 12 and 13. They have i/n and (-1)^i, or (-1)^i
alone; i and i² where they count; and one temperature for all heads. First, last, 1/i and 1/(n-i+1) come from (-1)^i by
Proposition 11: uniform attention over (-1)^j is ±1 where a position sees only itself, and at most 1/3 elsewhere.

The paper's first position is the start token here, at position 0: its i is i+1, its n is n+1. The table that counts are
looked up in is i from 0 on, which differs by 1 from the paper's and has a place for the count 0.

Needs: for an encoder (i+1)/(n+1), (-1)^i, and i, i² for counts, at scale n+1 (a); or these, n+1, and for counts i(n+1)
and i²(n+1), at scale 1 (b). For a future-masked transformer (-1)^i, and i, i² for counts, at scale (i+1)² (a); or
(-1)^i and (i+1)² at scale 1, no counts (b).
Besides the heads of the theorems that are not literal, there are two uniform heads in at most two layers for each of
1/(i+1) and 1/(n-i+1), or one head in one layer for last alone.
"""

from __future__ import annotations

from dataclasses import replace

from softmachine.theorems.cost import Cost
from softmachine.theorems.temporal.cost import WIDTH
from softmachine.theorems.temporal.heads import Variant, Vision
from softmachine.theorems.temporal.telling import PROPOSITION_11
from softmachine.theorems.temporal.theorem import HEADS, LAYERS, signals, variant_theorem
from softmachine.theorems.theorem import Needs, Theorem


def _theorem(
    name: str, statement: str, reference: str, needs: Needs, rank: int, vision: Vision, *, unbounded: bool = False
) -> Theorem:
    """A theorem that is not literal, with Proposition 11 before it."""
    plain = variant_theorem(name, statement, reference, needs, rank, vision, unbounded=unbounded)
    return replace(
        plain,
        cost=Cost({}, {"heads": HEADS + 4, "layers": LAYERS + 2, "width": WIDTH + 4}),
        signals=lambda codec, attention: signals(
            codec.source, Variant(vision, attention == "soft", unbounded, literal=True)
        ),
        steps=("first, last, 1/i and 1/(n-i+1) come from (-1)^i by uniform attention (Proposition 11).", *plain.steps),
        guide=(PROPOSITION_11, *plain.guide),
    )


THEOREMS = (
    _theorem(
        "temporal-encoder-literal",
        "Corollaries 17, 22 (a): temporal logic with counting, from i/n and (-1)^i, at one temperature",
        "Proposition 11, Theorem 12 (a), Corollaries 17 (a) and 22 (a)",
        Needs("i/n, (-1)^i (i and i² where it counts), as the paper has them", "n+1", first="the length"),
        5,
        Vision.ENCODER,
    ),
    _theorem(
        "temporal-masked-literal",
        "Corollaries 18, 23 (a): past temporal logic with counting, from (-1)^i alone, future-masked",
        "Proposition 11, Theorem 13 (a), Corollaries 18 (a) and 23",
        Needs(
            "(-1)^i (i and i² where it counts), as the paper has it",
            "(i+1)²",
            first="nothing of the length",
            also="only the past",
        ),
        6,
        Vision.MASKED,
    ),
    _theorem(
        "temporal-encoder-unbounded-literal",
        "Corollaries 17, 22 (b): the same with n, i·n and i²n as position features, at temperature 1",
        "Proposition 11, Theorem 12 (b), Corollaries 17 (b) and 22 (b)",
        Needs("i/n, (-1)^i, n (i·n and i²n where it counts), as the paper has them", "1", first="the length"),
        7,
        Vision.ENCODER,
        unbounded=True,
    ),
    _theorem(
        "temporal-masked-unbounded-literal",
        "Corollary 18 (b): past temporal logic from (-1)^i and i², at temperature 1, future-masked, no counts",
        "Proposition 11, Theorem 13 (b), Corollary 18 (b)",
        Needs(
            "(-1)^i and i², as the paper has them",
            "1",
            first="nothing of the length",
            also="only the past, no counts",
        ),
        8,
        Vision.MASKED,
        unbounded=True,
    ),
)
