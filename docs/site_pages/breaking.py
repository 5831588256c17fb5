"""Where softmax goes wrong, and from where on it is proven right: a picture of checks and certificates."""

from __future__ import annotations

from dataclasses import replace

import softmachine as sm
from site_pages.drawing import AMBER, GREY, INK, PALE, RED, TEAL, Drawing, shade
from softmachine.certify.certificate import with_softmax
from softmachine.compiler import compile_program
from softmachine.model import Model
from softmachine.signals import Program

LENGTH, LONGEST = 200, 4
SCALES = range(1, 25)


def breaking() -> Drawing:
    """For each scale, the share of words that softmax gets wrong; and where the certificate begins."""
    hard = sm.compile("palindrome")
    program = hard.theorem.signals(hard.codec, "hard")
    certified = sm.certificate(hard, length=LENGTH).sharpness
    picture = Drawing(590, 280, "Wrong at small scales, right in between, proven from the certificate on")
    left, low, step, high = 56, 210, 21, 160

    def x(scale: float) -> float:
        return left + step * (scale - 1)

    picture.box(x(certified), low - high, x(SCALES[-1] + 1) - x(certified), high, shade(0.12))
    picture.text(x(certified) + 8, low - high + 20, "proven", colour=TEAL)
    picture.text(x(certified) + 8, low - high + 38, f"for length {LENGTH}", size=11, colour=TEAL)
    for percent in (0, 50, 100):
        y = low - high * percent / 100
        picture.line((left - 8, y), (x(SCALES[-1] + 1), y), colour=PALE, width=1)
        picture.text(left - 12, y + 4, f"{percent}%", size=11, colour=GREY, at="end")
    wrong = [_wrong(hard, with_softmax(program, scale)) for scale in SCALES]
    for scale, share in zip(SCALES, wrong, strict=True):
        picture.box(x(scale) + 3, low - high * share, step - 6, high * share, RED, round_=2)
        picture.text(x(scale) + step / 2, low + 18, str(scale), size=11, colour=INK, at="middle")
    right = 1 + max(scale for scale, share in zip(SCALES, wrong, strict=True) if share)
    picture.text(x(right) + 8, low - 30, "no word of the check is wrong,", size=13, colour=AMBER)
    picture.text(x(right) + 8, low - 12, "and nothing is proven", size=13, colour=AMBER)
    picture.text(left, low + 44, "scale · gap", size=12, colour=GREY)
    picture.text(left, 26, f"words up to length {LONGEST} on which the model is wrong", size=12, colour=GREY)
    return picture


def _wrong(hard: Model, program: Program) -> float:
    """The share of short words on which a variant of a model is not what it should be."""
    report = sm.check(replace(hard, weights=compile_program(program)), up_to=LONGEST)
    return len(report.disagreements) / report.inputs
