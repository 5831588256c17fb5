"""The pictures of the site. Each is drawn from a run, from scores or from certificates that are computed for it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import log2

import softmachine as sm
from site_pages import breaking, tapes, theorems
from site_pages.colours import AMBER, GREY, INK, PALE, PAPER, TEAL, shade
from site_pages.heads import Look, look
from softmachine.inspection.svg import Picture
from softmachine.inspection.svg.svg import Drawing

WORD = "abba"
HEADS = ("mean of moves", "undo 1/(i+1) of head", "last write")
QUERY = 13
"""The position whose scores are shown: several tokens stand for the cell that the head is on."""
STEP = 8
SHARPNESSES = (1, 3, 8, 21)


@cache
def pictures() -> dict[str, str]:
    """All pictures, as SVG."""
    drawn: dict[str, Callable[[], Picture]] = {
        "pipeline": pipeline,
        "busy-beaver": tapes.space_time,
        "heads": heads,
        "step": step,
        "gap": gap,
        "temperature": temperature,
        "breaking": breaking.breaking,
        "engines": engines,
    }
    return {name: draw().svg for name, draw in drawn.items()} | theorems.pictures()


@cache
def _look(head: str) -> Look:
    return look("palindrome", WORD, head)


def pipeline() -> Picture:
    """The way from a text to a run, as a row of boxes."""
    stages = (
        ("text", "you write it"),
        ("theorem", "a proof"),
        ("weights", "exact, named"),
        ("engine", "computes"),
        ("run", "in tokens"),
    )
    drawing = Drawing("From a text by a theorem to weights, and by an engine to a run")
    for k, (name, about) in enumerate(stages):
        left = 12 + 118 * k
        drawing.box(left, 16, 104, 56, fill=shade(0.08 + 0.07 * k), colour=TEAL)
        drawing.text(left + 52, 41, name, size=15, anchor="middle")
        drawing.text(left + 52, 60, about, size=11.5, anchor="middle", colour=GREY)
        if k:
            drawing.line(left - 12, 44, left - 3, 44, colour=TEAL, wide=2)
            drawing.path(f"M{left - 7} 40L{left - 3} 44L{left - 7} 48", colour=TEAL, wide=2)
    return drawing.picture()


def step() -> Picture:
    """One step of the palindrome machine, from the inside."""
    return sm.picture(sm.run("palindrome", WORD), step=STEP)


def heads() -> Picture:
    """What three heads of the palindrome machine look at: a row a position, a column a key."""
    cell, top = 9, 36
    size = cell * len(_look(HEADS[0]).tokens)
    drawing = Drawing("What three heads look at while abba is worked on")
    for k, name in enumerate(HEADS):
        left, seen = 16 + k * (size + 30), _look(name)
        drawing.text(left, top - 12, name)
        for i in range(len(seen.tokens)):
            for j, weight in enumerate(seen.hard(i)):
                _cell(drawing, left + j * cell, top + i * cell, cell, shade(0.06 + 0.94 * weight))
        drawing.text(left, top + size + 16, "early → late keys", size=11, colour=GREY)
    return drawing.picture()


def _cell(drawing: Drawing, x: float, y: float, size: float, fill: str) -> None:
    drawing.box(x, y, size - 1, size - 1, fill=fill, edge=0)


def gap() -> Picture:
    """All scores of one query, and the gap between the best one and the next."""
    seen, left, top, step = _look("last write"), 96, 46, 36
    below, least = seen.below(QUERY), seen.gap(QUERY)
    drawing = Drawing("Scores of one query: the best is ahead of all others by a gap")

    def y(distance: Fraction) -> float:
        """The best one above, the others by the logarithm of their distance from it: small ones are what matters."""
        return top + (22 * (log2(distance) + 6.2) if distance else 0)

    drawing.text(16, 24, "score", colour=GREY)
    for distance in (Fraction(0), *(Fraction(4**k, 16) for k in range(5))):
        drawing.line(left - 8, y(distance), left + step * len(below), y(distance), colour=PALE)
        words = f"best − {distance}" if distance else "best"
        drawing.text(left - 14, y(distance) + 4, words, size=11, anchor="end", colour=GREY)
    for j, distance in enumerate(below):
        x, colour = left + step * (j + 0.5), GREY if distance else TEAL
        drawing.box(x - 5, y(distance) - 5, 10, 10, fill=INK if distance else TEAL, edge=0)
        drawing.text(x, 304, _short(seen.tokens[j]), size=11, anchor="middle", colour=colour)
        drawing.text(x, 319, str(j), size=10, anchor="middle", colour=colour)
    x = left + step * (below.index(Fraction(0)) + 0.5)
    drawing.path(f"M{x} {y(Fraction(0)) + 7}V{y(least):.1f}H{x - step + 8}", colour=AMBER, wide=2)
    drawing.text(x + 8, y(least) - 2, f"gap {least}", size=13, colour=AMBER)
    return drawing.picture()


def _short(token: str) -> str:
    """A token in few letters: what was written, and the move."""
    return " ".join(token.strip("()").split(",")[1:]) or token


def temperature() -> Picture:
    """The weights of the same query by softmax, at four scales."""
    seen, left, wide = _look("last write"), 118, 36
    drawing = Drawing("Softmax at four scales: the larger the scale, the harder")
    for j, token in enumerate(seen.tokens[: QUERY + 1]):
        drawing.text(left + wide * (j + 0.46), 24, _short(token), size=11, anchor="middle", colour=GREY)
    for k, sharpness in enumerate(SHARPNESSES):
        top = 36 + 48 * k
        drawing.text(left - 10, top + 24, f"scale {sharpness} / gap", anchor="end")
        for j, weight in enumerate(seen.soft(QUERY, sharpness)):
            drawing.box(left + wide * j, top, wide - 3, 40, fill=shade(0.04 + 0.96 * weight), edge=0)
            if weight >= 0.005:
                ink = PAPER if weight > 0.5 else INK
                drawing.text(left + wide * (j + 0.46), top + 24, f"{weight:.2f}", anchor="middle", colour=ink)
    return drawing.picture()


def engines() -> Picture:
    """What two engines compute for the same head: every score, or the one that an index finds."""
    seen, cell, top = _look("last write"), 9, 36
    size = cell * len(seen.tokens)
    drawing = Drawing("The dense engine computes every score, the fast one asks an index")
    for k, (name, what) in enumerate((("dense", "scores"), ("fast", "questions to an index"))):
        left, count = 16 + k * (size + 50), 0
        for i in range(len(seen.tokens)):
            for j, weight in enumerate(seen.hard(i)):
                computed = name == "dense" or weight == 1
                count += computed
                fill = TEAL if weight == 1 else shade(0.35) if computed else shade(0.03)
                _cell(drawing, left + j * cell, top + i * cell, cell, fill)
        drawing.text(left, top - 12, f"{name}: {count} {what}")
        drawing.text(left, top + size + 16, "a row a token, a column a key", size=11, colour=GREY)
    return drawing.picture()
