"""Argmax search over the groups of a head, with all exact ties.

The score of a group is query · key + time · position, where the position is that of its last member if later ones are
better, of its first if earlier ones are, and irrelevant if the position does not count.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.groups import (
    ALONE,
    COUNT,
    FIRST,
    GROUPS,
    INSERTED,
    LAST,
    add,
    compared,
    integer,
    nonzero,
    score,
    slot,
)
from softmachine.engines.fast.indexes.kernels import LIMIT, Integers, kernel

AVERAGE, LEFTMOST, RIGHTMOST = 0, 1, 2
FEW = 8
"""Up to this many groups are scanned without trying the corner first."""


@kernel
def search(
    keys: Integers,
    places: Integers,
    values: Integers,
    table: Integers,
    meta: Integers,
    box: Integers,
    corner: Integers,
    query: Integers,
    time: int,
    choice: int,
    fractional_keys: bool,
    fractions: bool,
    out: Integers,
) -> tuple[int, bool]:
    """The sum of the values of the best keys, their number, and whether an overflow occurred.

    If the best corner of the bounding box of all keys is a key, and no position bonus can outweigh a step away from it,
    that key is the best; otherwise every group is scanned.
    """
    small = not fractional_keys and all_fit(box, query, time, meta[INSERTED])
    if meta[GROUPS] > FEW and (small or (time == 0 and not fractional_keys)):
        g = at_corner(keys, table, box, corner, query, abs(time) * meta[INSERTED])
        if g >= 0:
            meta[ALONE] = g
            return take(places, values, g, time, choice, out), False
    member = best_member(time, choice)
    best, n, d, count, ties, fits = integer(-1), integer(0), integer(1), integer(0), integer(0), True
    factors = nonzero(query, query.size, corner)
    for g in range(meta[GROUPS]):
        when = places[g, LAST] if time > 0 else places[g, FIRST]
        if small:
            a, b = when * time, integer(1)
            for r in range(factors):
                a += query[corner[r]] * keys[g, corner[r]]
            if a < n and best >= 0:
                continue
        else:
            a, b, bad = score(keys, g, query, when, time, fractional_keys)
            if bad:
                return 0, True
        sign, bad = compared(a, b, n, d) if best >= 0 else (1, False)
        if bad:
            return 0, True
        if sign > 0:
            best, n, d, ties, fits = g, a, b, 1, True
            count = take(places, values, g, time, choice, out)
        elif sign == 0:
            ties += 1
            if choice == AVERAGE:  # an overflowing sum does not matter if a better key follows
                part = 2 if time == 0 else member
                fits = fits and add(out, values[g, part * out.size : (part + 1) * out.size], fractions)
                count += places[g, COUNT] if part == 2 else 1
            elif (places[g, member] < places[best, member]) == (choice == LEFTMOST):
                best = g
                count = take(places, values, g, time, choice, out)
    meta[ALONE] = best if ties == 1 else -1
    return count, not fits


@kernel
def all_fit(box: Integers, query: Integers, time: int, positions: int) -> bool:
    """Whether the scores of all keys in the box fit, so that none has to be checked."""
    size = abs(float(time)) * float(positions)
    for k in range(query.size):
        size += abs(float(query[k])) * max(abs(float(box[0, k])), abs(float(box[1, k])))
    return size < LIMIT


@kernel
def at_corner(keys: Integers, table: Integers, box: Integers, corner: Integers, query: Integers, slack: int) -> int:
    """The group at the corner of the box that maximises the score; -1 if there is none.

    Also -1 if a key a step away from the corner may be as good or better, given a position bonus of up to ``slack``.
    """
    for k in range(query.size):
        if box[0, k] != box[1, k] and abs(query[k]) <= slack:
            return -1
        corner[k] = box[1, k] if query[k] > 0 else box[0, k]
    return int(table[slot(table, keys, corner, keys.shape[1])])


@kernel
def take(places: Integers, values: Integers, g: int, time: int, choice: int, out: Integers) -> int:
    """Copy the values of one group; returns how many keys they are the sum of."""
    row = out.size
    part = 2 if choice == AVERAGE and time == 0 else best_member(time, choice)
    for k in range(row):
        out[k] = values[g, part * row + k]
    return places[g, COUNT] if part == 2 else 1


@kernel
def best_member(time: int, choice: int) -> int:
    """Which member of a group is the best: the first or the last."""
    return LAST if time > 0 or (time == 0 and choice == RIGHTMOST) else FIRST
