"""Groups of equal keys, with the first member, the last one, and the sum of all values.

Exact for every query: where the position adds to the score, the last (or the first) member of a group is its best;
where it does not, all members tie. Memory is proportional to the number of different keys, not of positions.

Kernels must not index outside of an array, whatever the numbers: compiled code does not check bounds.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.kernels import LIMIT, Integers, added, kernel

FIRST, LAST, COUNT = 0, 1, 2
"""Columns of ``places``: the first and the last position of a group, and its size. A row of ``values`` has three
parts: the value of the first member, of the last, and the sum of all."""
GROUPS, INSERTED, LATEST, ALONE = 0, 1, 2, 3
"""Fields of ``meta``: the number of groups, the number of inserted positions, the group of the last one, and the
group that the last search found (-1 if there were several)."""
FITS, FULL, TOO_LARGE = 0, 1, 2

_GOLDEN, _LOW, _LOWER, _SUM = 0x9E3779B1, (1 << 31) - 1, (1 << 30) - 1, (1 << 61) - 1
"""The hash is a sum of products of 31 bits of each component with a 30-bit constant of its own: it cannot overflow,
and unlike in a polynomial no product depends on another."""


@kernel
def mixed(h: int, k: int, component: int) -> int:
    """The hash extended by the k-th component."""
    return (h + (component & _LOW) * (((k + 1) * _GOLDEN) & _LOWER | 1)) & _SUM


@kernel
def slot(table: Integers, keys: Integers, key: Integers, width: int) -> int:
    """The slot of a key in the hash table, or where to insert it. The size is a power of two; some slots are empty."""
    h = 7
    for k in range(width):
        h = mixed(h, k, key[k])
    mask = table.size - 1
    at = (h ^ (h >> 21) ^ (h >> 42)) & mask
    while table[at] >= 0:
        g = table[at]
        unlike = 0
        for k in range(width):
            unlike |= keys[g, k] ^ key[k]
        if unlike == 0:
            return int(at)
        at = (at + 1) & mask
    return int(at)


@kernel
def insert(
    keys: Integers,
    places: Integers,
    values: Integers,
    table: Integers,
    meta: Integers,
    box: Integers,
    key: Integers,
    value: Integers,
    i: int,
    fractions: bool,
) -> int:
    """Insert the key and value of position i; a repeated call has no effect."""
    if meta[INSERTED] > i:
        return FITS
    if insert_key(keys, places, table, meta, box, key, i) == FULL:
        return FULL
    return insert_value(places, values, meta, value, fractions)


@kernel
def insert_key(
    keys: Integers, places: Integers, table: Integers, meta: Integers, box: Integers, key: Integers, i: int
) -> int:
    """Insert the key of position i; a repeated call has no effect."""
    if meta[INSERTED] > i:
        return FITS
    width = keys.shape[1]
    at = slot(table, keys, key, width)
    g = table[at]
    if g < 0:
        g = meta[GROUPS]
        if g >= keys.shape[0] or 2 * (g + 1) > table.size:
            return FULL
        for k in range(width):
            keys[g, k] = key[k]
            if g == 0 or key[k] < box[0, k]:
                box[0, k] = key[k]
            if g == 0 or key[k] > box[1, k]:
                box[1, k] = key[k]
        places[g, FIRST] = i
        places[g, COUNT] = 0
        table[at] = g
        meta[GROUPS] = g + 1
    places[g, LAST] = i
    places[g, COUNT] += 1
    meta[INSERTED], meta[LATEST] = i + 1, g
    return FITS


@kernel
def insert_value(places: Integers, values: Integers, meta: Integers, value: Integers, fractions: bool) -> int:
    """Add a value to the group of the key inserted last."""
    row, g = value.size, meta[LATEST]
    fresh = places[g, COUNT] == 1
    for k in range(row):
        values[g, row + k] = value[k]
        if fresh:
            values[g, k] = value[k]
            values[g, 2 * row + k] = value[k]
    if fresh:
        return FITS
    return FITS if add(values[g, 2 * row :], value, fractions) else TOO_LARGE


@kernel
def add(total: Integers, value: Integers, fractions: bool) -> bool:
    """Add a value to a sum; returns whether it fits."""
    if fractions:
        for k in range(0, total.size, 2):
            n, d, bad = added(total[k], total[k + 1], value[k], value[k + 1])
            if bad:
                return False
            total[k], total[k + 1] = n, d
    else:
        for k in range(total.size):
            if abs(float(total[k])) + abs(float(value[k])) >= LIMIT:
                return False
            total[k] += value[k]
    return True


@kernel
def rehash(table: Integers, keys: Integers, groups: int) -> None:
    """Rebuild a hash table."""
    table[:] = -1
    for g in range(groups):
        table[slot(table, keys, keys[g], keys.shape[1])] = g


@kernel
def score(keys: Integers, g: int, query: Integers, when: int, time: int, fractions: bool) -> tuple[int, int, bool]:
    """The score of a group as a fraction, and whether it overflows."""
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
    for k in range(query.size):
        size += abs(float(query[k]) * float(keys[g, k]))
    if size >= LIMIT:
        return 0, 1, True
    total = when * time
    for k in range(query.size):
        total += query[k] * keys[g, k]
    return total, 1, False


@kernel
def nonzero(query: Integers, width: int, places: Integers) -> int:
    """List the nonzero components among the first ``width``, few for one-hot vectors; returns their number."""
    count = 0
    for k in range(width):
        if query[k] != 0:
            places[count] = k
            count += 1
    return count


@kernel
def integer(x: int) -> int:
    """The identity, to keep numba from specialising functions for integer literals, which would compile them again."""
    return x


@kernel
def compared(an: int, ad: int, bn: int, bd: int) -> tuple[int, bool]:
    """The sign of a/a' - b/b', and whether it cannot be computed without overflow."""
    if ad == bd:
        return (1 if an > bn else -1 if an < bn else 0), False
    if abs(float(an) * float(bd)) >= LIMIT or abs(float(bn) * float(ad)) >= LIMIT:
        return 0, True
    left, right = an * bd, bn * ad
    return (1 if left > right else -1 if left < right else 0), False
