"""Where softmax goes wrong, and from where on it is proven right: a picture of checks and certificates."""

from __future__ import annotations

from dataclasses import replace

import softmachine as sm
from site_pages.colours import AMBER, GREY, PALE, RED, TEAL, shade
from softmachine.certify.certificate import with_softmax
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.inspection.svg import Picture
from softmachine.inspection.svg.svg import Drawing
from softmachine.ir import Program

LENGTH, LONGEST = 200, 4
SCALES = range(1, 25)
LEFT, LOW, STEP, HIGH = 56, 200, 21, 150


def breaking() -> Picture:
    """For each scale, the share of words that softmax gets wrong; and where the certificate begins."""
    hard = sm.compile("palindrome")
    program = hard.theorem.signals(hard.codec, "hard")
    certified = sm.certificate(hard, length=LENGTH).sharpness
    wrong = {scale: _wrong(hard, with_softmax(program, scale)) for scale in SCALES}
    drawing = Drawing("Wrong at small scales, right in between, proven from the certificate on")
    drawing.text(LEFT, 24, f"words up to length {LONGEST} on which the model is wrong", colour=GREY)
    drawing.box(_x(certified), LOW - HIGH, _x(SCALES[-1] + 1) - _x(certified), HIGH, fill=shade(0.12), edge=0)
    drawing.text(_x(certified) + 6, LOW - HIGH + 20, "proven", colour=TEAL)
    drawing.text(_x(certified) + 6, LOW - HIGH + 36, f"to {LENGTH}", colour=TEAL)
    for percent in (0, 50, 100):
        y = LOW - HIGH * percent / 100
        drawing.line(LEFT - 8, y, _x(SCALES[-1] + 1), y, colour=PALE)
        drawing.text(LEFT - 12, y + 4, f"{percent}%", size=11, anchor="end", colour=GREY)
    for scale, share in wrong.items():
        drawing.box(_x(scale) + 3, LOW - HIGH * share, STEP - 6, HIGH * share, fill=RED, edge=0)
        drawing.text(_x(scale) + STEP / 2, LOW + 18, str(scale), size=11, anchor="middle")
    right = 1 + max(scale for scale, share in wrong.items() if share)
    drawing.text(_x(right) + 8, LOW - 28, "no word of the check is wrong,", colour=AMBER)
    drawing.text(_x(right) + 8, LOW - 11, "and nothing is proven", colour=AMBER)
    drawing.text(LEFT, LOW + 40, "scale · gap", colour=GREY)
    return drawing.picture()


def _x(scale: int) -> float:
    return LEFT + STEP * (scale - 1)


def _wrong(hard: Model, program: Program) -> float:
    """The share of short words on which a variant of a model is not what it should be."""
    report = sm.check(replace(hard, weights=compile_program(program)), up_to=LONGEST)
    return len(report.disagreements) / report.inputs
