"""SVG of attention patterns: for each query position, the chosen keys or the attention weights."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from softmachine.inspection.attention_patterns import members
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.svg.canvas import SOFT, Drawing, Picture, width_of
from softmachine.support.errors import UsageError
from softmachine.support.text import clipped, cut
from softmachine.transformer.attention import Mask
from softmachine.transformer.weights import Transformer

MOST = 48
"""The number of positions per side: the last ones up to the given one."""
LARGE, SMALL = 16.0, 5.0
"""The side of a square in a single pattern, and in one of many."""
ACROSS = 720.0
"""The width of a row of patterns."""
LEFT = 16.0
UNSEEN = "#e6ecf3"
"""The colour of masked pairs: bluish, since weights are grey."""
LONGEST = 12


@dataclass(frozen=True)
class Weights:
    """The attention weights of one head.

    Args:
        name: The head.
        layer: Its layer number in the architecture diagram.
        mask: Its mask.
        rows: For each query position in view, the non-zero weights by key.
    """

    name: str
    layer: int
    mask: Mask
    rows: dict[int, dict[int, float]]


def attention_picture(inspection: Inspection, head: str | None = None, position: int = -1) -> Picture:
    """Draw the attention patterns up to a position: one row per query, one column per key.

    Args:
        inspection: The run.
        head: The name of a head; None for all of them, smaller.
        position: The last position that is drawn; of a bidirectional model, all are.

    Raises:
        UsageError: If there is no such head.
    """
    if head is not None:
        require_head(inspection.transformer, head)
    tokens, view = _view(inspection, inspection.index(position))
    found = [one for one in _weights(inspection, view, position) if head in (None, one.name)]
    about = f"{cut(inspection.run.model.source.name)}: attention of {'all heads' if head is None else cut(head)}"
    drawing = Drawing(about)
    drawing.text(LEFT, 24, about, bold=True)
    if head is not None and found:
        _large(drawing, found[-1], tokens, view)
    else:
        _many(drawing, found, view)
    return drawing.picture()


def require_head(transformer: Transformer, head: str) -> None:
    """Check that there is a head of a name.

    Raises:
        UsageError: If there is none.
    """
    names = list(dict.fromkeys(one.name for one in transformer.heads))
    if head not in names:
        raise UsageError(f"there is no head {head!r}", hint=f"the heads are {', '.join(map(cut, names[:24]))}")


def _view(inspection: Inspection, position: int) -> tuple[list[str], range]:
    """The tokens of the context, and the range of positions in view."""
    contexts = inspection.contexts
    context = contexts.of(position)
    tokens = contexts.tokens(context)
    last = len(tokens) if inspection.looks_ahead else context.place(position) + 1
    return tokens, range(max(0, last - MOST), last)


def _weights(inspection: Inspection, view: range, position: int) -> list[Weights]:
    """The weights of all heads; those of a loop in its last iteration."""
    found: dict[tuple[int, int], Weights] = {}
    if inspection.soft:
        offset = inspection.index(position) - view[-1] if not inspection.looks_ahead else 0
        for activations in inspection.moments(place + offset for place in view):
            for activation in activations.heads:
                key = (activation.stage.layer, activation.index)
                weights = found.setdefault(
                    key, Weights(activation.name, activation.stage.layer, activation.head.mask, {})
                )
                weights.rows[activations.place] = {j: float(weight) for j, weight in activation.weights.items()}
        return list(found.values())
    for pattern in inspection.patterns(position):
        rows = {}
        for place in view:
            chosen = members(pattern.rows[place])
            rows[place] = dict.fromkeys(chosen, float(Fraction(1, max(1, len(chosen)))))
        found[pattern.stage.layer, pattern.index] = Weights(
            pattern.head.name, pattern.stage.layer, pattern.head.mask, rows
        )
    return list(found.values())


def _large(drawing: Drawing, weights: Weights, tokens: list[str], view: range) -> None:
    """Draw one pattern with its tokens."""
    labels = [clipped(tokens[position], LONGEST) for position in view]
    edge = max(map(width_of, labels), default=0.0)
    left, top = LEFT + edge + 34, 44 + edge + 34
    for k, (position, label) in enumerate(zip(view, labels, strict=True)):
        middle = LARGE * k + 0.7 * LARGE
        drawing.text(left - 34, top + middle, label, anchor="end")
        drawing.text(left - 6, top + middle, f"{position}", size=9, anchor="end", colour=SOFT)
        drawing.text(left + middle, top - 34, label, turned=True)
        drawing.text(left + middle, top - 6, f"{position}", size=9, colour=SOFT, turned=True)
    _squares(drawing, weights, view, left, top, LARGE)
    drawing.text(left, top + LARGE * len(view) + 16, "row: query position; column: key position", size=9)


def _many(drawing: Drawing, found: list[Weights], view: range) -> None:
    """Draw all patterns, side by side."""
    side = SMALL * len(view)
    x, y = LEFT, 44.0
    for weights in found:
        wide = max(side, 150.0) + 16
        if x > LEFT and x + wide > ACROSS:
            x, y = LEFT, y + side + 40
        drawing.text(x, y + 8, f"{weights.layer} {clipped(weights.name, 20)}", size=10)
        _squares(drawing, weights, view, x, y + 16, SMALL)
        x += wide


def _squares(drawing: Drawing, weights: Weights, view: range, left: float, top: float, side: float) -> None:
    for r, query in enumerate(view):
        start = 0
        for fill, squares in groupby(_fill(weights, query, key) for key in view):
            wide = len(list(squares))
            if fill:
                drawing.box(left + side * start, top + side * r, side * wide, side, fill=fill, edge=0)
            start += wide
    drawing.box(left, top, side * len(view), side * len(view), colour="#888888", edge=0.6)


def _fill(weights: Weights, query: int, key: int) -> str:
    """The colour of a square; empty for white."""
    if not weights.mask.sees(key, query):
        return UNSEEN
    share = weights.rows[query].get(key, 0.0)
    return _grey(share) if share else ""


def _grey(share: float) -> str:
    """The grey of a weight: larger weights are darker."""
    level = round(255 - 240 * min(share, 1.0) ** 0.5)
    return f"#{level:02x}{level:02x}{level:02x}"
