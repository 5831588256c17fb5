"""Where softmax goes wrong, and from where on it is proven right: a picture of checks and certificates."""

from __future__ import annotations

from dataclasses import replace

import softmachine as sm
from site_pages.drawing import AMBER, GREY, INK, PALE, RED, TEAL, Drawing, shade
from softmachine.certify.certificate import with_softmax
from softmachine.compiler import compile_program

LENGTH, LONGEST = 200, 4
SCALES = range(1, 27)


def breaking() -> Drawing:
    """For each scale, the share of words that softmax gets wrong; and where the certificate begins."""
    hard = sm.compile("palindrome")
    program = hard.theorem.signals(hard.codec, "hard")
    certified = sm.certificate(hard, length=LENGTH).sharpness
    picture = Drawing(760, 280, "Wrong at small scales, right in between, proven from the certificate on")
    left, low, step, high = 60, 210, 26, 160

    def x(scale: float) -> float:
        return left + step * (scale - 1)

    picture.box(x(certified), low - high, x(SCALES[-1] + 1) - x(certified), high, shade(0.12))
    picture.text(x(certified) + 8, low - high + 20, "proven", colour=TEAL)
    picture.text(x(certified) + 8, low - high + 38, f"for length {LENGTH}", size=11, colour=TEAL)
    for share in (0, 50, 100):
        y = low - high * share / 100
        picture.line((left - 8, y), (x(SCALES[-1] + 1), y), colour=PALE, width=1)
        picture.text(left - 12, y + 4, f"{share}%", size=11, colour=GREY, at="end")
    right = None
    for scale in SCALES:
        wrong = 0.0
        if right is None:
            soft = replace(hard, weights=compile_program(with_softmax(program, scale)))
            report = sm.check(soft, up_to=LONGEST)
            wrong = len(report.disagreements) / report.inputs
            right = None if wrong else scale
        picture.box(x(scale) + 4, low - high * wrong, step - 8, high * wrong, RED, round_=2)
        picture.text(x(scale) + step / 2, low + 18, str(scale), size=10.5, colour=INK, at="middle")
    if right is not None:
        picture.text(x(right) + 8, low - 30, "no word of the check is wrong,", size=12, colour=AMBER)
        picture.text(x(right) + 8, low - 13, "and nothing is proven", size=12, colour=AMBER)
    picture.text(left, low + 44, "scale · gap", size=12, colour=GREY)
    picture.text(left, 26, f"words up to length {LONGEST} on which the model is wrong", size=12, colour=GREY)
    return picture
