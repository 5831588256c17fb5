"""Heads of a large model: their keys in groups, all in the same few arrays; heads with the same keys share them.

A head's arrays are views of the arrays of all heads, on which `indexes.groups` and `indexes.finding` work.

Nothing here may index outside of an array, whatever the numbers: compiled code does not check.
"""

from __future__ import annotations

from typing import NamedTuple

from softmachine.engines.fast import status
from softmachine.engines.fast.indexes.finding import search, take
from softmachine.engines.fast.indexes.groups import ALONE, FITS, FULL, insert_key, insert_value
from softmachine.engines.fast.indexes.kernels import LIMIT, Integers, divisor, kernel, times
from softmachine.engines.fast.tables.rows import Vector, put

ODD_HEAD = 500_000
"""A head whose values are not small integers is said by its number and this; an index of such keys by its number."""
INDEX, QUERY, WIDTH, VALUE, SIZE, FOUND, CHOICE, TIME, CAUSAL, VALUES, ODD_VALUES = range(11)
"""The columns of ``heads``: its index; where its query is, and how long; where its value is, and how long; where what
it finds goes; which of tied keys; the coefficient of the position; whether it sees its own position; where its values
are kept; whether they are kept as fractions."""
KEY, PARTS, KEYS, CAPACITY, SLOTS, HASHED, PLACES, ODD_KEYS, BOX = range(9)
"""The columns of ``indexes``: where the key is, and how long; where keys are kept, and how many fit; where the hash
table is, and how large; where places are kept; whether keys are kept as fractions; where the box around all is."""
ASKED = 4
"""A column of ``meta``, besides those of `indexes.groups`: the position of the last search, plus one."""


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


@kernel
def keep(h: int, i: int, vector: Vector, kept: Kept) -> int:
    """Put the key and the value of position i into the index of a head, once; the status that this leads to."""
    head, x = kept.heads[h], kept.heads[h, INDEX]
    index, meta = kept.indexes[x], kept.meta[x]
    keys, places, slots, box = keys_of(x, kept)
    key = kept.room[0, : keys.shape[1]]
    if not as_kept(vector, index[KEY], index[PARTS], index[ODD_KEYS] != 0, key):
        return int(status.REPLAN + x)
    if insert_key(keys, places, slots, meta, box, key, i) == FULL:
        return int(status.FULL + x)
    if kept.done[h] > i:
        return status.RUNNING
    fractions, value = head[ODD_VALUES] != 0, kept.room[1, : head[SIZE] * (1 + head[ODD_VALUES])]
    if not as_kept(vector, head[VALUE], head[SIZE], fractions, value):
        return status.REPLAN + ODD_HEAD + h
    kept.done[h] = i + 1
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


@kernel
def retrieve(h: int, i: int, vector: Vector, kept: Kept) -> bool:
    """Find what a head retrieves at position i; whether a number does not fit."""
    head = kept.heads[h]
    x, size, found, choice = head[INDEX], head[SIZE], head[FOUND], head[CHOICE]
    index, meta = kept.indexes[x], kept.meta[x]
    whole, fractions = index[ODD_KEYS] == 0, head[ODD_VALUES] != 0
    query, corner = kept.room[2, : head[WIDTH]], kept.room[3, : head[WIDTH]]
    out = kept.room[4, : size * (1 + head[ODD_VALUES])]
    time, bad = scaled_query(head, vector, query)
    if bad:
        return True
    keys, places, slots, box = keys_of(x, kept)
    values = values_of(h, kept)
    asked = kept.asked[index[BOX] : index[BOX] + query.size]
    again = time == 0 and whole and meta[ASKED] == i + 1 and meta[ALONE] >= 0
    for k in range(query.size):
        again = again and query[k] == asked[k]
    if again:
        count = take(places, values, meta[ALONE], time, choice, out)
    else:
        count, bad = search(
            keys, places, values, slots, meta, box, corner, query, time, choice, not whole, fractions, out
        )
        if bad:
            return True
        meta[ASKED] = i + 1 if time == 0 else 0
        asked[:] = query
    if count == 0:
        for k in range(size):
            put(vector, found + k, 0, 1)
        return False
    for k in range(size):
        p, q = (out[2 * k], out[2 * k + 1]) if fractions else (out[k], 1)
        if count > 1 and p != 0:
            p, q, bad = times(1, count, p, q)
            if bad:
                return True
        put(vector, found + k, p, q)
    return False
