"""Finding the best groups of a head by branch and bound, through the trees of a forest.

The score to beat is at first that of the group that was found last: heads of machines move by little. A node whose
bound is below the best score is left out; so is one whose bound is no better, if the choice among equals is by position
and it has none that would be chosen. A node in which all keys have the same score is taken as a whole, by its sum. So
ties are exact, and cheap where they fill boxes.
"""

from __future__ import annotations

from typing import Any

from softmachine.engines.fast.indexes.boxes import HUGE, bound
from softmachine.engines.fast.indexes.finding import (
    AVERAGE,
    LEFTMOST,
    accepted,
    at_corner,
    blank,
    concluded,
    member,
    search,
    take,
    when,
)
from softmachine.engines.fast.indexes.forest import BLOCK, COUNT, FINE, FIRST, LAST, LEAF, MANY, UNKNOWN
from softmachine.engines.fast.indexes.groups import GROUPS, HINT, compared, integer, score
from softmachine.engines.fast.indexes.kernels import LIMIT, kernel

DEEPEST = 128
"""More than twice the depth of a tree of as many groups as there may be."""


@kernel
def search_forest(
    keys: Any,
    places: Any,
    values: Any,
    table: Any,
    meta: Any,
    box: Any,
    order: Any,
    boxes: Any,
    marks: Any,
    stack: Any,
    corner: Any,
    query: Any,
    time: int,
    choice: int,
    fractional_keys: bool,
    fractions: bool,
    out: Any,
) -> int:
    """The same as `search`, by branch and bound through the trees of a forest; UNKNOWN if something does not fit."""
    groups = meta[GROUPS]
    if groups < MANY:
        count, bad = search(
            keys, places, values, table, meta, box, corner, query, time, choice, fractional_keys, fractions, out
        )
        return UNKNOWN if bad else count
    if time == 0 and not fractional_keys:
        g = at_corner(keys, table, box, corner, query)
        if g >= 0:
            return take(places, values, g, time, choice, out)
    best, count = meta[HINT], integer(0)
    n, d, bad = score(keys, best, query, when(places, best, time), time, fractional_keys)
    if bad:
        return UNKNOWN
    start, size = integer(0), BLOCK
    while 2 * size <= groups:
        size *= 2
    while size >= BLOCK:
        if groups // BLOCK * BLOCK & size:
            best, n, d, count, bad = descend(
                keys,
                places,
                values,
                order,
                boxes,
                marks,
                stack,
                start,
                size,
                query,
                time,
                choice,
                fractional_keys,
                fractions,
                out,
                best,
                n,
                d,
                count,
            )
            if bad:
                return UNKNOWN
            start += size
        size //= 2
    for g in range(start, groups):
        a, b, bad = score(keys, g, query, when(places, g, time), time, fractional_keys)
        sign, unsure = compared(a, b, n, d)
        if bad or unsure:
            return UNKNOWN
        if sign >= 0:
            best, count = accepted(places, values, g, sign, time, choice, fractions, out, best, count)
            n, d = a, b
    meta[HINT] = best
    return concluded(places, values, best, time, choice, count, out)[0]


@kernel
def descend(
    keys: Any,
    places: Any,
    values: Any,
    order: Any,
    boxes: Any,
    marks: Any,
    stack: Any,
    start: int,
    size: int,
    query: Any,
    time: int,
    choice: int,
    fractional_keys: bool,
    fractions: bool,
    out: Any,
    best: int,
    n: int,
    d: int,
    count: int,
) -> tuple[int, int, int, int, bool]:
    """Go through a tree of a forest, leaving out what cannot be best; what is best so far."""
    base, leaves = 2 * (start // LEAF), size // LEAF
    fine = FINE if fractional_keys else 1
    least = threshold(n, d, fine)
    stack[0, 0], stack[0, 1] = -1, HUGE  # below nothing comes the root
    top = 1
    while top:
        top -= 1
        t, most = stack[top, 0], stack[top, 1]
        if most < least:
            continue
        if t >= leaves - 1:
            first = start + (t - leaves + 1) * LEAF
            for p in range(first, first + LEAF):
                g = order[p, 0]
                a, b, bad = score(keys, g, query, when(places, g, time), time, fractional_keys)
                sign, unsure = compared(a, b, n, d)
                if bad or unsure:
                    return best, n, d, count, True
                if sign >= 0:
                    best, count = accepted(places, values, g, sign, time, choice, fractions, out, best, count)
                    n, d = a, b
            least = threshold(n, d, fine)
            continue
        under = top
        for child in range(2 * t + 1 if t >= 0 else 0, 2 * t + 3 if t >= 0 else 1):
            node = base + child
            most, same = bound(boxes, node, query)
            if time and most < HUGE:
                far = marks[node, LAST] if time > 0 else marks[node, FIRST]
                if abs(float(most)) + abs(float(time) * float(far)) * fine < LIMIT:
                    most += time * far * fine
                else:
                    most = HUGE
            if most < least:
                continue
            if choice != AVERAGE:
                place = places[best, member(time, choice)]
                if fine == 1 and most == n and not sooner_within(marks, node, place, choice):
                    continue
            elif same and time == 0 and fine == 1 and most < HUGE and marks[node, COUNT] != UNKNOWN:
                if most > n or count == 0:
                    best, n, count, least = order[first_below(child, start, leaves), 0], most, 0, most
                    blank(out, fractions)
                count = with_sum(marks, node, count, out)
                continue
            stack[top, 0], stack[top, 1] = child, most
            top += 1
        if top == under + 2 and stack[under, 1] > stack[under + 1, 1]:
            for k in range(2):
                stack[under, k], stack[under + 1, k] = stack[under + 1, k], stack[under, k]
    return best, n, d, count, False


@kernel
def threshold(n: int, d: int, fine: int) -> int:
    """No bound below this, in units of 1 / fine, can reach the score n/d."""
    if fine == 1:
        return n
    if abs(float(n)) * fine >= LIMIT:
        return -HUGE
    return n * fine // d


@kernel
def first_below(t: int, start: int, leaves: int) -> int:
    """Where the groups of a node of a tree begin."""
    while t < leaves - 1:
        t = 2 * t + 1
    return start + (t - leaves + 1) * LEAF


@kernel
def sooner_within(marks: Any, node: int, place: int, choice: int) -> bool:
    """Whether below a node there may be a position that is chosen before another one, if scores are equal."""
    return bool(marks[node, FIRST] < place if choice == LEFTMOST else marks[node, LAST] > place)


@kernel
def with_sum(marks: Any, node: int, count: int, out: Any) -> int:
    """Add the sum of a whole node; how many values there are then, UNKNOWN if that does not fit."""
    if count == UNKNOWN:
        return UNKNOWN
    for k in range(out.size):
        if abs(float(out[k])) + abs(float(marks[node, 3 + k])) >= LIMIT:
            return UNKNOWN
    for k in range(out.size):
        out[k] += marks[node, 3 + k]
    return int(count + marks[node, COUNT])
