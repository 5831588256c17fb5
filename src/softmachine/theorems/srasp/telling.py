"""Guided tour of one position of an S-RASP program, and explanations of its heads."""

from __future__ import annotations

from softmachine.languages.srasp import Lookup, normalise, operations
from softmachine.theorems.srasp.tokens import SraspCodec
from softmachine.theorems.theorem import Guide
from softmachine.transformer.sight import Enclosure, Sight

GUIDE = (
    Guide(
        "What is here?",
        "Letters are looked up from the token, and functions of one position are feed-forward layers. "
        "The start token at position 0 holds nothing: it adds nothing to sums and matches no predicate.",
        ("in", "i", "i/(n+1)"),
    ),
    Guide(
        "Add up",
        "A prefix sum is a mean times i+1: uniform attention gives c/(i+1), and the score (2 c j - j²)/(i+1) is "
        "largest at position c, which is retrieved (after Strobl et al. 2024).",
        ("mean of …", "recover …"),
    ),
    Guide(
        "Look for a match",
        "rightmost and leftmost: a predicate is a sum of products of query and key terms, and equal integers are "
        "those with (x - y)² = 0. The term j/(2(n+1)) breaks ties.",
        ("length", "before…", "reverse…", "next…"),
    ),
    Guide(
        "Did it match?",
        "The key terms of the predicate are retrieved with the value and compared with the query terms by a unit; the "
        "default is taken if they do not match. After softmax, bits are rounded first (Lemma 9 of Yang et al. 2024).",
        ("length matches", "length or default…", "reverse matches", "before or default…", "next or default…"),
    ),
)


def tell(codec: SraspCodec, sight: Sight) -> str | None:
    """Explain the value that a head retrieved; None if there is no explanation."""
    if sight.name.startswith("mean of "):
        return _sum(sight)
    for step in operations(normalise(codec.source)):
        if isinstance(step, Lookup) and step.name == sight.name and sight.chosen:
            position = sight.chosen[0]
            return f"position {position:,} ({sight.tokens[position]}) is the {step.attention.choice} that fits best"
    return None


def _sum(sight: Sight) -> str | None:
    """Explain a prefix sum, given its mean."""
    share = sight.added.get(sight.name)
    if share is None:
        return None
    total = (share.middle if isinstance(share, Enclosure) else share) * len(sight.visible)
    return f"{sight.name.removeprefix('mean of ')} adds up to {round(total):,} over {len(sight.visible):,} positions"
