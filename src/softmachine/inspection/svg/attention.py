"""SVG of attention patterns: for each query position, the chosen keys or the attention weights."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from softmachine.inspection.attention_patterns import positions_in
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.svg.canvas import MUTED_COLOUR, Drawing, Picture, text_width
from softmachine.support.errors import UsageError
from softmachine.support.text import shorten_middle, truncate
from softmachine.transformer.attention import Mask
from softmachine.transformer.weights import Transformer

MAX_POSITIONS = 48
"""The number of positions per side: the last ones up to the given one."""
SINGLE_CELL_SIZE, MULTIPLE_CELL_SIZE = 16.0, 5.0
"""The side of a square in a single pattern, and in one of many."""
ROW_WIDTH = 720.0
"""The width of a row of patterns."""
LEFT = 16.0
MASKED_COLOUR = "#e6ecf3"
"""The colour of masked pairs: bluish, since weights are grey."""
MAX_LABEL_CHARACTERS = 12


@dataclass(frozen=True)
class HeadWeights:
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


def draw_attention(inspection: Inspection, head: str | None = None, position: int = -1) -> Picture:
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
    tokens, view = _choose_view(inspection, inspection.resolve_position(position))
    found = [one for one in _collect_weights(inspection, view, position) if head in (None, one.name)]
    heads = "all heads" if head is None else shorten_middle(head)
    about = f"{shorten_middle(inspection.run.model.source.name)}: attention of {heads}"
    drawing = Drawing(about)
    drawing.text(LEFT, 24, about, bold=True)
    if head is not None and found:
        _draw_single(drawing, found[-1], tokens, view)
    else:
        _draw_all(drawing, found, view)
    return drawing.to_picture()


def require_head(transformer: Transformer, head: str) -> None:
    """Check that there is a head of a name.

    Raises:
        UsageError: If there is none.
    """
    names = list(dict.fromkeys(one.name for one in transformer.heads))
    if head not in names:
        raise UsageError(
            f"there is no head {head!r}", hint=f"the heads are {', '.join(map(shorten_middle, names[:24]))}"
        )


def _choose_view(inspection: Inspection, position: int) -> tuple[list[str], range]:
    """The tokens of the context, and the range of positions in view."""
    contexts = inspection.contexts
    context = contexts.context_at(position)
    tokens = contexts.tokens_of(context)
    last = len(tokens) if inspection.is_bidirectional else context.local_position(position) + 1
    return tokens, range(max(0, last - MAX_POSITIONS), last)


def _collect_weights(inspection: Inspection, view: range, position: int) -> list[HeadWeights]:
    """The weights of all heads; those of a loop in its last iteration."""
    found: dict[tuple[int, int], HeadWeights] = {}
    if inspection.has_soft_attention:
        offset = inspection.resolve_position(position) - view[-1] if not inspection.is_bidirectional else 0
        for activations in inspection.at_positions(place + offset for place in view):
            for activation in activations.heads:
                key = (activation.hook_point.layer, activation.index)
                weights = found.setdefault(
                    key, HeadWeights(activation.name, activation.hook_point.layer, activation.head.mask, {})
                )
                weights.rows[activations.local_position] = {
                    j: float(weight) for j, weight in activation.weights.items()
                }
        return list(found.values())
    for pattern in inspection.patterns(position):
        rows = {}
        for place in view:
            chosen = positions_in(pattern.rows[place])
            rows[place] = dict.fromkeys(chosen, float(Fraction(1, max(1, len(chosen)))))
        found[pattern.hook_point.layer, pattern.index] = HeadWeights(
            pattern.head.name, pattern.hook_point.layer, pattern.head.mask, rows
        )
    return list(found.values())


def _draw_single(drawing: Drawing, weights: HeadWeights, tokens: list[str], view: range) -> None:
    """Draw one pattern with its tokens."""
    labels = [truncate(tokens[position], MAX_LABEL_CHARACTERS) for position in view]
    edge = max(map(text_width, labels), default=0.0)
    left, top = LEFT + edge + 34, 44 + edge + 34
    for k, (position, label) in enumerate(zip(view, labels, strict=True)):
        middle = SINGLE_CELL_SIZE * k + 0.7 * SINGLE_CELL_SIZE
        drawing.text(left - 34, top + middle, label, anchor="end")
        drawing.text(left - 6, top + middle, f"{position}", size=9, anchor="end", colour=MUTED_COLOUR)
        drawing.text(left + middle, top - 34, label, rotated=True)
        drawing.text(left + middle, top - 6, f"{position}", size=9, colour=MUTED_COLOUR, rotated=True)
    _draw_cells(drawing, weights, view, left, top, SINGLE_CELL_SIZE)
    drawing.text(left, top + SINGLE_CELL_SIZE * len(view) + 16, "row: query position; column: key position", size=9)


def _draw_all(drawing: Drawing, found: list[HeadWeights], view: range) -> None:
    """Draw all patterns, side by side."""
    side = MULTIPLE_CELL_SIZE * len(view)
    x, y = LEFT, 44.0
    for weights in found:
        wide = max(side, 150.0) + 16
        if x > LEFT and x + wide > ROW_WIDTH:
            x, y = LEFT, y + side + 40
        drawing.text(x, y + 8, f"{weights.layer} {truncate(weights.name, 20)}", size=10)
        _draw_cells(drawing, weights, view, x, y + 16, MULTIPLE_CELL_SIZE)
        x += wide


def _draw_cells(drawing: Drawing, weights: HeadWeights, view: range, left: float, top: float, side: float) -> None:
    for r, query in enumerate(view):
        start = 0
        for fill, squares in groupby(_cell_colour(weights, query, key) for key in view):
            wide = len(list(squares))
            if fill:
                drawing.box(left + side * start, top + side * r, side * wide, side, fill=fill, edge=0)
            start += wide
    drawing.box(left, top, side * len(view), side * len(view), colour="#888888", edge=0.6)


def _cell_colour(weights: HeadWeights, query: int, key: int) -> str:
    """The colour of a square; empty for white."""
    if not weights.mask.is_visible(key, query):
        return MASKED_COLOUR
    share = weights.rows[query].get(key, 0.0)
    return _grey_level(share) if share else ""


def _grey_level(share: float) -> str:
    """The grey of a weight: larger weights are darker."""
    level = round(255 - 240 * min(share, 1.0) ** 0.5)
    return f"#{level:02x}{level:02x}{level:02x}"
