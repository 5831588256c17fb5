"""Heads of a large model: their keys in groups, all in the same few arrays; heads with the same keys share them.

A head's arrays are views of the arrays of all heads, on which `indexes.groups` and `indexes.finding` work. Where keys
and query are small integers and the position does not count, a query that did not change is compared with new keys
alone, and others are looked up by kind (`kinds`); all groups are looked at where that does not decide.

Nothing here may index outside of an array, whatever the numbers: compiled code does not check.
"""

from __future__ import annotations

from typing import NamedTuple

from softmachine.engines.fast import status
from softmachine.engines.fast.indexes.finding import AVERAGE, search, take
from softmachine.engines.fast.indexes.groups import (
    ALONE,
    COUNT,
    FIRST,
    FITS,
    FULL,
    GROUPS,
    INSERTED,
    LAST,
    LATEST,
    insert_key,
    insert_value,
)
from softmachine.engines.fast.indexes.kernels import LIMIT, Integers, divisor, inlined, kernel, times
from softmachine.engines.fast.tables.kinds import MANY, MOST_KINDS, UNDECIDED, best_of_kinds, dot, note_kind, place_of
from softmachine.engines.fast.tables.rows import Rows, Vector, put

ODD_HEAD = 500_000
"""A head whose values are not small integers is said by its number and this; an index of such keys by its number."""
INDEX, QUERY, WIDTH, VALUE, SIZE, FOUND, CHOICE, TIME, CAUSAL, VALUES, ODD_VALUES, ASKS = range(12)
"""The columns of ``heads``: its index; where its query is, and how long; where its value is, and how long; where what
it finds goes; which of tied keys; the coefficient of the position; whether it sees its own position; where its values
are kept; whether they are kept as fractions; the number of its query."""
KEY, PARTS, KEYS, CAPACITY, SLOTS, HASHED, PLACES, ODD_KEYS, BOX, TELLS = range(10)
"""The columns of ``indexes``: where the key is, and how long; where keys are kept, and how many fit; where the hash
table is, and how large; where places are kept; whether keys are kept as fractions; where the box around all is; the
number of its key."""
ASKED, KINDS = 4, 5
"""Columns of ``meta``, besides those of `indexes.groups`: the position of the last search, plus one; and how many kinds
of keys there are, `MANY` if they are not told apart."""
GROUP, SCORE, SEEN, SMALL_QUERY = 0, 1, 2, 3
"""The columns of ``latest``: the one best group that was found last, -1 if there was none; its score; how many groups
there were; whether the query is of small integers."""


class Kept(NamedTuple):
    """What all heads keep.

    Args:
        heads: A row for each head.
        indexes: A row for each index, a set of keys.
        done: For each head, how many positions were put into its values.
        meta: What `indexes.groups` keeps of each index.
        keys: The keys of all indexes.
        slots: Their hash tables.
        places: First and last position, and count, of their groups.
        values: The values of all heads.
        boxes: The boxes around the keys of all indexes.
        asked: The last queries.
        kinds: The kinds of keys of all indexes.
        latest: What was found last for each query; heads may share one.
        room: For a key, a value, a query, a corner, and what is found.
    """

    heads: Integers
    indexes: Integers
    done: Integers
    meta: Integers
    keys: Integers
    slots: Integers
    places: Integers
    values: Integers
    boxes: Integers
    asked: Integers
    kinds: Integers
    latest: Integers
    room: Integers


@kernel
def as_kept(vector: Vector, begin: int, size: int, fractions: bool, into: Integers) -> bool:
    """Write numbers as they are kept: small integers, or numerators and denominators; whether that is possible."""
    for k in range(size):
        if fractions:
            into[2 * k], into[2 * k + 1] = vector.n[begin + k], vector.d[begin + k]
        elif vector.odd[begin + k]:
            return False
        else:
            into[k] = vector.n[begin + k]
    return True


