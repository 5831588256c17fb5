"""Keys in groups: equal keys together, with the first of them, the last of them, and the sum of all.

Exact for every query: where the position adds to the score, the last (or the first) of a group is its best; where it
does not, all of a group tie. Memory is a matter of how many different keys there are, not of how many positions.
"""

from __future__ import annotations

from typing import Any

from softmachine.engines.fast.kernels import LIMIT, added, kernel

FIRST, LAST, COUNT = 0, 1, 2
GROUPS, INSERTED = 0, 1
AVERAGE, LEFTMOST, RIGHTMOST = 0, 1, 2
FITS, FULL, TOO_LARGE = 0, 1, 2
FEW = 8
"""So many groups are looked at one by one, rather than looking for the best."""

_PRIME = 2147483647
_BASE = 1000003


@kernel
def slot(table: Any, keys: Any, key: Any, width: int) -> int:
    """Where in the hash table a key is, or belongs. The table's size is a power of two, and it has empty slots."""
    h = 7
    for k in range(width):
        h = (h * _BASE + key[k] % _PRIME) % _PRIME
    mask = table.size - 1
    at = (h * 40503) & mask
    while table[at] >= 0:
        g = table[at]
        same = True
        for k in range(width):
            if keys[g, k] != key[k]:
                same = False
                break
        if same:
            return int(at)
        at = (at + 1) & mask
    return int(at)


@kernel
def insert(
    keys: Any, places: Any, values: Any, table: Any, meta: Any, box: Any, key: Any, value: Any, i: int, fractions: bool
) -> int:
    """Add the key and value of position i, once."""
    if meta[INSERTED] > i:
        return FITS
    width, row = keys.shape[1], value.size
    at = slot(table, keys, key, width)
    g = table[at]
    if g < 0:
        if meta[GROUPS] >= keys.shape[0] or 2 * (meta[GROUPS] + 1) > table.size:
            return FULL
        g = meta[GROUPS]
        for k in range(width):
            keys[g, k] = key[k]
            if g == 0 or key[k] < box[0, k]:
                box[0, k] = key[k]
            if g == 0 or key[k] > box[1, k]:
                box[1, k] = key[k]
        places[g, FIRST] = i
        places[g, COUNT] = 0
        for k in range(row):
            values[g, k] = value[k]
            values[g, 2 * row + k] = 1 if fractions and k % 2 else 0
    if fractions:
        for k in range(0, row, 2):
            n, d, bad = added(values[g, 2 * row + k], values[g, 2 * row + k + 1], value[k], value[k + 1])
            if bad:
                return TOO_LARGE
            values[g, 2 * row + k], values[g, 2 * row + k + 1] = n, d
    else:
        for k in range(row):
            if abs(float(values[g, 2 * row + k])) + abs(float(value[k])) >= LIMIT:
                return TOO_LARGE
            values[g, 2 * row + k] += value[k]
    for k in range(row):
        values[g, row + k] = value[k]
    places[g, LAST] = i
    places[g, COUNT] += 1
    if table[at] < 0:
        table[at] = g
        meta[GROUPS] += 1
    meta[INSERTED] = i + 1
    return FITS


@kernel
def rehash(table: Any, keys: Any, groups: int) -> None:
    """Fill an empty hash table."""
    for g in range(groups):
        table[slot(table, keys, keys[g], keys.shape[1])] = g


@kernel
def score(keys: Any, g: int, query: Any, when: int, time: int, fractions: bool) -> tuple[int, int, bool]:
    """The score of a group as a fraction, and whether it does not fit."""
    if fractions:
        if abs(float(when) * float(time)) >= LIMIT:
            return 0, 1, True
        n, d, bad = when * time, 1, False
        for k in range(query.size):
            if query[k]:
                size = abs(float(query[k]) * float(keys[g, 2 * k]))
                if size >= LIMIT or bad:
                    return 0, 1, True
                n, d, bad = added(n, d, query[k] * keys[g, 2 * k], keys[g, 2 * k + 1])
        return n, d, bad
    size = abs(float(when) * float(time))
    total = when * time
    for k in range(query.size):
        size += abs(float(query[k]) * float(keys[g, k]))
        total += query[k] * keys[g, k]
    return total, 1, size >= LIMIT


@kernel
def compared(an: int, ad: int, bn: int, bd: int) -> tuple[int, bool]:
    """The sign of a/a' - b/b', and whether that cannot be said."""
    if ad == bd:
        return (1 if an > bn else -1 if an < bn else 0), False
    if abs(float(an) * float(bd)) >= LIMIT or abs(float(bn) * float(ad)) >= LIMIT:
        return 0, True
    left, right = an * bd, bn * ad
    return (1 if left > right else -1 if left < right else 0), False


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

    The score is query · key + time · position. If the position does not count and the best corner of the box around
    all keys is a key, it is the one that is best; else every group is looked at.
    """
    if time == 0 and not fractional_keys and meta[GROUPS] > FEW:
        g = at_corner(keys, table, box, corner, query)
        if g >= 0:
            return take(places, values, g, time, choice, out), False
    best, best_n, best_d, ties = -1, 0, 1, 0
    for g in range(meta[GROUPS]):
        when = places[g, LAST] if time > 0 else places[g, FIRST]
        n, d, bad = score(keys, g, query, when, time, fractional_keys)
        if bad:
            return 0, True
        sign = 1
        if best >= 0:
            sign, bad = compared(n, d, best_n, best_d)
            if bad:
                return 0, True
        if sign > 0:
            best, best_n, best_d, ties = g, n, d, 1
        elif sign == 0:
            ties += 1
            if choice != AVERAGE and sooner(places, g, best, time, choice):
                best = g
    if best < 0:
        return 0, False
    if choice != AVERAGE or ties == 1:
        return take(places, values, best, time, choice, out), False
    count = 0
    for k in range(out.size):
        out[k] = 1 if fractions and k % 2 else 0
    for g in range(meta[GROUPS]):
        when = places[g, LAST] if time > 0 else places[g, FIRST]
        n, d, bad = score(keys, g, query, when, time, fractional_keys)
        sign, bad = compared(n, d, best_n, best_d)
        if sign == 0:
            more, bad = add_to(places, values, g, time, fractions, out)
            if bad:
                return 0, True
            count += more
    return count, False


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
