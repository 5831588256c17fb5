"""SVG of one step of a run: tokens, attention arcs, the decision, a sentence per head, and the state of the source.

All positions are drawn if they fit; otherwise the relevant ones, with gaps between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, islice
from textwrap import wrap

from softmachine.inspection.activations import Activations
from softmachine.inspection.decision import explain_decision
from softmachine.inspection.explanations import explain_head
from softmachine.inspection.head_activation import HeadActivation
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.svg.canvas import (
    FONT_SIZE,
    LIGHT_COLOUR,
    MUTED_COLOUR,
    PALETTE,
    TEXT_COLOUR,
    Drawing,
    Picture,
    text_width,
)
from softmachine.support.text import shorten_middle, truncate

MAX_RELEVANT = 16
"""The largest number of relevant positions that are shown."""
NEIGHBOURS = 3
"""The number of positions shown at the beginning, and on each side of the query."""


def choose_columns(
    count: int, query: int, relevant: Iterable[int], width_of: Callable[[int], float], max_width: float
) -> list[int]:
    """The positions to show: the relevant ones first, then their neighbours, while they fit.

    Args:
        count: The number of positions.
        query: The position of the query.
        relevant: The relevant positions: those that the query attends to.
        width_of: The width of a position.
        max_width: The width available; the query and the relevant positions are shown in any case.
    """
    relevant = list(dict.fromkeys(relevant))
    wanted = dict.fromkeys([query, *relevant[:MAX_RELEVANT]])
    left = max_width - sum(map(width_of, wanted))
    around = (d for distance in range(1, count + 1) for d in (-distance, distance))
    near = chain(
        range(query - NEIGHBOURS, query + NEIGHBOURS),
        range(NEIGHBOURS),
        *((j - 1, j + 1) for j in relevant),
        (query + d for d in around),
    )
    for position in near:
        if 0 <= position < count and position not in wanted:
            left -= width_of(position)
            if left < 0:
                break
            wanted[position] = None
    return sorted(wanted)


LEFT = 16.0
MAX_ARCS = 4
"""The largest number of arcs of a head; more positions get a bar above them."""
MAX_HEADS = 24
"""The largest number of heads that are drawn."""
MAX_TOKEN_CHARACTERS = 14
"""The largest number of characters of a token."""
TEXT_COLUMNS = 110
MAX_ROW_WIDTH = 820.0
"""The width of the row of tokens; if they do not fit, some are left out."""
DASHES = ("", "6 2", "2 2", "8 2 2 2")
LINE_HEIGHT = 1.4 * FONT_SIZE
"""The line height."""


def draw_step(inspection: Inspection, position: int = -1) -> Picture:
    """Draw a position: an arc to each position that a head chose, the decision, and a sentence per head."""
    activations = inspection.at(position)
    heads = _last_iterations(activations)
    drawing = Drawing(_title(inspection, activations))
    drawing.text(LEFT, 24, _title(inspection, activations), bold=True)
    places = _choose_boxes(activations, heads)
    floor = 56.0 + _arc_height(heads, places, activations.local_position)
    _draw_tokens(drawing, activations, places, floor)
    bars = 0
    for number, head in enumerate(heads[:MAX_HEADS]):
        if len(head.chosen) > MAX_ARCS:
            _draw_bar(drawing, head, number, places, floor - 14 - 9 * bars)
            bars += 1
        else:
            _draw_arcs(drawing, head, number, places, activations.local_position, floor - 6)
    below = _draw_legend(drawing, inspection, activations, heads, floor + 48)
    _draw_state(drawing, inspection, activations, below)
    return drawing.to_picture()


def _title(inspection: Inspection, activations: Activations) -> str:
    run = inspection.run
    word = shorten_middle(run.model.codec.format_input(run.outcome.word))
    where = f"position {activations.position:,}" if activations.step is None else f"step {activations.step:,}"
    return f"{shorten_middle(run.model.source.name)} on {word or 'the empty word'}, {where}"


def _last_iterations(activations: Activations) -> list[HeadActivation]:
    """The activations of all heads; of a loop, in its last iteration."""
    last = {(head.hook_point.layer, head.index): head for head in activations.heads}
    return list(last.values())


def _arc_height(heads: list[HeadActivation], places: TokenBoxes, here: int) -> float:
    """The height of the arcs and bars."""
    arcs = [
        0.75 * _control_height(number, places[here].middle - places[chosen].middle)
        for number, head in enumerate(heads[:MAX_HEADS])
        if len(head.chosen) <= MAX_ARCS
        for chosen in head.chosen
        if chosen in places
    ]
    return max([*arcs, 14.0 + 9 * sum(len(head.chosen) > MAX_ARCS for head in heads)])


@dataclass(frozen=True)
class TokenBox:
    """The box of a token: its left edge and width, and whether tokens before it are left out."""

    left: float
    width: float
    after_gap: bool

    @property
    def middle(self) -> float:
        """The x coordinate at which arcs end."""
        return self.left + self.width / 2


TokenBoxes = dict[int, TokenBox]


def _choose_boxes(activations: Activations, heads: list[HeadActivation]) -> TokenBoxes:
    """The boxes of the tokens: of all if they fit, else of the relevant ones."""

    def wide(position: int) -> float:
        return (
            max(text_width(truncate(activations.tokens[position], MAX_TOKEN_CHARACTERS)), text_width(f"{position}", 9))
            + 10
        )

    matter = [j for head in heads if len(head.chosen) <= MAX_ARCS for j in head.chosen]
    places: TokenBoxes = {}
    x, before = LEFT, -1
    for position in choose_columns(
        len(activations.tokens), activations.local_position, matter, lambda p: wide(p) + 3, MAX_ROW_WIDTH
    ):
        gap = position != before + 1
        x += 16 * gap
        places[position] = TokenBox(x, wide(position), gap)
        x, before = x + wide(position) + 3, position
    return places


def _draw_tokens(drawing: Drawing, activations: Activations, places: TokenBoxes, floor: float) -> None:
    """Draw the tokens side by side, each with its position below."""
    for position, place in places.items():
        if place.after_gap:
            drawing.text(place.left - 14, floor + 14, "…", colour=MUTED_COLOUR)
        here = position == activations.local_position
        drawing.box(
            place.left,
            floor,
            place.width,
            20,
            fill="#f3f3f3" if here else "none",
            colour=TEXT_COLOUR if here else LIGHT_COLOUR,
        )
        drawing.text(
            place.middle,
            floor + 14,
            truncate(activations.tokens[position], MAX_TOKEN_CHARACTERS),
            anchor="middle",
            bold=here,
        )
        drawing.text(place.middle, floor + 31, f"{position}", size=9, anchor="middle", colour=MUTED_COLOUR)


def _draw_arcs(
    drawing: Drawing, head: HeadActivation, number: int, places: TokenBoxes, here: int, floor: float
) -> None:
    """Draw arcs from the query to the chosen positions; those of several heads are offset."""
    colour, dash = _style(number)
    apart = 4 * (number % 5 - 2)
    for chosen in head.chosen:
        if chosen not in places:
            continue
        start, end = places[here].middle + apart, places[chosen].middle + apart
        high = _control_height(number, start - end)
        if chosen == here:
            start, end = start - 8, start + 8
        drawing.path(_curve(start, end, floor, high), colour=colour, width=1.5, dash=dash)
        drawing.path(f"M{end - 3:.1f} {floor - 7:.1f}l3 7l3 -7", colour=colour)
        along = 0.35 + 0.06 * (number % 7)  # so that numbers do not overlap
        x = start + (end - start) * along * along * (3 - 2 * along)
        y = floor - 3 * high * along * (1 - along)
        drawing.text(x, y - 3, f"{number + 1}", size=9, anchor="middle", colour=colour)


def _control_height(number: int, far: float) -> float:
    """The height of the control points of an arc; the arc is three quarters as high."""
    return min(150.0, 30 + abs(far) / 3) + 6 * (number % 5)


def _curve(start: float, end: float, floor: float, high: float) -> str:
    top = floor - high
    return f"M{start:.1f} {floor:.1f}C{start:.1f} {top:.1f} {end:.1f} {top:.1f} {end:.1f} {floor:.1f}"


def _draw_bar(drawing: Drawing, head: HeadActivation, number: int, places: TokenBoxes, y: float) -> None:
    """Draw a bar above the chosen positions of a head that averages many."""
    colour, dash = _style(number)
    shown = [places[position].middle for position in head.chosen if position in places]
    for x in shown:
        drawing.line(x - 4, y, x + 4, y, colour=colour, width=2.5)
    if shown:
        drawing.line(min(shown), y, max(shown), y, colour=colour, width=0.8, dash=dash)
        drawing.text(max(shown) + 8, y + 3, f"{number + 1}", size=9, colour=colour)


def _style(number: int) -> tuple[str, str]:
    return PALETTE[number % len(PALETTE)], DASHES[number // len(PALETTE) % len(DASHES)]


def _draw_legend(
    drawing: Drawing, inspection: Inspection, activations: Activations, heads: list[HeadActivation], y: float
) -> float:
    """Write the decision, a sentence for each head, and the output; returns the y coordinate of the next line."""
    for line in wrap(explain_decision(activations, inspection.run.model), TEXT_COLUMNS):
        drawing.text(LEFT, y, line, bold=True)
        y += LINE_HEIGHT
    for number, head in enumerate(heads[:MAX_HEADS]):
        colour, dash = _style(number)
        drawing.line(LEFT, y - 4, LEFT + 22, y - 4, colour=colour, width=1.5, dash=dash)
        drawing.text(LEFT + 28, y, f"{number + 1}", colour=colour, bold=True)
        for line in wrap(explain_head(head, inspection.run.model), TEXT_COLUMNS):
            drawing.text(LEFT + 50, y, line)
            y += LINE_HEIGHT
    if len(heads) > MAX_HEADS:
        drawing.text(LEFT + 50, y, f"and {len(heads) - MAX_HEADS:,} more heads", colour=MUTED_COLOUR)
        y += LINE_HEIGHT
    output = activations.logits.emitted
    if output is not None:
        drawing.text(LEFT, y, "→", bold=True)
        drawing.text(LEFT + 50, y, f"emits {shorten_middle(output)}", bold=True)
        y += LINE_HEIGHT
    return y


def _draw_state(drawing: Drawing, inspection: Inspection, activations: Activations, y: float) -> None:
    """Write the tape, the counters, or the word with its values, as in the trace, before and after the step."""
    trace = inspection.run.outcome.format_trace()
    if activations.step is not None:
        shown = list(islice(trace, max(activations.step - 1, 0), activations.step + 1))
    elif inspection.contexts.is_decoder:
        shown = []
    else:
        shown = list(islice(trace, 4))
    for line in (line for text in shown for line in text.split("\n")):
        drawing.text(LEFT, y + 6, line[: 2 * TEXT_COLUMNS])
        y += LINE_HEIGHT