@kernel
def keys_of(x: int, kept: Kept) -> tuple[Integers, Integers, Integers, Integers]:
    """The keys, places, hash table and box of an index."""
    index = kept.indexes[x]
    width, capacity = index[PARTS] * (1 + index[ODD_KEYS]), index[CAPACITY]
    return (
        kept.keys[index[KEYS] : index[KEYS] + capacity * width].reshape((capacity, width)),
        kept.places[index[PLACES] : index[PLACES] + capacity],
        kept.slots[index[SLOTS] : index[SLOTS] + index[HASHED]],
        kept.boxes[:, index[BOX] : index[BOX] + width],
    )


@kernel
def values_of(h: int, kept: Kept) -> Integers:
    """The values of a head."""
    head = kept.heads[h]
    width, capacity = 3 * head[SIZE] * (1 + head[ODD_VALUES]), kept.indexes[head[INDEX], CAPACITY]
    return kept.values[head[VALUES] : head[VALUES] + capacity * width].reshape((capacity, width))


@inlined
def keep(h: int, i: int, vector: Vector, kept: Kept) -> int:
    """Put the key and the value of position i into the index of a head, once; the status that this leads to."""
    x, found = kept.heads[h, INDEX], status.RUNNING
    if kept.meta[x, INSERTED] <= i:
        found = keep_fractions(x, i, vector, kept) if kept.indexes[x, ODD_KEYS] else keep_key(x, i, vector, kept)
    if found == status.RUNNING and kept.done[h] <= i:
        if kept.heads[h, ODD_VALUES] or kept.heads[h, TIME] or kept.heads[h, CHOICE] != AVERAGE:
            found = keep_value(h, vector, kept)
        else:
            found = keep_sum(h, vector, kept)
        if found == status.RUNNING:
            kept.done[h] = i + 1
    return found


@inlined
def keep_key(x: int, i: int, vector: Vector, kept: Kept) -> int:
    """Put the key of position i, of small integers, into an index; the status that this leads to."""
    begin, width, room = kept.indexes[x, KEY], kept.indexes[x, PARTS], kept.indexes[x, PLACES]
    g, moved, found = kept.meta[x, LATEST], kept.indexes[x, TELLS], status.RUNNING
    if i == 0 or kept.meta[x, INSERTED] != i or vector.moved[moved]:  # else it is the key of the position before
        for k in range(width):
            if vector.odd[begin + k]:
                found = int(status.REPLAN + x)
        at = place_of(
            *(vector.n, begin, width, kept.keys, kept.indexes[x, KEYS]),
            *(kept.slots, kept.indexes[x, SLOTS], kept.indexes[x, HASHED]),
        )
        g = kept.slots[at]
        if g < 0 and found == status.RUNNING:
            g = kept.meta[x, GROUPS]
            if g >= kept.indexes[x, CAPACITY] or 2 * (g + 1) > kept.indexes[x, HASHED]:
                found = int(status.FULL + x)
            else:
                new_group(x, g, i, vector.n, kept)
                kept.slots[at] = g
    if found == status.RUNNING:
        kept.places[room + g, LAST] = i
        kept.places[room + g, COUNT] += 1
        kept.meta[x, INSERTED], kept.meta[x, LATEST] = i + 1, g
        vector.moved[moved] = False
    return found


@inlined
def new_group(x: int, g: int, i: int, n: Integers, kept: Kept) -> None:
    """Begin a group with the key of position i; there is room for it."""
    begin, width, box = kept.indexes[x, KEY], kept.indexes[x, PARTS], kept.indexes[x, BOX]
    row, place = kept.indexes[x, KEYS] + g * width, kept.indexes[x, PLACES] + g
    for k in range(width):
        own = n[begin + k]
        kept.keys[row + k] = own
        kept.boxes[0, box + k] = own if g == 0 else min(kept.boxes[0, box + k], own)
        kept.boxes[1, box + k] = own if g == 0 else max(kept.boxes[1, box + k], own)
    kept.places[place, FIRST], kept.places[place, COUNT] = i, 0
    kept.meta[x, GROUPS] = g + 1
    kept.meta[x, KINDS] = note_kind(kept.kinds, box * MOST_KINDS, kept.meta[x, KINDS], n, begin, width)


