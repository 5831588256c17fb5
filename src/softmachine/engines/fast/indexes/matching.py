"""Groups of equal keys found by the integers in them: means over all keys that match a query.

A key has *gates*, of which there are few different combinations (its *kind*: for example a letter, or the sink), and
integers y, each of which adds a parabola slope · y + curve · y² to the score. Among keys of one kind, the best possible
one has the vertices of all parabolas as its integers, and any other scores lower by at least a step. So kinds are
processed in descending order of that bound. For each, one group is looked up by hash; the groups of a kind are scanned
only if that group is missing and the best of the others could still be at least as good as the best so far. This is
exact for every query, and O(kinds), a few operations each, if a sink scores as high as a match.

Kernels must not index outside of an array, whatever the numbers: compiled code does not check bounds.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.groups import (
    COUNT,
    FULL,
    GROUPS,
    INSERTED,
    LATEST,
    OK,
    add_to_sum,
    find_slot,
    insert_key,
    insert_value,
    list_nonzero,
    runtime_int,
)
from softmachine.engines.fast.indexes.kernels import LIMIT, Integers, kernel

MIN_SCORE = -9 * 10**18
"""Less than any score."""
MAX_VERTEX = 1 << 30
"""Maximum absolute value of a vertex that is looked up."""


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
    """Insert the key and value of position i; a repeated call has no effect.

    The key's integers are in ``key``, whose first entry is reserved for the kind.
    """
    if meta[INSERTED] > i:
        return OK
    width = kinds.shape[0]
    at = find_slot(kind_table, kinds.T, gates, width)
    kind = kind_table[at]
    if kind < 0:
        kind = tally[0]
        if kind >= kinds.shape[1] or 2 * (kind + 1) > kind_table.size:
            return FULL
        for k in range(width):
            kinds[k, kind] = gates[k]
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
    gates: Integers,
    key: Integers,
    query: Integers,
    fractions: bool,
    out: Integers,
) -> tuple[int, bool]:
    """The sum of the values of the best keys, their number, and whether an overflow occurred.

    The query has a factor for each gate, and then slope and curve for each integer. ``gates`` and ``key`` are
    overwritten.
    """
    peaked, fit = set_vertices(box, kind_sizes, key, query)
    if not fit:
        return 0, True
    width, row, count = kinds.shape[0], out.size, tally[0]
    top, step = peak_score(key, query, width) if peaked else (runtime_int(0), runtime_int(0))
    bound_kinds(kinds, gates, query, count, top, peaked, bounds)
    found, best, many, fits = False, runtime_int(0), runtime_int(0), True
    most = largest_bound(bounds, count)
    while most != MIN_SCORE and not (peaked and found and most < 2 * best):
        following = runtime_int(MIN_SCORE)
        for kind in range(count):
            if bounds[kind] == most:
                key[0] = kind
                g, score = newest[kind], (most - 1) // 2
                if most % 2:
                    g = table[find_slot(table, keys, key, keys.shape[1])]
                bounds[kind] = 2 * (score - step) if most % 2 and g < 0 else MIN_SCORE
                while g >= 0:
                    if most % 2 == 0:
                        score = score_in_kind(keys, kinds, kind, g, query)
                    if not found or score > best:
                        found, best, many, fits = True, score, places[g, COUNT], True
                        out[:] = values[g, 2 * row :]
                    elif score == best:
                        fits = fits and add_to_sum(out, values[g, 2 * row :], fractions)
                        many += places[g, COUNT]
                    g = chain[g] if most % 2 == 0 else runtime_int(-1)
            following = max(following, bounds[kind])
        most = following
    return many, not fits


@kernel
def bound_kinds(
    kinds: Integers, gates: Integers, query: Integers, count: int, top: int, peaked: bool, bounds: Integers
) -> None:
    """Bound the score of each kind: twice the best possible score plus 1; odd until its best key has been looked up.

    Where a parabola has no integer vertex the bound is 0: every kind is scanned.
    """
    for kind in range(count):
        bounds[kind] = 2 * top + 1 if peaked else runtime_int(0)
    if peaked:
        for r in range(list_nonzero(query, kinds.shape[0], gates)):
            factor, row = 2 * query[gates[r]], kinds[gates[r]]
            for kind in range(count):
                bounds[kind] += factor * row[kind]


@kernel
def score_in_kind(keys: Integers, kinds: Integers, kind: int, g: int, query: Integers) -> int:
    """The score of a group of a kind."""
    width, score = kinds.shape[0], runtime_int(0)
    for k in range(width):
        score += query[k] * kinds[k, kind]
    for k in range(keys.shape[1] - 1):
        y = keys[g, 1 + k]
        score += (query[width + 2 * k] + query[width + 2 * k + 1] * y) * y
    return score


@kernel
def set_vertices(box: Integers, kind_sizes: Integers, key: Integers, query: Integers) -> tuple[bool, bool]:
    """Set the key's integers to the vertices; whether every parabola has an integer one, and whether all scores fit."""
    width, peaked = kind_sizes.size, True
    size = 0.0
    for k in range(width):
        size += abs(float(query[k])) * float(kind_sizes[k])
    for k in range(key.size - 1):
        slope, curve = query[width + 2 * k], query[width + 2 * k + 1]
        reach = max(abs(float(box[0, 1 + k])), abs(float(box[1, 1 + k])))
        key[1 + k] = 0
        low = -curve if curve < 0 and float(curve) > -LIMIT / 4 else runtime_int(0)
        if low > 0 and slope % (2 * low) == 0 and abs(slope // (2 * low)) <= MAX_VERTEX:
            key[1 + k] = slope // (2 * low)
            reach = max(reach, abs(float(key[1 + k])))
        else:
            peaked = False
        size += abs(float(slope)) * reach + abs(float(curve)) * (reach + 1) * (reach + 1)
    return peaked, size < LIMIT


@kernel
def peak_score(key: Integers, query: Integers, width: int) -> tuple[int, int]:
    """The maximum of all parabolas, and the least by which other integers score lower."""
    top, step = runtime_int(0), runtime_int(MAX_VERTEX)
    for k in range(key.size - 1):
        curve = query[width + 2 * k + 1]
        top -= curve * key[1 + k] * key[1 + k]
        step = min(step, -curve)
    return top, step


@kernel
def largest_bound(bounds: Integers, count: int) -> int:
    """The largest bound; `MIN_SCORE` if there is none."""
    most = runtime_int(MIN_SCORE)
    for kind in range(count):
        most = max(most, bounds[kind])
    return most
