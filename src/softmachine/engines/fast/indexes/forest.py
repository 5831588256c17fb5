"""A k-d forest over the groups of a head: the best of many different keys without looking at most of them.

The logarithmic method (Bentley and Saxe): groups are numbered as they appear, and of every full block of them the
blocks whose number has bit b set make one tree of 2^b blocks; when a block becomes full, the small trees before it and
the block become one tree. A tree is a perfect binary tree over a range of groups, halved at the median of the
coordinate in which its oriented box is widest, so that its shape follows from its size, and nothing is allocated while
a run goes on. A node knows a box around its keys, the first and last position below it, and the sum of all values.

A search goes down where the bound is best, with the answer of the last search as the score to beat. Bounds and scores
are exact integers; a bound that does not fit into them prunes nothing.
"""

from __future__ import annotations

from typing import Any

from softmachine.engines.fast.indexes.boxes import HUGE, enclose, widest
from softmachine.engines.fast.indexes.kernels import LIMIT, kernel

FIRST, LAST, COUNT = 0, 1, 2
BLOCK = 64
"""So many groups are looked at one by one before they become a tree."""
LEAF = 8
"""So many groups are in a leaf; it divides the block, and both are powers of two."""
MANY = 2 * BLOCK
"""From so many groups on the trees are used."""
FINE = 1 << 24
"""Keys that are fractions are rounded down to multiples of 1 over this in boxes."""
UNKNOWN = -1
"""The count of a node whose sum is not kept."""


@kernel
def rounded_down(n: int, d: int) -> int:
    """The fraction n/d times FINE, rounded down; HUGE if that does not fit."""
    if abs(float(n)) * FINE >= LIMIT:
        return HUGE
    return n * FINE // d


@kernel
def tree_over(groups: int, g: int) -> tuple[int, int]:
    """The tree that a group is in: its first group, and how many it has; 0 if it is in none yet."""
    blocks, start = groups // BLOCK, 0
    bit = 1
    while 2 * bit <= blocks:
        bit *= 2
    while bit:
        if blocks & bit:
            if g < start + bit * BLOCK:
                return start, bit * BLOCK
            start += bit * BLOCK
        bit //= 2
    return start, 0


@kernel
def grow_tree(
    near: Any,
    places: Any,
    values: Any,
    order: Any,
    boxes: Any,
    marks: Any,
    rest: Any,
    groups: int,
    fractional_keys: bool,
    fractions: bool,
) -> None:
    """Make the tree that ends with the last group, if that completes a block."""
    if groups % BLOCK:
        return
    start, size = tree_over(groups, groups - 1)
    for p in range(start, start + size):
        order[p, 0] = p
    plant(near, order, boxes, rest, start, size, 1 if fractional_keys else 0)
    for p in range(start, start + size):
        order[order[p, 0], 1] = p
    sum_up(places, values, order, marks, start, size, fractions)


@kernel
def plant_again(
    keys: Any,
    places: Any,
    values: Any,
    near: Any,
    order: Any,
    boxes: Any,
    marks: Any,
    rest: Any,
    groups: int,
    fractional_keys: bool,
    fractions: bool,
) -> None:
    """Make all trees of so many groups."""
    if fractional_keys:
        for g in range(groups):
            for k in range(near.shape[1]):
                near[g, k] = rounded_down(keys[g, 2 * k], keys[g, 2 * k + 1])
    start, size = 0, 1
    while start < groups // BLOCK * BLOCK:
        start, size = tree_over(groups, start)
        start += size
        grow_tree(near, places, values, order, boxes, marks, rest, start, fractional_keys, fractions)


@kernel
def plant(near: Any, order: Any, boxes: Any, rest: Any, start: int, size: int, slack: int) -> None:
    """Arrange a range of groups as a tree, and put a box around the keys of every node."""
    d = near.shape[1]
    base, nodes = 2 * (start // LEAF), 2 * (size // LEAF) - 1
    extents = rest[start].copy()
    level = 1
    for node in range(nodes):
        if node + 1 >= 2 * level:
            level *= 2
        count = size // level
        first = start + (node + 1 - level) * count
        enclose(boxes, base + node, near, order[:, 0], first, count, slack, rest)
        if node == 0:
            for m in range(d):
                least = most = near[order[start, 0], m]
                for p in range(start, start + size):
                    least, most = min(least, near[p, m]), max(most, near[p, m])
                extents[m] = most - least
        if count > LEAF:
            halve(order, rest, widest(boxes, base + node, d, extents), first, count)


@kernel
def halve(order: Any, rest: Any, m: int, first: int, count: int) -> None:
    """Arrange a range so that no coordinate in its first half is larger than one in its second (Hoare's selection)."""
    low, high, wanted = first, first + count - 1, first + count // 2
    while low < high:
        pivot = rest[(low + high) // 2, m]
        i, j = low, high
        while i <= j:
            while rest[i, m] < pivot:
                i += 1
            while rest[j, m] > pivot:
                j -= 1
            if i <= j:
                rest[i, m], rest[j, m] = rest[j, m], rest[i, m]
                order[i, 0], order[j, 0] = order[j, 0], order[i, 0]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            return


@kernel
def sum_up(places: Any, values: Any, order: Any, marks: Any, start: int, size: int, fractions: bool) -> None:
    """Fill in first, last, count and sum of every node of a tree, from the leaves up; no sums of fractions."""
    row = marks.shape[1] - 3
    base, leaves = 2 * (start // LEAF), size // LEAF
    for node in range(base, base + 2 * leaves - 1):
        marks[node, FIRST], marks[node, LAST], marks[node, COUNT] = HUGE, -1, UNKNOWN if fractions else 0
        marks[node, 3:] = 0
    for p in range(start, start + size):
        g = order[p, 0]
        node = base + leaves - 1 + (p - start) // LEAF
        marks[node, FIRST] = min(marks[node, FIRST], places[g, FIRST])
        marks[node, LAST] = max(marks[node, LAST], places[g, LAST])
        _added_to(marks, node, places[g, COUNT], values[g, 2 * row :])
    for t in range(2 * leaves - 2, 0, -1):
        node, parent = base + t, base + (t - 1) // 2
        marks[parent, FIRST] = min(marks[parent, FIRST], marks[node, FIRST])
        marks[parent, LAST] = max(marks[parent, LAST], marks[node, LAST])
        _added_to(marks, parent, marks[node, COUNT], marks[node, 3:])


@kernel
def _added_to(marks: Any, node: int, count: int, value: Any) -> None:
    """Add to the sum of a node, which becomes unknown if it does not fit."""
    if marks[node, COUNT] == UNKNOWN:
        return
    fits = count != UNKNOWN
    for k in range(value.size):
        fits = fits and abs(float(marks[node, 3 + k])) + abs(float(value[k])) < LIMIT
    if not fits:
        marks[node, COUNT] = UNKNOWN
        return
    marks[node, COUNT] += count
    for k in range(value.size):
        marks[node, 3 + k] += value[k]


@kernel
def touch(order: Any, marks: Any, groups: int, g: int, i: int, value: Any) -> None:
    """Let the nodes above a group know that position i belongs to it now."""
    start, size = tree_over(groups, g)
    if size == 0:
        return
    base, t = 2 * (start // LEAF), size // LEAF - 1 + (order[g, 1] - start) // LEAF
    while True:
        marks[base + t, LAST] = i
        _added_to(marks, base + t, 1, value)
        if t == 0:
            return
        t = (t - 1) // 2
