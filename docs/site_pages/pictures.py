"""The pictures of the site. Each is drawn from a run, from scores or from a certificate that is computed for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from site_pages import breaking, tapes
from site_pages.drawing import AMBER, GREY, INK, PALE, TEAL, Drawing, shade
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
        ("text", "a machine, a formula"),
        ("theorem", "a proof, as signals"),
        ("weights", "exact, with names"),
        ("engine", "every number computed"),
        ("run", "tokens, then a verdict"),
    )
    picture = Drawing(760, 110, "From a text by a theorem to weights, and by an engine to a run")
    for k, (name, about) in enumerate(stages):
        left = 10 + 150 * k
        picture.box(left, 25, 132, 58, shade(0.08 + 0.07 * k), line=TEAL, round_=8)
        picture.text(left + 66, 50, name, size=15, at="middle")
        picture.text(left + 66, 69, about, size=10.5, colour=GREY, at="middle")
        if k:
            picture.line((left - 17, 54), (left - 3, 54), colour=TEAL, width=2)
            picture.line((left - 8, 49), (left - 3, 54), (left - 8, 59), colour=TEAL, width=2)
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


def _query() -> tuple[Look, list[float]]:
    """The head that finds the last write, and its scores at one position, below the best."""
    seen = _look("last write")
    best = max(seen.scores[QUERY])
    return seen, [float(best - score) for score in seen.scores[QUERY]]


def gap() -> Drawing:
    """All scores of one query, and the gap between the best one and the next."""
    seen, below = _query()
    picture = Drawing(760, 300, "Scores of one query: the best is ahead of all others by a gap")
    left, top, step, high = 64, 40, 42, 170
    worst = 4.0

    def y(distance: float) -> float:
        return top + high * min(distance, worst) / worst

    picture.text(left - 44, 22, "score, below the best", size=12, colour=GREY)
    for k in range(int(worst) + 1):
        picture.line((left - 12, y(k)), (left + step * len(below), y(k)), colour=PALE, width=1)
        picture.text(left - 18, y(k) + 4, f"−{k}" if k else "0", size=11, colour=GREY, at="end")
    for j, distance in enumerate(below):
        x, cut = left + step * j + step / 2, distance > worst
        picture.dot(x, y(distance), 6, TEAL if not distance else PALE if cut else INK)
        if cut:
            picture.text(x, y(worst) + 20, f"−{distance:.0f}", size=10.5, colour=GREY, at="middle")
        picture.text(x, top + high + 46, _short(seen.tokens[j]), size=10, at="middle", colour=INK if not distance else GREY)
        picture.text(x, top + high + 62, str(j), size=10, at="middle", colour=GREY)
    best, second = below.index(0.0), min(distance for distance in below if distance)
    x = left + step * best + step / 2 - 16
    picture.line((x, y(0)), (x, y(second)), colour=AMBER, width=3)
    picture.text(x - 8, y(second) + 16, f"gap {second:.2f}; promised: {seen.gaps[QUERY]}", colour=AMBER, at="end")
    return picture


def _short(token: str) -> str:
    """A token in few letters: what was written, and the move."""
    return " ".join(token.strip("()").split(",")[1:]) or token


def temperature() -> Drawing:
    """The weights of the same query by softmax, at four scales."""
    seen, below = _query()
    picture = Drawing(760, 60 + 52 * len(SHARPNESSES), "Softmax at four scales: the larger the scale, the harder")
    left, step = 120, 38
    for j, token in enumerate(seen.tokens[: len(below)]):
        picture.text(left + step * j + step / 2, 30, _short(token), size=10, at="middle", colour=GREY)
    for k, sharpness in enumerate(SHARPNESSES):
        top = 44 + 52 * k
        picture.text(left - 12, top + 26, f"scale {sharpness} / gap", size=12, at="end")
        for j, weight in enumerate(seen.soft(QUERY, sharpness)):
            picture.box(left + step * j, top, step - 3, 40, shade(0.04 + 0.96 * weight), round_=4)
            if weight >= 0.005:
                ink = "#ffffff" if weight > 0.5 else INK
                picture.text(left + step * j + step / 2 - 1, top + 25, f"{weight:.2f}", size=11, at="middle", colour=ink)
    return picture


def engines() -> Drawing:
    """What two engines compute for the same head: every score, or the one that an index finds."""
    seen, cell, top = _look("last write"), 9, 48
    size = cell * len(seen.tokens)
    picture = Drawing(2 * size + 110, size + top + 40, "The dense engine computes every score, the fast one asks an index")
    for k, name in enumerate(("dense", "fast")):
        left, count = 30 + k * (size + 50), 0
        for i in range(len(seen.tokens)):
            for j, weight in enumerate(seen.hard(i)):
                computed = name == "dense" or weight == 1
                count += computed
                fill = TEAL if weight == 1 else shade(0.35) if computed else shade(0.03)
                picture.box(left + j * cell, top + i * cell, cell - 1, cell - 1, fill)
        picture.text(left, top - 16, f"{name}: {count} scores", size=13)
        picture.text(left, top + size + 20, "a row a token, a column a key", size=11, colour=GREY)
    return picture
