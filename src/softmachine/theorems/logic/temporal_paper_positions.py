"""Temporal logic with counting in a transformer with exactly the position encodings of the paper's corollaries.

Corollaries 17 and 22 of "Simulating Hard Attention Using Soft Attention" (Yang et al. 2024) for encoders, 18 and 23 for
future-masked transformers, each in its variants (a) and (b); with them Theorems 12 and 13. Their position features are
i/n and (-1)^i, or (-1)^i alone, and i and i² for counts; all heads have one temperature. First, last, 1/i and 1/(n-i+1)
are derived from (-1)^i by Proposition 11: uniform attention over (-1)^j is ±1 at a position that sees only itself, and
at most 1/3 in absolute value elsewhere.

The paper's first position is the start token here, at position 0: its i is i+1, its n is n+1. Counts are looked up in
the positions numbered from 0, not from 1 as in the paper, so that the count 0 has a position.

Needs: for an encoder (i+1)/(n+1), (-1)^i, and i, i² for counts, at scale n+1 (a); or these, n+1, and for counts i(n+1)
and i²(n+1), at scale 1 (b). For a future-masked transformer (-1)^i, and i, i² for counts, at scale (i+1)² (a); or
(-1)^i and (i+1)² at scale 1, no counts (b).
In addition to the heads of :mod:`softmachine.theorems.logic.temporal`, there are two uniform heads in at most two
layers for each of 1/(i+1) and 1/(n-i+1), or one head in one layer if only "last" is needed.
"""

from __future__ import annotations

from dataclasses import replace

from softmachine.theorems.cost import Cost
from softmachine.theorems.logic.temporal.heads import Masking, Variant
from softmachine.theorems.logic.temporal.theorem import (
    HEADS,
    LAYERS,
    PROPOSITION_11_STEP,
    WIDTH,
    signals,
    variant_theorem,
)
from softmachine.theorems.theorem import Requirements, Theorem


def _theorem(
    name: str,
    statement: str,
    reference: str,
    needs: Requirements,
    rank: int,
    masking: Masking,
    *,
    unbounded_positions: bool = False,
) -> Theorem:
    """The theorem of a variant, with position signals derived by Proposition 11 of Yang et al. 2024."""
    plain = variant_theorem(name, statement, reference, needs, rank, masking, unbounded_positions=unbounded_positions)
    return replace(
        plain,
        cost=Cost({}, {"heads": HEADS + 4, "layers": LAYERS + 2, "width": WIDTH + 4}),
        signals=lambda codec, attention: signals(
            codec.source, Variant(masking, attention == "soft", unbounded_positions, paper_positions=True)
        ),
        steps=(
            "first, last, 1/i and 1/(n-i+1): from (-1)^i by uniform attention (Proposition 11 of Yang et al. 2024).",
            *plain.steps,
        ),
        tour=(PROPOSITION_11_STEP, *plain.tour),
    )


THEOREMS = (
    _theorem(
        "temporal-encoder-paper-positions",
        "Corollaries 17, 22 (a) of Yang et al. 2024: temporal logic with counting, from i/n and (-1)^i",
        "Proposition 11, Theorem 12 (a), Corollaries 17 (a) and 22 (a)",
        Requirements("i/n, (-1)^i (i and i² for counts), as in the paper", "n+1", length_note="the length"),
        5,
        Masking.ENCODER,
    ),
    _theorem(
        "temporal-masked-paper-positions",
        "Corollaries 18, 23 (a) of Yang et al. 2024: past temporal logic with counting, from (-1)^i, future-masked",
        "Proposition 11, Theorem 13 (a), Corollaries 18 (a) and 23",
        Requirements(
            "(-1)^i (i and i² for counts), as in the paper",
            "(i+1)²",
            length_note="independent of the input length",
            remark="only past operators",
        ),
        6,
        Masking.MASKED,
    ),
    _theorem(
        "temporal-encoder-unbounded-paper-positions",
        "Corollaries 17, 22 (b) of Yang et al. 2024: with n, i·n and i²n as position features, at temperature 1",
        "Proposition 11, Theorem 12 (b), Corollaries 17 (b) and 22 (b)",
        Requirements("i/n, (-1)^i, n (i·n and i²n for counts), as in the paper", "1", length_note="the length"),
        7,
        Masking.ENCODER,
        unbounded_positions=True,
    ),
    _theorem(
        "temporal-masked-unbounded-paper-positions",
        "Corollary 18 (b) of Yang et al. 2024: past temporal logic from (-1)^i and i², temperature 1, no counts",
        "Proposition 11, Theorem 13 (b), Corollary 18 (b)",
        Requirements(
            "(-1)^i and i², as in the paper",
            "1",
            length_note="independent of the input length",
            remark="only past operators, no counts",
        ),
        8,
        Masking.MASKED,
        unbounded_positions=True,
    ),
)
