"""Oriented boxes around keys: what a k-d tree knows of the keys below a node, in exact integers.

Axis-aligned boxes are useless for keys on a curve, such as (x, x²): their best corner is far from every key. So a box
is given in coordinates r of its own, key = L r with a unit lower triangular matrix L of integers, as one range for each
coordinate of r. Any such L gives a sound bound, q · key = (Lᵀ q) · r; the one that is used follows from regression
(each component on those before it, narrow ones first), so that (x, x²) between u and v is x, and the small rest of
x² - (u+v) x. A row of integers holds the box: the order of the components, the slopes of L below its diagonal, the
lower ends, the upper ends.
"""

from __future__ import annotations

from typing import Any

from softmachine.engines.fast.indexes.kernels import LIMIT, kernel

HUGE = 1 << 62
"""Stands for a bound that does not fit; larger than every number that does."""
STEEPEST = 1 << 40
"""Slopes are not larger than this."""
OBLIQUE = 8
"""Keys of more components have boxes along the axes: there are too many slopes, and they help too little."""


def box_width(components: int) -> int:
    """How many integers a box takes."""
    slopes = components * (components - 1) // 2 if components <= OBLIQUE else 0
    return 3 * components + slopes


@kernel
def slope_place(components: int, below: int, above: int) -> int:
    """Where in a box the slope of one component on an earlier one is."""
    return components + below * (below - 1) // 2 + above


