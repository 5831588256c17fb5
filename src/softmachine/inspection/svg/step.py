"""SVG of one step of a run: tokens, attention arcs, a sentence per head, and the state of the source.

Choice of the positions that a picture shows: all if they fit, else the relevant ones, with gaps between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, islice
from textwrap import wrap

from softmachine.inspection.activations import Moment
from softmachine.inspection.explanations import sentence
from softmachine.inspection.head_activation import HeadSight
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.svg.canvas import COLOURS, FAINT, INK, SIZE, SOFT, Drawing, Picture, width_of
from softmachine.support.text import clipped, cut

MAX_RELEVANT = 16
"""The largest number of relevant positions that are shown."""
FEW = 3
"""The number of positions shown at the beginning, and on each side of the query."""


def columns(count: int, here: int, matter: Iterable[int], wide: Callable[[int], float], room: float) -> list[int]:
    """The positions to show: the relevant ones first, then their neighbours, while they fit.

    Args:
        count: The number of positions.
        here: The position of the query.
        matter: The relevant positions: those that the query attends to.
        wide: The width of a position.
        room: The width available; the query and the relevant positions are shown in any case.
    """
    matter = list(dict.fromkeys(matter))
    wanted = dict.fromkeys([here, *matter[:MAX_RELEVANT]])
    left = room - sum(map(wide, wanted))
    around = (d for distance in range(1, count + 1) for d in (-distance, distance))
    near = chain(
        range(here - FEW, here + FEW), range(FEW), *((j - 1, j + 1) for j in matter), (here + d for d in around)
    )
    for position in near:
        if 0 <= position < count and position not in wanted:
            left -= wide(position)
            if left < 0:
                break
            wanted[position] = None
    return sorted(wanted)


LEFT = 16.0
MOST_ARCS = 4
"""The largest number of arcs of a head; more positions get a bar above them."""
MOST_HEADS = 24
"""The largest number of heads that are drawn."""
LONGEST = 14
"""The largest number of characters of a token."""
COLUMNS_OF_TEXT = 110
ROOM = 820.0
"""The width of the row of tokens; if they do not fit, some are left out."""
DASHES = ("", "6 2", "2 2", "8 2 2 2")
LINE = 1.4 * SIZE
"""The line height."""


def step_picture(inspection: Inspection, position: int = -1) -> Picture:
    """Draw a position: an arc to each position that a head chose, and a sentence per head."""
    activations = inspection.at(position)
    heads = _last_turns(activations)
    drawing = Drawing(_title(inspection, activations))
    drawing.text(LEFT, 24, _title(inspection, activations), bold=True)
    places = _places(activations, heads)
    floor = 56.0 + _ceiling(heads, places, activations.place)
    _tokens(drawing, activations, places, floor)
    bars = 0
    for number, head in enumerate(heads[:MOST_HEADS]):
        if len(head.chosen) > MOST_ARCS:
            _bar(drawing, head, number, places, floor - 14 - 9 * bars)
            bars += 1
        else:
            _arcs(drawing, head, number, places, activations.place, floor - 6)
    below = _legend(drawing, inspection, activations, heads, floor + 48)
    _object(drawing, inspection, activations, below)
    return drawing.picture()


def _title(inspection: Inspection, activations: Moment) -> str:
    run = inspection.run
    word = cut(run.model.codec.text_of(run.outcome.word))
    where = f"position {activations.position:,}" if activations.step is None else f"step {activations.step:,}"
    return f"{cut(run.model.source.name)} on {word or 'the empty word'}, {where}"


def _last_turns(activations: Moment) -> list[HeadSight]:
    """The activations of all heads; of a loop, in its last iteration."""
    last = {(head.stage.layer, head.index): head for head in activations.heads}
    return list(last.values())


def _ceiling(heads: list[HeadSight], places: Places, here: int) -> float:
    """The height of the arcs and bars."""
    arcs = [
        0.75 * _high(number, places[here].middle - places[chosen].middle)
        for number, head in enumerate(heads[:MOST_HEADS])
        if len(head.chosen) <= MOST_ARCS
        for chosen in head.chosen
        if chosen in places
    ]
    return max([*arcs, 14.0 + 9 * sum(len(head.chosen) > MOST_ARCS for head in heads)])


@dataclass(frozen=True)
class Place:
    """The box of a token: its left edge and width, and whether tokens before it are left out."""

    left: float
    wide: float
    after_gap: bool

    @property
    def middle(self) -> float:
        """The x coordinate at which arcs end."""
        return self.left + self.wide / 2


Places = dict[int, Place]


def _places(activations: Moment, heads: list[HeadSight]) -> Places:
    """The boxes of the tokens: of all if they fit, else of the relevant ones."""

    def wide(position: int) -> float:
        return max(width_of(clipped(activations.tokens[position], LONGEST)), width_of(f"{position}", 9)) + 10

    matter = [j for head in heads if len(head.chosen) <= MOST_ARCS for j in head.chosen]
    places: Places = {}
    x, before = LEFT, -1
    for position in columns(len(activations.tokens), activations.place, matter, lambda p: wide(p) + 3, ROOM):
        gap = position != before + 1
        x += 16 * gap
        places[position] = Place(x, wide(position), gap)
        x, before = x + wide(position) + 3, position
    return places


def _tokens(drawing: Drawing, activations: Moment, places: Places, floor: float) -> None:
    """Draw the tokens side by side, each with its position below."""
    for position, place in places.items():
        if place.after_gap:
            drawing.text(place.left - 14, floor + 14, "…", colour=SOFT)
        here = position == activations.place
        drawing.box(
            place.left, floor, place.wide, 20, fill="#f3f3f3" if here else "none", colour=INK if here else FAINT
        )
        drawing.text(
            place.middle, floor + 14, clipped(activations.tokens[position], LONGEST), anchor="middle", bold=here
        )
        drawing.text(place.middle, floor + 31, f"{position}", size=9, anchor="middle", colour=SOFT)


def _arcs(drawing: Drawing, head: HeadSight, number: int, places: Places, here: int, floor: float) -> None:
    """Draw arcs from the query to the chosen positions; those of several heads are offset."""
    colour, dash = _style(number)
    apart = 4 * (number % 5 - 2)
    for chosen in head.chosen:
        if chosen not in places:
            continue
        start, end = places[here].middle + apart, places[chosen].middle + apart
        high = _high(number, start - end)
        if chosen == here:
            start, end = start - 8, start + 8
        drawing.path(_curve(start, end, floor, high), colour=colour, wide=1.5, dash=dash)
        drawing.path(f"M{end - 3:.1f} {floor - 7:.1f}l3 7l3 -7", colour=colour)
        along = 0.35 + 0.06 * (number % 7)  # so that numbers do not overlap
        x = start + (end - start) * along * along * (3 - 2 * along)
        y = floor - 3 * high * along * (1 - along)
        drawing.text(x, y - 3, f"{number + 1}", size=9, anchor="middle", colour=colour)


def _high(number: int, far: float) -> float:
    """The height of the control points of an arc; the arc is three quarters as high."""
    return min(150.0, 30 + abs(far) / 3) + 6 * (number % 5)


def _curve(start: float, end: float, floor: float, high: float) -> str:
    top = floor - high
    return f"M{start:.1f} {floor:.1f}C{start:.1f} {top:.1f} {end:.1f} {top:.1f} {end:.1f} {floor:.1f}"


def _bar(drawing: Drawing, head: HeadSight, number: int, places: Places, y: float) -> None:
    """Draw a bar above the chosen positions of a head that averages many."""
    colour, dash = _style(number)
    shown = [places[position].middle for position in head.chosen if position in places]
    for x in shown:
        drawing.line(x - 4, y, x + 4, y, colour=colour, wide=2.5)
    if shown:
        drawing.line(min(shown), y, max(shown), y, colour=colour, wide=0.8, dash=dash)
        drawing.text(max(shown) + 8, y + 3, f"{number + 1}", size=9, colour=colour)


def _style(number: int) -> tuple[str, str]:
    return COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]


def _legend(drawing: Drawing, inspection: Inspection, activations: Moment, heads: list[HeadSight], y: float) -> float:
    """Write a sentence for each head, and the output; returns the y coordinate of the next line."""
    for number, head in enumerate(heads[:MOST_HEADS]):
        colour, dash = _style(number)
        drawing.line(LEFT, y - 4, LEFT + 22, y - 4, colour=colour, wide=1.5, dash=dash)
        drawing.text(LEFT + 28, y, f"{number + 1}", colour=colour, bold=True)
        for line in wrap(sentence(head, inspection.run.model), COLUMNS_OF_TEXT):
            drawing.text(LEFT + 50, y, line)
            y += LINE
    if len(heads) > MOST_HEADS:
        drawing.text(LEFT + 50, y, f"and {len(heads) - MOST_HEADS:,} more heads", colour=SOFT)
        y += LINE
    output = activations.logits.said
    if output is not None:
        drawing.text(LEFT, y, "→", bold=True)
        drawing.text(LEFT + 50, y, f"emits {cut(output)}", bold=True)
        y += LINE
    return y


def _object(drawing: Drawing, inspection: Inspection, activations: Moment, y: float) -> None:
    """Write the tape, the counters, or the word with its values, as in the trace, before and after the step."""
    trace = inspection.run.outcome.trace()
    if activations.step is not None:
        shown = list(islice(trace, max(activations.step - 1, 0), activations.step + 1))
    elif inspection.contexts.decodes:
        shown = []
    else:
        shown = list(islice(trace, 4))
    for line in (line for text in shown for line in text.split("\n")):
        drawing.text(LEFT, y + 6, line[: 2 * COLUMNS_OF_TEXT])
        y += LINE
