"""Guided tour of one position of a formula, and explanations of its heads."""

from __future__ import annotations

from softmachine.languages.temporal import Since, Until, core, subformulas
from softmachine.theorems.temporal.tokens import TemporalCodec
from softmachine.theorems.theorem import Guide
from softmachine.transformer.sight import Enclosure, Sight

_SYMBOLS = Guide(
    "Which symbol is here?",
    "Symbols are looked up from the token, one-hot; position 0 holds a start token, at which no formula counts. "
    "Boolean operators are units of a feed-forward layer.",
    ("symbol",),
)
_NEIGHBOURS = Guide(
    "Previous and next",
    "The nearest even and the nearest odd position are found, and of these the one that is not here "
    "(Theorems 12 and 13 of Yang et al. 2024). Nearness is a small term of the score that (-1)^i overrules (Lemma 8 of "
    "Yang et al. 2024).",
    ("(-1)^i", "first", "prev …"),
)
_WITNESS = Guide(
    "Which position decides since and until?",
    "The nearest position where the left side fails or the right side holds (Theorems 15 and 16 of Yang et al. 2024): "
    "the head finds it (Lemma 8 of Yang et al. 2024) and retrieves the truth value of the right side there.",
    ("decides …", "i/(n+1)"),
)
_COUNTS = Guide(
    "How many?",
    "Uniform attention gives the fraction of positions that count, c/(i+1). A lookup among the positions recovers c "
    "(Theorems 20 and 21, Lemma 7 of Yang et al. 2024), and comparisons of counts are units.",
    ("mean of …", "counted in …", "#…"),
)
_ROUNDING = Guide(
    "Round it",
    "Softmax may be off by 1/4 at the stated scale (Lemma 6 of Yang et al. 2024); two units after the "
    "head give the right bit (Lemma 9 of Yang et al. 2024). With hard attention nothing changes.",
    ("Q_…", "prev …"),
)
PROPOSITION_11 = Guide(
    "Where am I?",
    "The mean of (-1)^j is ±1 where a position sees only itself, and at most 1/3 elsewhere: that marks the first and "
    "the last position, and the mean of the mark is 1/i and 1/(n-i+1) (Proposition 11 of "
    "Yang et al. 2024).",
    ("parity mean …", "start from …", "last…", "1/(i+1)", "1/(n-i+1)"),
)
_UNIQUE = Guide(
    "Which position is nearest?",
    "The rightmost of the best positions before, or the leftmost of those after: masked unique-hard attention needs "
    "no position features (section 4.3 of Yang et al. 2024). The previous position is the rightmost of all before.",
    ("decides …", "prev …", "next …", "has …"),
)
GUIDE = (_SYMBOLS, _NEIGHBOURS, _WITNESS, _COUNTS, _ROUNDING)
WITHOUT_COUNTS = (_SYMBOLS, _NEIGHBOURS, _WITNESS, _ROUNDING)
UNIQUE_HARD = (_SYMBOLS, _UNIQUE, _ROUNDING)


def tell(codec: TemporalCodec, sight: Sight) -> str | None:
    """Explain the value that a head retrieved; None if there is no explanation."""
    name, chosen = sight.name, sight.chosen
    if name.startswith("mean of "):
        return _share(sight)
    if not chosen:
        return None
    there = f"position {chosen[0]:,} ({sight.tokens[chosen[0]]})"
    for parity in ("even", "odd"):
        if name.endswith(f": nearest {parity}"):
            return f"{there} is the nearest {parity} one"
    for formula in subformulas(core(codec.source.formula)):
        if isinstance(formula, Since | Until) and str(formula) == name:
            holding, reached = formula.parts
            if chosen[0] == 0:
                return "there is nothing to see but the start token"
            value = sight.added.get(name)
            if value is None:
                return None
            if float(value) > 0.5:
                return (
                    f"{there} is the nearest where ({holding}) fails or ({reached}) holds, and ({reached}) holds there"
                )
            return (
                f"{there} is the nearest where ({holding}) fails, if it fails anywhere, and ({reached}) does not hold"
            )
    return f"the count is {chosen[0]:,}, which {there} stands for" if "#" in name else None


def _share(sight: Sight) -> str | None:
    """Explain a count, given its mean over the visible positions."""
    share = sight.added.get(sight.name)
    if share is None:
        return None
    seen = len(sight.visible)
    value = share.middle if isinstance(share, Enclosure) else share
    return f"{round(value * seen):,} of the {seen:,} positions that it sees count"
