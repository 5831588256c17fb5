"""Keys in groups, for all heads of a model in the same few arrays; heads with the same keys share them.

As in `groups`. Nothing here may index outside of an array, whatever the numbers: compiled code does not check.
"""

from __future__ import annotations

from typing import Any

from softmachine.engines.fast.indexes.groups import compared
from softmachine.engines.fast.indexes.kernels import LIMIT, added, divisor, kernel, times
from softmachine.engines.fast.tables.rows import put

TOTAL, FIRST, LAST = 0, 1, 2
AVERAGE, LEFTMOST, RIGHTMOST = 0, 1, 2
FITS, FULL, TOO_LARGE, ODD = 0, 1, 2, 3

INDEX, QUERY, WIDTH, VALUE, SIZE, FOUND, MODE, CHOICE, TIME, CAUSAL, VALUES, ODD_VALUES = range(12)
"""The columns of ``heads``: its index; where its query is, and how long; where its value is, and how long; where what
it finds goes; which values of a group it keeps; which of tied keys; the coefficient of the position; whether it sees
its own position; where its values are kept; whether they are kept as fractions."""
KEY, PARTS, KEYS, CAPACITY, SLOTS, HASHED, PLACES, ODD_KEYS, BOX, SEES = range(10)
"""The columns of ``indexes``: where the key is, and how long; where keys are kept, and how many fit; where the hash
table is, and how large; where places are kept; whether keys are kept as fractions; the box around all; the mask."""
GROUPS, INSERTED, GROUP, MEMO = range(4)
"""The columns of ``state``: how many groups there are, up to where keys are in, the latest one's group, and the group
that the last query found, alone, at this position."""


@kernel
def hashed(slots: Any, begin: int, size: int, keys: Any, at: int, key: Any, width: int) -> int:
    """Where in a hash table a key is, or belongs; its size is a power of two, and it has empty slots."""
    h = 7
    for k in range(width):
        h = ((h ^ (key[k] & 0x7FFFFFFF)) * 1000003) & 0x7FFFFFFF
        h ^= h >> 15
    place = h & (size - 1)
    while slots[begin + place] >= 0:
        group = at + slots[begin + place] * width
        same = True
        for k in range(width):
            if keys[group + k] != key[k]:
                same = False
                break
        if same:
            return int(begin + place)
        place = (place + 1) & (size - 1)
    return int(begin + place)


@kernel
def insert_key(
    x: int, i: int, n: Any, d: Any, odd: Any, begin: int, indexes: Any, state: Any, keys: Any, slots: Any, places: Any,
    boxes: Any, key: Any,
) -> int:  # fmt: skip
    """Put the key of position i, which is at ``begin``, into an index, once."""
    if state[x, INSERTED] > i:
        return FITS
    parts, fractions = indexes[x, PARTS], indexes[x, ODD_KEYS]
    width = 2 * parts if fractions else parts
    for k in range(parts):
        if fractions:
            key[2 * k], key[2 * k + 1] = n[begin + k], d[begin + k]
        elif odd[begin + k]:
            return ODD
        else:
            key[k] = n[begin + k]
    at = hashed(slots, indexes[x, SLOTS], indexes[x, HASHED], keys, indexes[x, KEYS], key, width)
    g = slots[at]
    if g < 0:
        g = state[x, GROUPS]
        if g >= indexes[x, CAPACITY]:
            return FULL
        box = indexes[x, BOX]
        for k in range(width):
            keys[indexes[x, KEYS] + g * width + k] = key[k]
            if g == 0 or key[k] < boxes[0, box + k]:
                boxes[0, box + k] = key[k]
            if g == 0 or key[k] > boxes[1, box + k]:
                boxes[1, box + k] = key[k]
        places[indexes[x, PLACES] + g, 0] = i
        places[indexes[x, PLACES] + g, 2] = 0
        slots[at] = g
        state[x, GROUPS] = g + 1
    places[indexes[x, PLACES] + g, 1] = i
    places[indexes[x, PLACES] + g, 2] += 1
    state[x, GROUP] = g
    state[x, INSERTED] = i + 1
    return FITS


