"""A run of a Turing machine as a space-time diagram, decoded from the tokens of the transformer."""

from __future__ import annotations

import softmachine as sm
from site_pages.colours import AMBER, GREY, shade
from softmachine.inspection.svg import Picture
from softmachine.inspection.svg.canvas import Drawing
from softmachine.languages.turing import Configuration
from softmachine.theorems.shared.turing_codec import TuringOutcome

MACHINE = "busy-beaver-4"
CELL = 6


def draw_space_time() -> Picture:
    """Draw all steps of a busy beaver: time from left to right, the head in amber, ones in teal."""
    outcome = sm.run(MACHINE).outcome
    if not isinstance(outcome, TuringOutcome):
        raise TypeError(f"{MACHINE} is not a Turing machine")
    tape = Configuration.initial(outcome.machine, outcome.word)
    rows = [(dict(tape.cells[0]), tape.heads[0])]
    for action in outcome.actions:
        tape.apply(action)
        rows.append((dict(tape.cells[0]), tape.heads[0]))
    first = min(min(cells, default=0) for cells, _ in rows)
    last = max(max(cells, default=0) for cells, _ in rows)
    drawing = Drawing(f"{MACHINE}, step by step")
    for t, (cells, head) in enumerate(rows):
        for cell in range(first, last + 1):
            colour = AMBER if cell == head else shade(0.85 if cells.get(cell, "0") != "0" else 0.05)
            drawing.box(16 + t * CELL, 16 + (cell - first) * CELL, CELL - 1, CELL - 1, fill=colour, edge=0)
    low = 16 + CELL * (last - first + 1)
    drawing.text(16, low + 20, f"{MACHINE}: {len(rows) - 1} steps, from left to right", colour=GREY)
    return drawing.to_picture()