@kernel
def keep_fractions(x: int, i: int, vector: Vector, kept: Kept) -> int:
    """Put the key of position i into an index of fractions; the status that this leads to."""
    index = kept.indexes[x]
    keys, places, slots, box = keys_of(x, kept)
    key = kept.room[0, : keys.shape[1]]
    as_kept(vector, index[KEY], index[PARTS], True, key)
    full = insert_key(keys, places, slots, kept.meta[x], box, key, i) == FULL
    return int(status.FULL + x) if full else status.RUNNING


@inlined
def keep_sum(h: int, vector: Vector, kept: Kept) -> int:
    """Add the value of the present position to the sum of its group, all that is ever asked for; the status.

    Sums of small integers fit.
    """
    x, size, begin = kept.heads[h, INDEX], kept.heads[h, SIZE], kept.heads[h, VALUE]
    g, found = kept.meta[x, LATEST], status.RUNNING
    for k in range(size):
        if vector.odd[begin + k]:
            found = int(status.REPLAN + ODD_HEAD + h)
    if found == status.RUNNING:
        fresh = kept.places[kept.indexes[x, PLACES] + g, COUNT] == 1
        at = kept.heads[h, VALUES] + (3 * g + 2) * size
        for k in range(size):
            kept.values[at + k] = vector.n[begin + k] + (0 if fresh else kept.values[at + k])
    return found


@kernel
def keep_value(h: int, vector: Vector, kept: Kept) -> int:
    """Put the value of the present position into its group, as the first, the last, and part of the sum; the status."""
    head = kept.heads[h]
    index, meta = kept.indexes[head[INDEX]], kept.meta[head[INDEX]]
    fractions, value = head[ODD_VALUES] != 0, kept.room[1, : head[SIZE] * (1 + head[ODD_VALUES])]
    if not as_kept(vector, head[VALUE], head[SIZE], fractions, value):
        return int(status.REPLAN + ODD_HEAD + h)
    places = kept.places[index[PLACES] : index[PLACES] + index[CAPACITY]]
    fits = insert_value(places, values_of(h, kept), meta, value, fractions) == FITS
    return status.RUNNING if fits else status.TOO_LARGE


@kernel
def scaled_query(head: Integers, vector: Vector, query: Integers) -> tuple[int, bool]:
    """The query as integers, times a positive number; the position's coefficient; whether they do not fit."""
    begin, time, strange = head[QUERY], head[TIME], False
    for k in range(query.size):
        query[k] = vector.n[begin + k]
        strange |= vector.odd[begin + k]
    if not strange:
        return time, False
    common = 1
    for k in range(query.size):
        step = vector.d[begin + k] // divisor(common, vector.d[begin + k])
        if float(common) * float(step) >= LIMIT:
            return 0, True
        common *= step
    for k in range(query.size):
        factor = common // vector.d[begin + k]
        if abs(float(vector.n[begin + k])) * float(factor) >= LIMIT:
            return 0, True
        query[k] = vector.n[begin + k] * factor
    if abs(float(time)) * float(common) >= LIMIT:
        return 0, True
    return time * common, False


@inlined
def retrieve(h: int, i: int, rows: Rows, vector: Vector, kept: Kept) -> bool:
    """Find what a head retrieves at position i; whether a number does not fit."""
    x, size, found, bad = kept.heads[h, INDEX], kept.heads[h, SIZE], kept.heads[h, FOUND], False
    fractions = kept.heads[h, ODD_VALUES] != 0
    g = only_best(h, vector, kept)
    if g >= 0 and not fractions and kept.heads[h, CHOICE] == AVERAGE:
        count = kept.places[kept.indexes[x, PLACES] + g, COUNT]
        at = kept.heads[h, VALUES] + (3 * g + 2) * size
        for k in range(size):
            kept.room[4, k] = kept.values[at + k]
    else:
        count, bad = searched(h, i, g, vector, kept)
    for k in range(0 if bad else size):
        p, q = (kept.room[4, 2 * k], kept.room[4, 2 * k + 1]) if fractions else (kept.room[4, k], 1)
        if count == 0:
            p, q = 0, 1
        elif count > 1 and p != 0:
            p, q, unfit = shared(p, q, count)
            bad |= unfit
        put(rows, vector, found + k, p, q)
    return bad


