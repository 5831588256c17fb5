"""Finding the best groups of a head: of all scores the largest, with all exact ties.

The score of a group is query · key + time · position, where the position is that of its last member if later ones are
better, of its first if earlier ones are, and any if it does not count.
"""

from __future__ import annotations

from typing import Any

from softmachine.engines.fast.indexes.forest import COUNT, FIRST, LAST, UNKNOWN
from softmachine.engines.fast.indexes.groups import GROUPS, compared, integer, score, slot
from softmachine.engines.fast.indexes.kernels import LIMIT, added, kernel

AVERAGE, LEFTMOST, RIGHTMOST = 0, 1, 2
FEW = 8
"""So many groups are looked at one by one, rather than looking for the best."""


@kernel
def search(
    keys: Any,
    places: Any,
    values: Any,
    table: Any,
    meta: Any,
    box: Any,
    corner: Any,
    query: Any,
    time: int,
    choice: int,
    fractional_keys: bool,
    fractions: bool,
    out: Any,
) -> tuple[int, bool]:
    """The sum of the values of the best keys, and how many they are; and whether something does not fit.

    If the position does not count and the best corner of the box around all keys is a key, it is the one that is best;
    else every group is looked at.
    """
    if time == 0 and not fractional_keys and meta[GROUPS] > FEW:
        g = at_corner(keys, table, box, corner, query)
        if g >= 0:
            return take(places, values, g, time, choice, out), False
    best, n, d, count = integer(-1), integer(0), integer(1), integer(0)
    for g in range(meta[GROUPS]):
        a, b, bad = score(keys, g, query, when(places, g, time), time, fractional_keys)
        sign, unsure = compared(a, b, n, d) if best >= 0 else (1, False)
        if bad or unsure:
            return 0, True
        if sign >= 0:
            best, count = accepted(places, values, g, sign, time, choice, fractions, out, best, count)
            n, d = a, b
    return concluded(places, values, best, time, choice, count, out)


@kernel
def when(places: Any, g: int, time: int) -> int:
    """The position of a group's best member."""
    return int(places[g, LAST] if time > 0 else places[g, FIRST])


@kernel
def accepted(
    places: Any,
    values: Any,
    g: int,
    sign: int,
    time: int,
    choice: int,
    fractions: bool,
    out: Any,
    best: int,
    count: int,
) -> tuple[int, int]:
    """Take a group that is better than the best so far (sign 1) or as good (sign 0).

    Returns:
        The best group, and the number of values that were added up: 0 if none yet, UNKNOWN if the sum does not fit.
    """
    if choice != AVERAGE:
        return (g if sign > 0 or sooner(places, g, best, time, choice) else best), 0
    if sign > 0 or count == 0:
        count = 0
        blank(out, fractions)
    if count != UNKNOWN:
        more, bad = add_to(places, values, g, time, fractions, out)
        count = UNKNOWN if bad else count + more
    return (g if sign > 0 else best), count


@kernel
def blank(out: Any, fractions: bool) -> None:
    """A sum of nothing."""
    for k in range(out.size):
        out[k] = 1 if fractions and k % 2 else 0


@kernel
def concluded(places: Any, values: Any, best: int, time: int, choice: int, count: int, out: Any) -> tuple[int, bool]:
    """The values of the best, or what was added up; how many there are, and whether the sum does not fit."""
    if best < 0:
        return 0, False
    if choice != AVERAGE:
        return take(places, values, best, time, choice, out), False
    return count, count == UNKNOWN


@kernel
def at_corner(keys: Any, table: Any, box: Any, corner: Any, query: Any) -> int:
    """The group whose key is the only one to have, in every component, what suits the query best; -1 if none."""
    for k in range(query.size):
        if query[k] == 0 and box[0, k] != box[1, k]:
            return -1
        corner[k] = box[1, k] if query[k] > 0 else box[0, k]
    return int(table[slot(table, keys, corner, keys.shape[1])])


@kernel
def member(time: int, choice: int) -> int:
    """Which of a group is best: the first or the last."""
    if time > 0 or (time == 0 and choice == RIGHTMOST):
        return LAST
    return FIRST


@kernel
def sooner(places: Any, g: int, best: int, time: int, choice: int) -> bool:
    """Whether of two groups with equal scores the first is to be chosen."""
    here = places[g, member(time, choice)]
    there = places[best, member(time, choice)]
    return bool(here < there if choice == LEFTMOST else here > there)


@kernel
def take(places: Any, values: Any, g: int, time: int, choice: int, out: Any) -> int:
    """The values of one group, and how many they are the sum of."""
    row = out.size
    which = 2 if choice == AVERAGE and time == 0 else member(time, choice)
    for k in range(row):
        out[k] = values[g, which * row + k]
    return places[g, COUNT] if which == 2 else 1


@kernel
def add_to(places: Any, values: Any, g: int, time: int, fractions: bool, out: Any) -> tuple[int, bool]:
    """Add the values of a group; how many they are, and whether the sum does not fit."""
    row = out.size
    which = 2 if time == 0 else member(time, AVERAGE)
    if fractions:
        for k in range(0, row, 2):
            n, d, bad = added(out[k], out[k + 1], values[g, which * row + k], values[g, which * row + k + 1])
            if bad:
                return 0, True
            out[k], out[k + 1] = n, d
    else:
        for k in range(row):
            if abs(float(out[k])) + abs(float(values[g, which * row + k])) >= LIMIT:
                return 0, True
            out[k] += values[g, which * row + k]
    return (places[g, COUNT] if which == 2 else 1), False
