"""Sentences that explain a head's attention: the theorem's own, or a generic one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from softmachine.compiler.model import Model
from softmachine.inspection.seeing import HeadSight
from softmachine.support.text import cut, many
from softmachine.transformer.attention import Choice
from softmachine.transformer.sight import Enclosure, Number, told

_AGAIN = re.compile(r" \(\d+\)$")
"""Heads of the same name are numbered."""
LONGEST = 400
"""The largest number of characters of a clause; names may be very long."""
FEW = 4
"""The largest number of positions that are listed; of more, only the count is given."""


def sentence(activation: HeadSight, model: Model) -> str:
    """Explain a head: its chosen positions, the score gap and the retrieved values; a theorem may have its own text."""
    own = model.theorem.tells(model.codec, activation) if model.theorem.tells else None
    clause = own or "; ".join([_chose(activation), *_retrieved(activation)])
    clause = clause if len(clause) <= LONGEST else f"{clause[:LONGEST]}…"
    return "; ".join([f"{cut(activation.name)}: {clause}", *_rivals(activation)])


def _chose(activation: HeadSight) -> str:
    """The generic clause: the positions that the head attends to."""
    chosen, seen = activation.chosen, len(activation.visible)
    if not seen:
        return "sees nothing, so that it adds 0"
    if len(chosen) == 1:
        token = cut(activation.tokens[chosen[0]])
        return f"chose position {chosen[0]:,} ({token}){_of_equals(activation)}{_weight(activation)}"
    if len(chosen) == seen:
        return f"takes the mean of all {many(seen, 'position')}"
    return f"takes the mean of {_positions(chosen)}, which tie{_weight(activation)}"


def _of_equals(activation: HeadSight) -> str:
    """The tie-breaking rule, if several positions tie and one is chosen."""
    order = {Choice.LEFTMOST: "first", Choice.RIGHTMOST: "last"}.get(activation.head.weighting.choice)
    return f", the {order} of {len(activation.tied):,} that tie" if order and len(activation.tied) > 1 else ""


def _weight(activation: HeadSight) -> str:
    """The total softmax weight of the positions of maximal score."""
    if activation.head.weighting.hard:
        return ""
    return f" with weight {told(total_weight(activation, activation.chosen))}"


def total_weight(activation: HeadSight, positions: Sequence[int]) -> Number:
    """The total attention weight of some positions."""
    weights = [activation.weights[position] for position in positions]
    low = sum((w.lower if isinstance(w, Enclosure) else w for w in weights), Fraction(0))
    high = sum((w.upper if isinstance(w, Enclosure) else w for w in weights), Fraction(0))
    return low if low == high else Enclosure(low, high)


def _rivals(activation: HeadSight) -> Iterator[str]:
    """The score gap to the next best positions."""
    if activation.gap is None:
        return
    rivals = activation.next_best
    if len(rivals) == 1:
        yield f"the next best is {told(activation.gap)} below, at position {rivals[0]:,}"
    else:
        yield f"{many(len(rivals), 'other position')} are {told(activation.gap)} below"


def _retrieved(activation: HeadSight) -> Iterator[str]:
    """The non-zero coordinates that the head adds."""
    added = [f"{cut(_own(activation, name))} = {told(value)}" for name, value in activation.added.items() if value != 0]
    if not added:
        yield "retrieved 0"
    elif len(added) > FEW:
        yield f"retrieved {', '.join(added[:FEW])} and {len(added) - FEW:,} more"
    else:
        yield f"retrieved {', '.join(added)}"


def _own(activation: HeadSight, name: str) -> str:
    """The part of a shared coordinate's name that belongs to the head, if there is one; else the whole name."""
    plain = _AGAIN.sub("", activation.name)
    return next((part for part in name.split(" / ") if part.startswith(plain)), name)


def _positions(chosen: Sequence[int]) -> str:
    if len(chosen) > FEW:
        return f"{many(len(chosen), 'position')} from {chosen[0]:,} to {chosen[-1]:,}"
    *first, last = (f"{position:,}" for position in chosen)
    return f"positions {', '.join(first)} and {last}"
