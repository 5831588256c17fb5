"""Names of position features in "Simulating Hard Attention Using Soft Attention" (Yang et al. 2024).

The paper numbers positions from 1; its first position is our start token at position 0, so that its i is i+1 here and
its n is n+1. Features that differ by a constant factor or an added constant count as one: the weights absorb both.
"""

from __future__ import annotations

from softmachine.languages.temporal import Operator, Specification, core, fragment
from softmachine.theorems.temporal.induction import PositionPredicate
from softmachine.transformer.features import INVERSE, LENGTH, NEXT, REST, Alternating, Feature, I, Monomial

_ALWAYS = {NEXT * LENGTH**-1: "i/n", LENGTH: "n", NEXT**2: "i²", I: "i", I**2: "i²", I * LENGTH: "i·n"}
_ALWAYS |= {I**2 * LENGTH: "i²n", I * LENGTH**-1: "i/n (numbered from 0)"}
_COUNTING = {INVERSE: "1/i", 1 / REST: "1/(n-i+1)"}


def paper_name(specification: Specification, feature: Feature) -> str | None:
    """The paper's name of a position feature of a formula's model; None if the theorem does not use it.

    Theorem 20 of Yang et al. 2024 has 1/i and 1/(n-i+1), for counts; Theorem 16 has 1/i, for since. Elsewhere the paper
    derives them from (-1)^i by Proposition 11, as the ``-paper-positions`` theorems do here.
    """
    match feature:
        case PositionPredicate():
            return "θ"
        case Alternating():
            return "(-1)^i"
        case Monomial():
            plain = feature * (1 / feature.factor)
            return _ALWAYS.get(plain) or (_COUNTING.get(plain) if _may_have(specification, plain) else None)
    return None


def _may_have(specification: Specification, feature: Monomial) -> bool:
    used = fragment(core(specification.formula)).operators
    counts = bool(used & {Operator.LEFT_COUNT, Operator.RIGHT_COUNT})
    alone = feature == INVERSE and Operator.SINCE in used and not used & {Operator.PREVIOUS, Operator.FIRST}
    return counts or alone