@kernel
def lower_ends(components: int) -> int:
    """Where in a box the lower ends begin."""
    return components + (components * (components - 1) // 2 if components <= OBLIQUE else 0)


@kernel
def upper_ends(components: int) -> int:
    """Where in a box the upper ends begin."""
    return lower_ends(components) + components


@kernel
def enclose(boxes: Any, node: int, near: Any, order: Any, start: int, count: int, slack: int, rest: Any) -> None:
    """Put a box around the keys order[start : start + count], whose coordinates in it are left in ``rest``.

    Args:
        boxes: The boxes, a row each.
        node: The row that is written.
        near: For each key its components, rounded down if slack is 1 (exact if it is 0); HUGE if they do not fit.
        order: The keys of all nodes.
        start: Where those of this node begin.
        count: How many they are.
        slack: How much is lost by rounding.
        rest: A row for each place in ``order``.
    """
    d = near.shape[1]
    fits = _sorted_components(boxes, node, near, order, start, count)
    for p in range(start, start + count):
        for m in range(d):
            rest[p, m] = near[order[p], boxes[node, m]]
    for m in range(d if d <= OBLIQUE else 0):
        for k in range(m + 1, d):
            boxes[node, slope_place(d, k, m)] = _regressed(rest, start, count, k, m) if fits else 0
    low, high = lower_ends(d), upper_ends(d)
    for m in range(d):
        least = most = rest[start, m]
        for p in range(start + 1, start + count):
            least, most = min(least, rest[p, m]), max(most, rest[p, m])
        boxes[node, low + m], boxes[node, high + m] = least, most
    if slack:
        _widened(boxes, node, d)
    if not fits:
        for m in range(d):
            boxes[node, low + m], boxes[node, high + m] = -HUGE, HUGE


@kernel
def _sorted_components(boxes: Any, node: int, near: Any, order: Any, start: int, count: int) -> bool:
    """Write the components in the order of their extents; whether all keys fit."""
    d = near.shape[1]
    fits = True
    for m in range(d):
        boxes[node, m] = m
    for m in range(d):
        least = most = near[order[start], m]
        for p in range(start, start + count):
            x = near[order[p], m]
            least, most = min(least, x), max(most, x)
        if most >= HUGE:
            fits = False
            most = least
        boxes[node, d + m] = most - least
    for m in range(1, d):
        k = m
        while k > 0 and boxes[node, d + boxes[node, k]] < boxes[node, d + boxes[node, k - 1]]:
            boxes[node, k], boxes[node, k - 1] = boxes[node, k - 1], boxes[node, k]
            k -= 1
    return fits


@kernel
def _regressed(rest: Any, start: int, count: int, k: int, m: int) -> int:
    """Take from a component the multiple of another that leaves least of it; which multiple that is.

    The multiple is found in floating point and rounded to an integer: any integer is right, some leave less.
    """
    middle, other = float(rest[start, m]), float(rest[start, k])
    square = both = size = largest = mean_m = mean_k = 0.0
    for p in range(start, start + count):
        x, y = float(rest[p, m]) - middle, float(rest[p, k]) - other
        mean_m += x
        mean_k += y
        square += x * x
        both += x * y
        size = max(size, abs(float(rest[p, m])))
        largest = max(largest, abs(float(rest[p, k])))
    square -= mean_m * mean_m / count
    both -= mean_m * mean_k / count
    if square <= 0.0 or abs(both) >= square * STEEPEST:
        return 0
    slope = round(both / square)
    if slope == 0 or largest + abs(float(slope)) * size >= LIMIT:
        return 0
    for p in range(start, start + count):
        rest[p, k] -= slope * rest[p, m]
    return slope


@kernel
def _widened(boxes: Any, node: int, d: int) -> None:
    """Widen the ranges of a box by what rounding each component down by less than 1 may do to them."""
    low, high = lower_ends(d), upper_ends(d)
    # The ends of the errors are kept in the place of the ranges' ends, which are moved by them.
    lows, highs = boxes[node, low : low + d].copy(), boxes[node, high : high + d].copy()
    for k in range(d):
        least, most = 0, 1
        size = 1.0
        for m in range(k if d <= OBLIQUE else 0):
            slope = boxes[node, slope_place(d, k, m)]
            down, up = boxes[node, low + m], boxes[node, high + m]
            size += abs(float(slope)) * max(abs(float(down)), abs(float(up)))
            if size >= LIMIT / 4:
                break
            least -= max(slope * down, slope * up)
            most -= min(slope * down, slope * up)
        if size >= LIMIT / 4:
            least, most = -HUGE, HUGE
        boxes[node, low + k], boxes[node, high + k] = least, most
    for k in range(d):
        least, most = boxes[node, low + k], boxes[node, high + k]
        if least > -HUGE and max(abs(float(lows[k])), abs(float(highs[k]))) < LIMIT / 2:
            boxes[node, low + k], boxes[node, high + k] = lows[k] + least, highs[k] + most
        else:
            boxes[node, low + k], boxes[node, high + k] = -HUGE, HUGE


@kernel
def widest(boxes: Any, node: int, d: int, extents: Any) -> int:
    """The coordinate of a box whose range is the largest part of the extents of all keys."""
    low, high = lower_ends(d), upper_ends(d)
    best, most = 0, -1.0
    for m in range(d):
        extent = float(extents[boxes[node, m]])
        share = (float(boxes[node, high + m]) - float(boxes[node, low + m])) / extent if extent else 0.0
        if share > most * 1.001:
            best, most = m, share
    return best


@kernel
def bound(boxes: Any, node: int, query: Any) -> tuple[int, bool]:
    """No key in a box has a larger product with the query than this (HUGE if it does not fit); whether all have it."""
    d = query.size
    low, high = lower_ends(d), upper_ends(d)
    total, size, same = 0, 0.0, True
    for m in range(d):
        turned = query[boxes[node, m]]
        reach = abs(float(turned))
        for k in range(m + 1, d if d <= OBLIQUE else 0):
            slope = boxes[node, slope_place(d, k, m)]
            if slope:
                along = query[boxes[node, k]]
                reach += abs(float(slope) * float(along))
                if reach >= LIMIT:
                    return HUGE, False
                turned += slope * along
        if turned:
            end = boxes[node, high + m] if turned > 0 else boxes[node, low + m]
            size += abs(float(turned) * float(end))
            if size >= LIMIT:
                return HUGE, False
            total += turned * end
            same = same and boxes[node, low + m] == boxes[node, high + m]
    return total, same
