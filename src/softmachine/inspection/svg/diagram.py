"""SVG of the architecture diagram: the residual stream from top to bottom, with the sublayers beside it."""

from __future__ import annotations

from textwrap import wrap

from softmachine.inspection.svg.canvas import FAINT, SIZE, SOFT, Drawing, Picture, width_of
from softmachine.transformer.diagram import Row, rows, title
from softmachine.transformer.weights import Transformer

LEFT, STREAM = 16.0, 110.0
"""The x coordinates of labels and of the residual stream."""
WIDEST, RESULT = 52, 60
"""The widths in characters of the text in a sublayer's box, and of the coordinates that it writes."""
LINE = 1.35 * SIZE
GAP = 8.0


def board_picture(transformer: Transformer) -> Picture:
    """Draw the architecture diagram of a transformer."""
    drawing = Drawing(title(transformer))
    y = 24.0
    for text in wrap(title(transformer), WIDEST + RESULT):
        drawing.text(LEFT, y, text, bold=True)
        y += LINE
    top = y + 4
    lines = list(rows(transformer))
    box = max(width_of(text) for row in lines for text in _wrapped(row.what, WIDEST)) + 16
    loop: float | None = None
    for row in lines:
        if loop is not None and not row.inside:
            _bracket(drawing, loop, y)
            loop = None
        if not row.what:
            drawing.text(STREAM + 30, y + LINE, row.label, colour=SOFT)
            y += LINE + GAP
            loop = y
            continue
        y = _sublayer(drawing, row, y, box)
    drawing.line(STREAM, top, STREAM, y, wide=2.5)
    return drawing.picture()


def _sublayer(drawing: Drawing, row: Row, y: float, box: float) -> float:
    """Draw the box of a sublayer and the coordinates that it writes; returns the y coordinate of the next one."""
    what, result = _wrapped(row.what, WIDEST), _wrapped(row.result, RESULT)
    high = LINE * max(len(what), len(result)) + GAP
    middle, left = y + high / 2, STREAM + 30
    drawing.text(LEFT, middle + SIZE / 3, row.label)
    drawing.line(STREAM, middle, left, middle, colour=SOFT)
    drawing.box(left, y, box, high, fill="#fafafa", colour=FAINT if row.what.startswith("feed") else "#888888")
    for k, text in enumerate(what):
        drawing.text(left + 8, y + GAP / 2 + LINE * (k + 0.75), text)
    drawing.line(left + box, middle, left + box + 18, middle, colour=SOFT)
    drawing.path(f"M{left + box + 13:.1f} {middle - 3:.1f}l5 3l-5 3", colour=SOFT)
    for k, text in enumerate(result):
        drawing.text(left + box + 26, y + GAP / 2 + LINE * (k + 0.75), text)
    return y + high + GAP


def _bracket(drawing: Drawing, start: float, end: float) -> None:
    """Draw the bracket of a loop."""
    drawing.path(f"M{STREAM - 10:.1f} {start:.1f}h-6V{end - GAP:.1f}h6", colour=SOFT, wide=1.5)


def _wrapped(text: str, most: int) -> list[str]:
    return wrap(text, most) or [""]
