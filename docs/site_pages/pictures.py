"""The pictures of the site, drawn from runs, scores and certificates that are computed at build time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import log2

import softmachine as sm
from site_pages import breaking, tapes, theorems
from site_pages.colours import AMBER, GREY, INK, PALE, PAPER, TEAL, shade
from site_pages.heads import HeadScores, compute_scores
from softmachine.inspection.svg import Picture
from softmachine.inspection.svg.canvas import Drawing

WORD = "abba"
HEADS = ("mean of moves", "recover head position", "last write")
QUERY = 13
"""The position of the query: several keys are about its cell."""
STEP = 8
SHARPNESSES = (1, 3, 8, 21)


@cache
def pictures() -> dict[str, str]:
    """Return all pictures as SVG, by name."""
    drawn: dict[str, Callable[[], Picture]] = {
        "pipeline": draw_pipeline,
        "busy-beaver": tapes.draw_space_time,
        "heads": draw_heads,
        "step": draw_step,
        "gap": draw_gap,
        "temperature": draw_temperature,
        "breaking": breaking.draw_error_rates,
        "engines": draw_engines,
    }
    return {name: draw().svg for name, draw in drawn.items()} | theorems.pictures()


@cache
def _scores(head: str) -> HeadScores:
    return compute_scores("palindrome", WORD, head)


def draw_pipeline() -> Picture:
    """Draw the stages from a source to a run as a row of boxes."""
    stages = (
        ("source", "a program"),
        ("theorem", "a proof"),
        ("weights", "exact, named"),
        ("engine", "computes"),
        ("run", "tokens"),
    )
    drawing = Drawing("A theorem turns a source into weights, and an engine runs them")
    for k, (name, about) in enumerate(stages):
        left = 12 + 118 * k
        drawing.box(left, 16, 104, 56, fill=shade(0.08 + 0.07 * k), colour=TEAL)
        drawing.text(left + 52, 41, name, size=15, anchor="middle")
        drawing.text(left + 52, 60, about, size=11.5, anchor="middle", colour=GREY)
        if k:
            drawing.line(left - 12, 44, left - 3, 44, colour=TEAL, width=2)
            drawing.path(f"M{left - 7} 40L{left - 3} 44L{left - 7} 48", colour=TEAL, width=2)
    return drawing.to_picture()


def draw_step() -> Picture:
    """Draw the activations of one step of the palindrome machine."""
    return sm.picture(sm.run("palindrome", WORD), step=STEP)


def draw_heads() -> Picture:
    """Draw the attention patterns of three heads of the palindrome machine: a row is a query, a column a key."""
    cell, top = 9, 36
    size = cell * len(_scores(HEADS[0]).tokens)
    drawing = Drawing("The positions that three heads attend to in the run on abba")
    for k, name in enumerate(HEADS):
        left, scores = 16 + k * (size + 30), _scores(name)
        drawing.text(left, top - 12, name)
        for i in range(len(scores.tokens)):
            for j, weight in enumerate(scores.hard_weights(i)):
                _cell(drawing, left + j * cell, top + i * cell, cell, shade(0.06 + 0.94 * weight))
        drawing.text(left, top + size + 16, "early → late keys", size=11, colour=GREY)
    return drawing.to_picture()


def _cell(drawing: Drawing, x: float, y: float, size: float, fill: str) -> None:
    drawing.box(x, y, size - 1, size - 1, fill=fill, edge=0)


def draw_gap() -> Picture:
    """Draw all scores of one query, and the gap between the best one and the next."""
    scores, left, top, step = _scores("last write"), 96, 46, 36
    below, least = scores.deficits(QUERY), scores.gap(QUERY)
    drawing = Drawing("Scores of one query: the best exceeds all others by the gap")

    def y(distance: Fraction) -> float:
        """Return the height of a score: the best at the top, the others by the logarithm of their distance."""
        return top + (22 * (log2(distance) + 6.2) if distance else 0)

    drawing.text(16, 24, "score", colour=GREY)
    for distance in (Fraction(0), *(Fraction(4**k, 16) for k in range(5))):
        drawing.line(left - 8, y(distance), left + step * len(below), y(distance), colour=PALE)
        words = f"best − {distance}" if distance else "best"
        drawing.text(left - 14, y(distance) + 4, words, size=11, anchor="end", colour=GREY)
    for j, distance in enumerate(below):
        x, colour = left + step * (j + 0.5), GREY if distance else TEAL
        drawing.box(x - 5, y(distance) - 5, 10, 10, fill=INK if distance else TEAL, edge=0)
        drawing.text(x, 304, _short(scores.tokens[j]), size=11, anchor="middle", colour=colour)
        drawing.text(x, 319, str(j), size=10, anchor="middle", colour=colour)
    x = left + step * (below.index(Fraction(0)) + 0.5)
    drawing.path(f"M{x} {y(Fraction(0)) + 7}V{y(least):.1f}H{x - step + 8}", colour=AMBER, width=2)
    drawing.text(x + 8, y(least) - 2, f"gap {least}", size=13, colour=AMBER)
    return drawing.to_picture()


def _short(token: str) -> str:
    """Abbreviate a token to the symbol written and the move."""
    return " ".join(token.strip("()").split(",")[1:]) or token


def draw_temperature() -> Picture:
    """Draw the softmax weights of the same query at four scales."""
    scores, left, wide = _scores("last write"), 118, 36
    drawing = Drawing("Softmax at four scales: the larger the scale, the harder")
    for j, token in enumerate(scores.tokens[: QUERY + 1]):
        drawing.text(left + wide * (j + 0.46), 24, _short(token), size=11, anchor="middle", colour=GREY)
    for k, sharpness in enumerate(SHARPNESSES):
        top = 36 + 48 * k
        drawing.text(left - 10, top + 24, f"scale {sharpness} / gap", anchor="end")
        for j, weight in enumerate(scores.softmax_weights(QUERY, sharpness)):
            drawing.box(left + wide * j, top, wide - 3, 40, fill=shade(0.04 + 0.96 * weight), edge=0)
            if weight >= 0.005:
                ink = PAPER if weight > 0.5 else INK
                drawing.text(left + wide * (j + 0.46), top + 24, f"{weight:.2f}", anchor="middle", colour=ink)
    return drawing.to_picture()


def draw_engines() -> Picture:
    """Draw the scores that the engines compute for one head: all of them, or the one that an index finds."""
    scores, cell, top = _scores("last write"), 9, 36
    size = cell * len(scores.tokens)
    drawing = Drawing("The dense engine computes every score, the fast one queries an index")
    for k, (name, what) in enumerate((("dense", "scores"), ("fast", "index queries"))):
        left, count = 16 + k * (size + 50), 0
        for i in range(len(scores.tokens)):
            for j, weight in enumerate(scores.hard_weights(i)):
                computed = name == "dense" or weight == 1
                count += computed
                fill = TEAL if weight == 1 else shade(0.35) if computed else shade(0.03)
                _cell(drawing, left + j * cell, top + i * cell, cell, fill)
        drawing.text(left, top - 12, f"{name}: {count} {what}")
        drawing.text(left, top + size + 16, "a row is a token, a column a key", size=11, colour=GREY)
    return drawing.to_picture()