@kernel
def insert_value(
    h: int, i: int, n: Any, d: Any, odd: Any, begin: int, heads: Any, indexes: Any, state: Any, done: Any, places: Any,
    values: Any,
) -> int:  # fmt: skip
    """Add the value of position i, which is at ``begin``, to its key's group, once."""
    if done[h] > i:
        return FITS
    x, size, fractions = heads[h, INDEX], heads[h, SIZE], heads[h, ODD_VALUES]
    if not fractions:
        for k in range(size):
            if odd[begin + k]:
                return ODD
    g, width = state[x, GROUP], 2 * size if fractions else size
    at, fresh = heads[h, VALUES] + g * width, places[indexes[x, PLACES] + g, 2] == 1
    if fresh or heads[h, MODE] == LAST:
        for k in range(size):
            if fractions:
                values[at + 2 * k], values[at + 2 * k + 1] = n[begin + k], d[begin + k]
            else:
                values[at + k] = n[begin + k]
    elif heads[h, MODE] == TOTAL:
        for k in range(size):
            if fractions:
                p, q, bad = added(values[at + 2 * k], values[at + 2 * k + 1], n[begin + k], d[begin + k])
                if bad:
                    return TOO_LARGE
                values[at + 2 * k], values[at + 2 * k + 1] = p, q
            else:
                values[at + k] += n[begin + k]
    done[h] = i + 1
    return FITS


@kernel
def scaled_query(h: int, n: Any, d: Any, odd: Any, heads: Any, query: Any) -> tuple[int, bool, bool]:
    """The query as integers, times a positive number; the position's coefficient; if they are large, or too large."""
    begin, width, time = heads[h, QUERY], heads[h, WIDTH], heads[h, TIME]
    strange = False
    for k in range(width):
        query[k] = n[begin + k]
        strange |= odd[begin + k]
    if not strange:
        return time, False, False
    common = 1
    for k in range(width):
        step = d[begin + k] // divisor(common, d[begin + k])
        if float(common) * float(step) >= LIMIT:
            return 0, True, True
        common *= step
    for k in range(width):
        factor = common // d[begin + k]
        if abs(float(n[begin + k])) * float(factor) >= LIMIT:
            return 0, True, True
        query[k] = n[begin + k] * factor
    if abs(float(time)) * float(common) >= LIMIT:
        return 0, True, True
    return time * common, True, False


@kernel
def score(
    at: int, width: int, fractions: bool, checked: bool, keys: Any, query: Any, when: int, time: int
) -> tuple[int, int, bool]:
    """The score of a group as a fraction, and whether it does not fit."""
    if not checked:
        total = time * when
        for k in range(width):
            total += query[k] * keys[at + k]
        return total, 1, False
    if abs(float(when) * float(time)) >= LIMIT:
        return 0, 1, True
    total, over = when * time, 1
    for k in range(width):
        key, below = (keys[at + 2 * k], keys[at + 2 * k + 1]) if fractions else (keys[at + k], 1)
        if abs(float(query[k]) * float(key)) >= LIMIT:
            return 0, 1, True
        total, over, bad = added(total, over, query[k] * key, below)
        if bad:
            return 0, 1, True
    return total, over, False


@kernel
def at_corner(x: int, indexes: Any, keys: Any, slots: Any, boxes: Any, query: Any, key: Any) -> int:
    """The group whose key is the only one to have, in every component, what suits the query best; -1 if none."""
    width, box = indexes[x, PARTS], indexes[x, BOX]
    for k in range(width):
        if query[k] == 0 and boxes[0, box + k] != boxes[1, box + k]:
            return -1
        key[k] = boxes[1, box + k] if query[k] > 0 else boxes[0, box + k]
    return int(slots[hashed(slots, indexes[x, SLOTS], indexes[x, HASHED], keys, indexes[x, KEYS], key, width)])


@kernel
def take(h: int, g: int, n: Any, d: Any, heads: Any, values: Any, count: int) -> bool:
    """Add the values of a group to what a head has found in ``count`` keys; whether something does not fit."""
    size, fractions, found = heads[h, SIZE], heads[h, ODD_VALUES], heads[h, FOUND]
    at = heads[h, VALUES] + g * (2 * size if fractions else size)
    for k in range(size):
        p, q = (values[at + 2 * k], values[at + 2 * k + 1]) if fractions else (values[at + k], 1)
        if count == 0:
            n[found + k], d[found + k] = p, q
        else:
            n[found + k], d[found + k], bad = added(n[found + k], d[found + k], p, q)
            if bad:
                return True
    return False


