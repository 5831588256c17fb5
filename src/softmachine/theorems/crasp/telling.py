"""Guided tour of one position of C-RASP, and explanations of its heads."""

from __future__ import annotations

from softmachine.languages.source import Source
from softmachine.theorems.codec import Codec
from softmachine.theorems.theorem import Guide
from softmachine.transformer.sight import Enclosure, Sight

SHARE = "start"
"""The label of 1/(i+1), the mean of the start token's bit."""
GUIDE = (
    Guide(
        "Which token is here?",
        "Proposition 2.1 of “Softmax Transformers are Turing-Complete”. The token is looked up, one-hot; formulas "
        "without counts depend on the token alone. Position 0 holds a start token, at which every count is 0.",
        ("token",),
    ),
    Guide(
        "Count",
        "Every comparison is one sum T of counts. Uniform attention averages the summands, which gives T/(i+1), and "
        "[j = 0], which gives 1/(i+1). Counts of counts come in the next layer.",
        ("mean…",),
    ),
    Guide(
        "Compare",
        "(T + 1/2)/(i+1) and (1/2 - T)/(i+1) are at least 1/(2(i+1)) away from 0, so that their signs are certain: a "
        "step (or two ReLUs) decides whether T ≥ 0, and whether T ≤ 0.",
        ("depth…", "#…", "mean…"),
    ),
)
RULES = Guide(
    "Which rule comes first?",
    "Proposition 2.1 of “Softmax Transformers are Turing-Complete”. The logit of a rule is its priority if its body "
    "holds, so that the first that holds has the largest; if none does, a special token is emitted.",
    ("rule…",),
)
VERDICT = Guide(
    "Does it hold?",
    "Boolean operators are units around comparisons, one layer each. The logits are the truth value, a half above or "
    "below 0.",
    ("#…", "depth…"),
)


def tell(codec: Codec[Source], sight: Sight) -> str | None:
    """Explain the sums that a mean represents; None for a head that compares counts through a relation."""
    del codec
    if sight.name != "mean" and not sight.name.startswith("mean at depth "):
        return None
    seen, sums = len(sight.visible), list[str]()
    for name, mean in sight.added.items():
        label = name.removeprefix(f"{sight.name}[").removesuffix("]")
        total = (mean.middle if isinstance(mean, Enclosure) else mean) * seen
        if label != SHARE and total.denominator == 1:
            sums.append(f"{label} {'to' if sums else 'adds up to'} {total}")
    return f"over {seen:,} positions, {', '.join(sums)}" if sums else None
