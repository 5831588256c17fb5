"""The pictures of the site. Each is drawn from a run, from scores or from a certificate that is computed for it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import log2

from site_pages import breaking, tapes
from site_pages.drawing import AMBER, GREY, INK, PALE, PAPER, TEAL, Drawing, shade
from site_pages.heads import Look, look

WORD = "abba"
HEADS = ("mean of moves", "undo 1/(i+1) of head", "last write")
QUERY = 13
"""The position whose scores are shown: two tokens wrote to the cell that the head is on, one right after the other."""
SHARPNESSES = (1, 3, 8, 21)


@cache
def pictures() -> dict[str, str]:
    """All pictures, as SVG."""
    drawn: dict[str, Callable[[], Drawing]] = {
        "pipeline": pipeline,
        "busy-beaver": tapes.space_time,
        "heads": heads,
        "gap": gap,
        "temperature": temperature,
        "breaking": breaking.breaking,
        "engines": engines,
    }
    return {name: str(draw()) for name, draw in drawn.items()}


@cache
def _look(head: str) -> Look:
    return look("palindrome", WORD, head)


def pipeline() -> Drawing:
    """The way from a text to a run, as a row of boxes."""
    stages = (
        ("text", "what you write"),
        ("theorem", "a proof"),
        ("weights", "exact, named"),
        ("engine", "computes"),
        ("run", "said in tokens"),
    )
    picture = Drawing(600, 96, "From a text by a theorem to weights, and by an engine to a run")
    for k, (name, about) in enumerate(stages):
        left = 12 + 118 * k
        picture.box(left, 18, 104, 58, shade(0.08 + 0.07 * k), line=TEAL, round_=8)
        picture.text(left + 52, 44, name, size=16, at="middle")
        picture.text(left + 52, 63, about, size=12, colour=GREY, at="middle")
        if k:
            picture.line((left - 12, 47), (left - 2, 47), colour=TEAL, width=2)
            picture.line((left - 6, 43), (left - 2, 47), (left - 6, 51), colour=TEAL, width=2)
    return picture


def heads() -> Drawing:
    """What three heads of the palindrome machine look at: a row a position, a column a key."""
    cell, top = 9, 44
    size = cell * len(_look(HEADS[0]).tokens)
    picture = Drawing(3 * (size + 34) + 20, size + top + 34, "What three heads look at while abba is worked on")
    for k, name in enumerate(HEADS):
        left, seen = 20 + k * (size + 34), _look(name)
        picture.text(left, top - 14, name, size=13)
        for i in range(len(seen.tokens)):
            for j, weight in enumerate(seen.hard(i)):
                picture.box(left + j * cell, top + i * cell, cell - 1, cell - 1, shade(0.06 + 0.94 * weight))
        picture.text(left, top + size + 18, "earlier keys → later keys", size=11, colour=GREY)
    return picture


def _query() -> tuple[Look, list[Fraction]]:
    """The head that finds the last write, and its scores at one position, below the best."""
    seen = _look("last write")
    best = max(seen.scores[QUERY])
    return seen, [best - score for score in seen.scores[QUERY]]


def gap() -> Drawing:
    """All scores of one query, and the gap between the best one and the next."""
    seen, below = _query()
    left, top, step = 90, 52, 36
    picture = Drawing(
        left + step * len(below) + 14, 340, "Scores of one query: the best is ahead of all others by a gap"
    )

    def y(distance: Fraction) -> float:
        """The best one above, the others by the logarithm of their distance from it: small ones are what matters."""
        return top + (22 * (log2(distance) + 6.2) if distance else 0)

    right = left + step * len(below)
    picture.text(16, 28, "score", size=12, colour=GREY)
    for distance in (Fraction(0), *(Fraction(4**k, 16) for k in range(5))):
        picture.line((left - 8, y(distance)), (right, y(distance)), colour=PALE, width=1)
        picture.text(
            left - 14, y(distance) + 4, f"best − {distance}" if distance else "best", size=11, colour=GREY, at="end"
        )
    for j, distance in enumerate(below):
        x = left + step * j + step / 2
        picture.dot(x, y(distance), 6 if distance else 7, INK if distance else TEAL)
        picture.text(x, 310, _short(seen.tokens[j]), size=11, at="middle", colour=GREY if distance else TEAL)
        picture.text(x, 326, str(j), size=9.5, at="middle", colour=GREY)
    best, second = below.index(Fraction(0)), min(distance for distance in below if distance)
    x = left + step * best + step / 2
    picture.line((x, y(Fraction(0)) + 9), (x, y(second)), (x - step + 8, y(second)), colour=AMBER, width=2)
    picture.text(
        x + 8,
        y(second) - 4,
        f"gap {second}, as promised" if second == seen.gaps[QUERY] else f"gap {second}",
        colour=AMBER,
    )
    return picture


def _short(token: str) -> str:
    """A token in few letters: what was written, and the move."""
    return " ".join(token.strip("()").split(",")[1:]) or token


def temperature() -> Drawing:
    """The weights of the same query by softmax, at four scales."""
    seen, below = _query()
    left, step = 104, 36
    size = (left + step * len(below) + 14, 60 + 52 * len(SHARPNESSES))
    picture = Drawing(*size, "Softmax at four scales: the larger the scale, the harder")
    for j, token in enumerate(seen.tokens[: len(below)]):
        picture.text(left + step * j + step / 2, 32, _short(token), size=11, at="middle", colour=GREY)
    for k, sharpness in enumerate(SHARPNESSES):
        top = 44 + 52 * k
        picture.text(left - 10, top + 25, f"scale {sharpness} / gap", size=12, at="end")
        for j, weight in enumerate(seen.soft(QUERY, sharpness)):
            picture.box(left + step * j, top, step - 3, 40, shade(0.04 + 0.96 * weight), round_=4)
            if weight >= 0.005:
                ink = PAPER if weight > 0.5 else INK
                picture.text(left + step * (j + 0.46), top + 25, f"{weight:.2f}", size=12, at="middle", colour=ink)
    return picture


def engines() -> Drawing:
    """What two engines compute for the same head: every score, or the one that an index finds."""
    seen, cell, top = _look("last write"), 9, 48
    size = cell * len(seen.tokens)
    picture = Drawing(
        2 * size + 110, size + top + 40, "The dense engine computes every score, the fast one asks an index"
    )
    for k, (name, what) in enumerate((("dense", "scores"), ("fast", "questions to an index"))):
        left, count = 30 + k * (size + 50), 0
        for i in range(len(seen.tokens)):
            for j, weight in enumerate(seen.hard(i)):
                computed = name == "dense" or weight == 1
                count += computed
                fill = TEAL if weight == 1 else shade(0.35) if computed else shade(0.03)
                picture.box(left + j * cell, top + i * cell, cell - 1, cell - 1, fill)
        picture.text(left, top - 16, f"{name}: {count} {what}", size=13)
        picture.text(left, top + size + 20, "a row a token, a column a key", size=11, colour=GREY)
    return picture