@kernel
def search(
    h: int, n: Any, d: Any, odd: Any, heads: Any, indexes: Any, state: Any, keys: Any, slots: Any, places: Any,
    values: Any, boxes: Any, key: Any, query: Any, memo: Any,
) -> bool:  # fmt: skip
    """Find what a head retrieves; whether a number does not fit."""
    x, size, found, choice = heads[h, INDEX], heads[h, SIZE], heads[h, FOUND], heads[h, CHOICE]
    groups, whole, width = state[x, GROUPS], not indexes[x, ODD_KEYS], indexes[x, PARTS]
    if groups == 0:
        for k in range(size):
            put(n, d, odd, found + k, 0, 1)
        return False
    time, large, bad = scaled_query(h, n, d, odd, heads, query)
    if bad:
        return True
    best, ties, best_n, best_d = -1, 1, 0, 1
    plain = whole and not large and time == 0
    if plain:
        best = state[x, MEMO]
        if best >= 0:
            for k in range(width):
                if memo[indexes[x, BOX] + k] != query[k]:
                    best = -1
                    break
        if best < 0:
            best = at_corner(x, indexes, keys, slots, boxes, query, key)
    checked = large or not whole
    step = width if whole else 2 * width
    if best < 0:
        for g in range(groups):
            when = places[indexes[x, PLACES] + g, 1 if time > 0 else 0]
            total, over, bad = score(indexes[x, KEYS] + g * step, width, not whole, checked, keys, query, when, time)
            if bad:
                return True
            sign = 1
            if best >= 0:
                sign, bad = compared(total, over, best_n, best_d)
                if bad:
                    return True
            if sign > 0:
                best, best_n, best_d, ties = g, total, over, 1
            elif sign == 0:
                ties += 1
                if choice != AVERAGE and sooner(x, g, best, time, choice, indexes, places):
                    best = g
    if plain and ties == 1:
        state[x, MEMO] = best
        for k in range(width):
            memo[indexes[x, BOX] + k] = query[k]
    count, totals = 0, heads[h, MODE] == TOTAL
    if choice != AVERAGE or ties == 1:
        bad = take(h, best, n, d, heads, values, 0)
        count = places[indexes[x, PLACES] + best, 2] if totals else 1
    else:
        for g in range(groups):
            when = places[indexes[x, PLACES] + g, 1 if time > 0 else 0]
            total, over, bad = score(indexes[x, KEYS] + g * step, width, not whole, checked, keys, query, when, time)
            sign, bad = compared(total, over, best_n, best_d)
            if sign == 0:
                bad = take(h, g, n, d, heads, values, count)
                if bad:
                    return True
                count += places[indexes[x, PLACES] + g, 2] if totals else 1
    for k in range(size):
        if count == 1 or n[found + k] == 0:
            put(n, d, odd, found + k, n[found + k], d[found + k])
        else:
            p, q, bad = times(1, count, n[found + k], d[found + k])
            if bad:
                return True
            put(n, d, odd, found + k, p, q)
    return False


@kernel
def sooner(x: int, g: int, best: int, time: int, choice: int, indexes: Any, places: Any) -> bool:
    """Whether of two groups with equal scores the first is to be chosen."""
    member = 1 if time > 0 or (time == 0 and choice == RIGHTMOST) else 0
    here, there = places[indexes[x, PLACES] + g, member], places[indexes[x, PLACES] + best, member]
    return bool(here < there if choice == LEFTMOST else here > there)


@kernel
def rehash(x: int, indexes: Any, state: Any, keys: Any, slots: Any) -> None:
    """Fill an index's empty hash table."""
    width = 2 * indexes[x, PARTS] if indexes[x, ODD_KEYS] else indexes[x, PARTS]
    for g in range(state[x, GROUPS]):
        at = indexes[x, KEYS] + g * width
        key = keys[at : at + width]
        slots[hashed(slots, indexes[x, SLOTS], indexes[x, HASHED], keys, indexes[x, KEYS], key, width)] = g
