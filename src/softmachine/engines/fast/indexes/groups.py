"""Groups of equal keys, with the first member, the last one, and the sum of all values; and argmax search over them.

Exact for every query: where the position adds to the score, the last (or the first) member of a group is its best;
where it does not, all members tie. Memory is proportional to the number of different keys, not of positions.

The score of a group is query · key + time · position, where the position is that of its last member if later ones are
better, of its first if earlier ones are, and irrelevant if the position does not count. The search returns all exact
ties. Kernels must not index outside of an array, whatever the numbers: compiled code does not check bounds.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.kernels import LIMIT, Integers, added, kernel

FIRST, LAST, COUNT = 0, 1, 2
"""Columns of ``places``: the first and the last position of a group, and its size. A row of ``values`` has three
parts: the value of the first member, of the last, and the sum of all."""
GROUPS, INSERTED, LATEST, UNIQUE_BEST = 0, 1, 2, 3
"""Fields of ``meta``: the number of groups, the number of inserted positions, the group of the last one, and the
group that the last search found (-1 if there were several)."""
OK, FULL, TOO_LARGE = 0, 1, 2

_GOLDEN, _LOW, _LOWER, _SUM = 0x9E3779B1, (1 << 31) - 1, (1 << 30) - 1, (1 << 61) - 1
"""The hash is a sum of products of 31 bits of each component with a 30-bit constant of its own: it cannot overflow,
and unlike in a polynomial no product depends on another."""


@kernel
def extend_hash(h: int, k: int, component: int) -> int:
    """The hash extended by the k-th component."""
    return (h + (component & _LOW) * (((k + 1) * _GOLDEN) & _LOWER | 1)) & _SUM


@kernel
def find_slot(table: Integers, keys: Integers, key: Integers, width: int) -> int:
    """The slot of a key in the hash table, or where to insert it. The size is a power of two; some slots are empty."""
    h = 7
    for k in range(width):
        h = extend_hash(h, k, key[k])
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
        return OK
    if insert_key(keys, places, table, meta, box, key, i) == FULL:
        return FULL
    return insert_value(places, values, meta, value, fractions)


@kernel
def insert_key(
    keys: Integers, places: Integers, table: Integers, meta: Integers, box: Integers, key: Integers, i: int
) -> int:
    """Insert the key of position i; a repeated call has no effect."""
    if meta[INSERTED] > i:
        return OK
    width = keys.shape[1]
    at = find_slot(table, keys, key, width)
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
    return OK


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
        return OK
    return OK if add_to_sum(values[g, 2 * row :], value, fractions) else TOO_LARGE


@kernel
def add_to_sum(total: Integers, value: Integers, fractions: bool) -> bool:
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
        table[find_slot(table, keys, keys[g], keys.shape[1])] = g


@kernel
def score_group(
    keys: Integers, g: int, query: Integers, when: int, time: int, fractions: bool
) -> tuple[int, int, bool]:
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
def list_nonzero(query: Integers, width: int, places: Integers) -> int:
    """List the nonzero components among the first ``width``, few for one-hot vectors; returns their number."""
    count = 0
    for k in range(width):
        if query[k] != 0:
            places[count] = k
            count += 1
    return count


@kernel
def runtime_int(x: int) -> int:
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


AVERAGE, LEFTMOST, RIGHTMOST = 0, 1, 2
MAX_SCANNED_GROUPS = 8
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
    if meta[GROUPS] > MAX_SCANNED_GROUPS and (small or (time == 0 and not fractional_keys)):
        g = find_corner_group(keys, table, box, corner, query, abs(time) * meta[INSERTED])
        if g >= 0:
            meta[UNIQUE_BEST] = g
            return read_group(places, values, g, time, choice, out), False
    member = best_member(time, choice)
    best, n, d, count, ties, fits = (
        runtime_int(-1),
        runtime_int(0),
        runtime_int(1),
        runtime_int(0),
        runtime_int(0),
        True,
    )
    factors = list_nonzero(query, query.size, corner)
    for g in range(meta[GROUPS]):
        when = places[g, LAST] if time > 0 else places[g, FIRST]
        if small:
            a, b = when * time, runtime_int(1)
            for r in range(factors):
                a += query[corner[r]] * keys[g, corner[r]]
            if a < n and best >= 0:
                continue
        else:
            a, b, bad = score_group(keys, g, query, when, time, fractional_keys)
            if bad:
                return 0, True
        sign, bad = compared(a, b, n, d) if best >= 0 else (1, False)
        if bad:
            return 0, True
        if sign > 0:
            best, n, d, ties, fits = g, a, b, 1, True
            count = read_group(places, values, g, time, choice, out)
        elif sign == 0:
            ties += 1
            if choice == AVERAGE:  # an overflowing sum does not matter if a better key follows
                part = 2 if time == 0 else member
                fits = fits and add_to_sum(out, values[g, part * out.size : (part + 1) * out.size], fractions)
                count += places[g, COUNT] if part == 2 else 1
            elif (places[g, member] < places[best, member]) == (choice == LEFTMOST):
                best = g
                count = read_group(places, values, g, time, choice, out)
    meta[UNIQUE_BEST] = best if ties == 1 else -1
    return count, not fits


@kernel
def all_fit(box: Integers, query: Integers, time: int, positions: int) -> bool:
    """Whether the scores of all keys in the box fit, so that none has to be checked."""
    size = abs(float(time)) * float(positions)
    for k in range(query.size):
        size += abs(float(query[k])) * max(abs(float(box[0, k])), abs(float(box[1, k])))
    return size < LIMIT


@kernel
def find_corner_group(
    keys: Integers, table: Integers, box: Integers, corner: Integers, query: Integers, slack: int
) -> int:
    """The group at the corner of the box that maximises the score; -1 if there is none.

    Also -1 if a key a step away from the corner may be as good or better, given a position bonus of up to ``slack``.
    """
    for k in range(query.size):
        if box[0, k] != box[1, k] and abs(query[k]) <= slack:
            return -1
        corner[k] = box[1, k] if query[k] > 0 else box[0, k]
    return int(table[find_slot(table, keys, corner, keys.shape[1])])


@kernel
def read_group(places: Integers, values: Integers, g: int, time: int, choice: int, out: Integers) -> int:
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