@kernel
def shared(p: int, q: int, count: int) -> tuple[int, int, bool]:
    """A fraction, divided by a number; and whether it does not fit."""
    if q == 1 and p % count == 0:
        return p // count, 1, False
    return times(1, count, p, q)


@inlined
def only_best(h: int, vector: Vector, kept: Kept) -> int:
    """The group that is better than all others, -1 if that is not seen without looking at all of them."""
    x, begin, width, asks = kept.heads[h, INDEX], kept.heads[h, QUERY], kept.heads[h, WIDTH], kept.heads[h, ASKS]
    g, groups, keys = UNDECIDED, kept.meta[x, GROUPS], kept.indexes[x, KEYS]
    if vector.moved[asks]:
        vector.moved[asks] = False
        kept.latest[asks, GROUP], kept.latest[asks, SMALL_QUERY] = UNDECIDED, 1
        for k in range(width):
            if vector.odd[begin + k]:
                kept.latest[asks, SMALL_QUERY] = 0
    plain = kept.heads[h, TIME] == 0 and kept.indexes[x, ODD_KEYS] == 0 and kept.meta[x, KINDS] != MANY
    if plain and kept.latest[asks, SMALL_QUERY] == 1:
        g, score = kept.latest[asks, GROUP], kept.latest[asks, SCORE]
        if g >= 0:
            for other in range(kept.latest[asks, SEEN], groups):
                new = dot(vector.n, begin, kept.keys, keys + other * width, width)
                if new > score:
                    g, score = other, new
                elif new == score:
                    g = UNDECIDED
                    break
        if g < 0:
            g, score = best_of_kinds(
                *(vector.n, begin, width, kept.kinds, kept.indexes[x, BOX] * MOST_KINDS, kept.meta[x, KINDS]),
                *(kept.keys, keys, kept.slots, kept.indexes[x, SLOTS], kept.indexes[x, HASHED], kept.room[3]),
            )
        kept.latest[asks, GROUP], kept.latest[asks, SCORE], kept.latest[asks, SEEN] = g, score, groups
    return g


@kernel
def searched(h: int, i: int, g: int, vector: Vector, kept: Kept) -> tuple[int, bool]:
    """How many keys are the best, and whether something does not fit; the sum of their values is in the last room.

    If a group is known to be the only best one, it is given.
    """
    head = kept.heads[h]
    out = kept.room[4, : head[SIZE] * (1 + head[ODD_VALUES])]
    x, choice = head[INDEX], head[CHOICE]
    index, meta = kept.indexes[x], kept.meta[x]
    whole, fractions = index[ODD_KEYS] == 0, head[ODD_VALUES] != 0
    query, corner = kept.room[2, : head[WIDTH]], kept.room[3, : head[WIDTH]]
    keys, places, slots, box = keys_of(x, kept)
    values = values_of(h, kept)
    if g >= 0:
        return take(places, values, g, 0, choice, out), False
    time, bad = scaled_query(head, vector, query)
    if bad:
        return 0, True
    asked = kept.asked[index[BOX] : index[BOX] + query.size]
    again = time == 0 and whole and meta[ASKED] == i + 1 and meta[ALONE] >= 0
    for k in range(query.size):
        again = again and query[k] == asked[k]
    if again:
        return take(places, values, meta[ALONE], time, choice, out), False
    meta[ASKED] = i + 1 if time == 0 else 0
    asked[:] = query
    return search(keys, places, values, slots, meta, box, corner, query, time, choice, not whole, fractions, out)
