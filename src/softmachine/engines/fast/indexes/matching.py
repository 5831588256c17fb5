"""Keys in groups that are found by the integers in them: means over all keys that match a query.

A key has *gates*, of which there are few different ones (its *kind*: what a letter is, whether it is the sink), and
integers y, each of which adds a parabola slope · y + curve · y² to the score. Of one kind, no key is better than the
one whose integers are the vertices of all parabolas, and any other is worse by a step at least. So of every kind one
group is looked up by hash, and a kind is gone through only where that group is missing and the best that the others
could be is no worse than what was found: exact for every query, and O(kinds) if a sink is as good as a match.

Nothing here may index outside of an array, whatever the numbers: compiled code does not check.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.groups import (
    COUNT,
    FITS,
    FULL,
    GROUPS,
    INSERTED,
    LATEST,
    add,
    insert_key,
    insert_value,
    integer,
    slot,
)
from softmachine.engines.fast.indexes.kernels import LIMIT, Integers, kernel

NEVER = -9 * 10**18
"""Less than any score."""
FURTHEST = 1 << 30
"""No vertex further away from 0 is looked up."""


@kernel
def insert_matching(
    keys: Integers,
    places: Integers,
    values: Integers,
    table: Integers,
    meta: Integers,
    box: Integers,
    kinds: Integers,
    kind_table: Integers,
    kind_sizes: Integers,
    tally: Integers,
    chain: Integers,
    newest: Integers,
    gates: Integers,
    key: Integers,
    value: Integers,
    i: int,
    fractions: bool,
) -> int:
    """Add the key and the value of position i, once; the key's integers are in ``key``, behind room for its kind."""
    if meta[INSERTED] > i:
        return FITS
    width = kinds.shape[1]
    at = slot(kind_table, kinds, gates, width)
    kind = kind_table[at]
    if kind < 0:
        kind = tally[0]
        if kind >= kinds.shape[0] or 2 * (kind + 1) > kind_table.size:
            return FULL
        for k in range(width):
            kinds[kind, k] = gates[k]
            kind_sizes[k] = max(kind_sizes[k], abs(gates[k]))
        kind_table[at] = kind
        newest[kind] = -1
        tally[0] = kind + 1
    key[0] = kind
    before = meta[GROUPS]
    if insert_key(keys, places, table, meta, box, key, i) == FULL:
        return FULL
    if meta[GROUPS] > before:
        g = meta[LATEST]
        chain[g] = newest[kind]
        newest[kind] = g
    return insert_value(places, values, meta, value, fractions)


@kernel
def search_matching(
    keys: Integers,
    places: Integers,
    values: Integers,
    table: Integers,
    box: Integers,
    kinds: Integers,
    kind_sizes: Integers,
    tally: Integers,
    chain: Integers,
    newest: Integers,
    bounds: Integers,
    key: Integers,
    query: Integers,
    fractions: bool,
    out: Integers,
) -> tuple[int, bool]:
    """The sum of the values of the best keys, and how many they are; and whether something does not fit.

    The query has a factor for each gate, and then slope and curve for each integer.
    """
    peaked, fit = vertices(box, kind_sizes, key, query)
    if not fit:
        return 0, True
    width, row, found = kinds.shape[1], out.size, False
    top, step = peak(key, query, width) if peaked else (integer(0), integer(0))
    best, count, fits = integer(0), integer(0), True
    for kind in range(tally[0]):
        bounds[kind] = NEVER
        score = top
        for k in range(width):
            score += query[k] * kinds[kind, k]
        if not peaked:
            bounds[kind] = 0
            continue
        if found and score < best:
            continue
        key[0] = kind
        g = table[slot(table, keys, key, keys.shape[1])]
        if g < 0:
            bounds[kind] = score - step
        elif not found or score > best:
            found, best, fits = True, score, True
            count = places[g, COUNT]
            out[:] = values[g, 2 * row :]
        else:
            fits = fits and add(out, values[g, 2 * row :], fractions)
            count += places[g, COUNT]
    while True:
        kind = most_promising(bounds, tally[0])
        if kind < 0 or (peaked and found and bounds[kind] < best):
            return count, not fits
        bounds[kind] = NEVER
        g = newest[kind]
        while g >= 0:
            score = integer(0)
            for k in range(width):
                score += query[k] * kinds[kind, k]
            for k in range(key.size - 1):
                y = keys[g, 1 + k]
                score += (query[width + 2 * k] + query[width + 2 * k + 1] * y) * y
            if not found or score > best:
                found, best, fits = True, score, True
                count = places[g, COUNT]
                out[:] = values[g, 2 * row :]
            elif score == best:
                fits = fits and add(out, values[g, 2 * row :], fractions)
                count += places[g, COUNT]
            g = chain[g]


@kernel
def vertices(box: Integers, kind_sizes: Integers, key: Integers, query: Integers) -> tuple[bool, bool]:
    """Let the key's integers be the best ones; whether each parabola has one that is, and whether all scores fit."""
    width, peaked = kind_sizes.size, True
    size = 0.0
    for k in range(width):
        size += abs(float(query[k])) * float(kind_sizes[k])
    for k in range(key.size - 1):
        slope, curve = query[width + 2 * k], query[width + 2 * k + 1]
        reach = max(abs(float(box[0, 1 + k])), abs(float(box[1, 1 + k])))
        key[1 + k] = 0
        low = -curve if curve < 0 and float(curve) > -LIMIT / 4 else integer(0)
        if low > 0 and slope % (2 * low) == 0 and abs(slope // (2 * low)) <= FURTHEST:
            key[1 + k] = slope // (2 * low)
            reach = max(reach, abs(float(key[1 + k])))
        else:
            peaked = False
        size += abs(float(slope)) * reach + abs(float(curve)) * reach * (reach + 1)
    return peaked, size < LIMIT


@kernel
def peak(key: Integers, query: Integers, width: int) -> tuple[int, int]:
    """What the best integers add to a score, and how much less any others add, at least."""
    top, step = integer(0), -query[width + 1]
    for k in range(key.size - 1):
        curve = query[width + 2 * k + 1]
        top -= curve * key[1 + k] * key[1 + k]
        step = min(step, -curve)
    return top, step


@kernel
def most_promising(bounds: Integers, count: int) -> int:
    """The kind of the largest bound; -1 if none has one."""
    best = -1
    for kind in range(count):
        if bounds[kind] != NEVER and (best < 0 or bounds[kind] > bounds[best]):
            best = kind
    return best
