"""SVG of the architecture diagram: the residual stream from top to bottom, with the sublayers beside it."""

from __future__ import annotations

from textwrap import wrap

from softmachine.inspection.svg.canvas import FONT_SIZE, LIGHT_COLOUR, MUTED_COLOUR, Drawing, Picture, text_width
from softmachine.transformer.diagram import DiagramRow, diagram_rows, diagram_title
from softmachine.transformer.weights import Transformer

LABEL_X, STREAM_X = 16.0, 110.0
"""The x coordinates of labels and of the residual stream."""
MAX_BOX_CHARACTERS, MAX_RESULT_CHARACTERS = 52, 60
"""The widths in characters of the text in a sublayer's box, and of the coordinates that it writes."""
LINE_HEIGHT = 1.35 * FONT_SIZE
GAP = 8.0


def draw_architecture(transformer: Transformer) -> Picture:
    """Draw the architecture diagram of a transformer."""
    drawing = Drawing(diagram_title(transformer))
    y = 24.0
    for text in wrap(diagram_title(transformer), MAX_BOX_CHARACTERS + MAX_RESULT_CHARACTERS):
        drawing.text(LABEL_X, y, text, bold=True)
        y += LINE_HEIGHT
    top = y + 4
    lines = list(diagram_rows(transformer))
    box = max(text_width(text) for row in lines for text in _wrapped(row.component, MAX_BOX_CHARACTERS)) + 16
    loop: float | None = None
    for row in lines:
        if loop is not None and not row.in_loop:
            _bracket(drawing, loop, y)
            loop = None
        if not row.component:
            drawing.text(STREAM_X + 30, y + LINE_HEIGHT, row.label, colour=MUTED_COLOUR)
            y += LINE_HEIGHT + GAP
            loop = y
            continue
        y = _sublayer(drawing, row, y, box)
    drawing.line(STREAM_X, top, STREAM_X, y, width=2.5)
    return drawing.to_picture()


def _sublayer(drawing: Drawing, row: DiagramRow, y: float, box: float) -> float:
    """Draw the box of a sublayer and the coordinates that it writes; returns the y coordinate of the next one."""
    what, result = _wrapped(row.component, MAX_BOX_CHARACTERS), _wrapped(row.targets, MAX_RESULT_CHARACTERS)
    high = LINE_HEIGHT * max(len(what), len(result)) + GAP
    middle, left = y + high / 2, STREAM_X + 30
    drawing.text(LABEL_X, middle + FONT_SIZE / 3, row.label)
    drawing.line(STREAM_X, middle, left, middle, colour=MUTED_COLOUR)
    drawing.box(
        left, y, box, high, fill="#fafafa", colour=LIGHT_COLOUR if row.component.startswith("feed") else "#888888"
    )
    for k, text in enumerate(what):
        drawing.text(left + 8, y + GAP / 2 + LINE_HEIGHT * (k + 0.75), text)
    drawing.line(left + box, middle, left + box + 18, middle, colour=MUTED_COLOUR)
    drawing.path(f"M{left + box + 13:.1f} {middle - 3:.1f}l5 3l-5 3", colour=MUTED_COLOUR)
    for k, text in enumerate(result):
        drawing.text(left + box + 26, y + GAP / 2 + LINE_HEIGHT * (k + 0.75), text)
    return y + high + GAP


def _bracket(drawing: Drawing, start: float, end: float) -> None:
    """Draw the bracket of a loop."""
    drawing.path(f"M{STREAM_X - 10:.1f} {start:.1f}h-6V{end - GAP:.1f}h6", colour=MUTED_COLOUR, width=1.5)


def _wrapped(text: str, most: int) -> list[str]:
    return wrap(text, most) or [""]
