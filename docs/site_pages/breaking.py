"""Error rates of softmax at growing scales, and the certified scale: a picture of checks and certificates."""

from __future__ import annotations

from dataclasses import replace

import softmachine as sm
from site_pages.colours import AMBER, GREY, PALE, RED, TEAL, shade
from softmachine.certify.certificate import replace_by_softmax
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.inspection.svg import Picture
from softmachine.inspection.svg.canvas import Drawing
from softmachine.ir import Program

CERTIFIED_LENGTH, CHECKED_LENGTH = 200, 4
SCALES = range(1, 25)
LEFT, LOW, STEP, HIGH = 56, 200, 21, 150


def draw_error_rates() -> Picture:
    """Draw, for each scale, the fraction of words with wrong output, and the certified scale."""
    hard = sm.compile("palindrome")
    program = hard.theorem.signals(hard.codec, "hard")
    certified = sm.certificate(hard, length=CERTIFIED_LENGTH).sharpness
    wrong = {scale: _error_rate(hard, replace_by_softmax(program, scale)) for scale in SCALES}
    drawing = Drawing("Wrong at small scales, right in between, proven from the certified scale on")
    drawing.text(LEFT, 24, f"words up to length {CHECKED_LENGTH} with wrong output", colour=GREY)
    drawing.box(_x(certified), LOW - HIGH, _x(SCALES[-1] + 1) - _x(certified), HIGH, fill=shade(0.12), edge=0)
    drawing.text(_x(certified) + 6, LOW - HIGH + 20, "proven", colour=TEAL)
    drawing.text(_x(certified) + 6, LOW - HIGH + 36, f"to {CERTIFIED_LENGTH}", colour=TEAL)
    for percent in (0, 50, 100):
        y = LOW - HIGH * percent / 100
        drawing.line(LEFT - 8, y, _x(SCALES[-1] + 1), y, colour=PALE)
        drawing.text(LEFT - 12, y + 4, f"{percent}%", size=11, anchor="end", colour=GREY)
    for scale, share in wrong.items():
        drawing.box(_x(scale) + 3, LOW - HIGH * share, STEP - 6, HIGH * share, fill=RED, edge=0)
        drawing.text(_x(scale) + STEP / 2, LOW + 18, str(scale), size=11, anchor="middle")
    right = 1 + max(scale for scale, share in wrong.items() if share)
    drawing.text(_x(right) + 8, LOW - 28, "all words of the check are right,", colour=AMBER)
    drawing.text(_x(right) + 8, LOW - 11, "without proof", colour=AMBER)
    drawing.text(LEFT, LOW + 40, "scale · gap", colour=GREY)
    return drawing.to_picture()


def _x(scale: int) -> float:
    return LEFT + STEP * (scale - 1)


def _error_rate(hard: Model, program: Program) -> float:
    """Return the fraction of short words on which a variant of a model is wrong."""
    report = sm.check(replace(hard, weights=compile_program(program)), up_to=CHECKED_LENGTH)
    return len(report.disagreements) / report.inputs
