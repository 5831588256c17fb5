"""Keys of small integers, and their kinds: those with the same absolute values, such as registers of ±1, or the sink.

Of one kind, no key is better than the one whose every component has the sign of the query's, and any other is worse by
a step at least. So of each kind one key is looked up by hash, and what was found is the best if it exceeds the most
that any other key can be. That is exact for every query; where it does not decide, all groups have to be looked at.

The keys of all indexes are in one array, and so are their hash tables and kinds: views would take longer than what is
done with them. Nothing here may index outside of an array, whatever the numbers: compiled code does not check.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.groups import integer, mixed
from softmachine.engines.fast.indexes.kernels import Integers, kernel

MOST_KINDS = 8
"""More are not told apart."""
MANY, UNDECIDED = -1, -1
WORST = -(1 << 62)
"""Less than any score of small integers."""


@kernel
def place_of(
    vector: Integers, at: int, width: int, keys: Integers, begin: int, slots: Integers, first: int, size: int
) -> int:
    """Where among the slots a key, which begins somewhere in a vector, is or belongs; as `indexes.groups.slot` does.

    Args:
        vector: What has the key,
        at: from here on,
        width: in so many components.
        keys: The keys of all indexes;
        begin: those of this one begin here.
        slots: The hash tables of all indexes;
        first: that of this one begins here,
        size: and has so many slots, a power of two; some are empty.
    """
    h = 7
    for k in range(width):
        h = mixed(h, k, vector[at + k])
    here = (h ^ (h >> 21) ^ (h >> 42)) & (size - 1)
    while slots[first + here] >= 0:
        row = begin + slots[first + here] * width
        unlike = 0
        for k in range(width):
            unlike |= keys[row + k] ^ vector[at + k]
        if unlike == 0:
            break
        here = (here + 1) & (size - 1)
    return int(first + here)


@kernel
def note_kind(kinds: Integers, begin: int, count: int, vector: Integers, at: int, width: int) -> int:
    """Note the kind of a key, and how many kinds there are then; `MANY` if they are too many."""
    if count == MANY:
        return MANY
    for t in range(count):
        unlike = 0
        for k in range(width):
            unlike |= kinds[begin + t * width + k] ^ abs(vector[at + k])
        if unlike == 0:
            return count
    if count == MOST_KINDS:
        return MANY
    for k in range(width):
        kinds[begin + count * width + k] = abs(vector[at + k])
    return count + 1


@kernel
def bound(kinds: Integers, begin: int, vector: Integers, at: int, width: int) -> tuple[int, int, bool]:
    """The most that a key of a kind can score, how much less if it is not that one, and if there are several."""
    most, step, free = 0, 1 << 62, False
    for k in range(width):
        size = abs(vector[at + k]) * kinds[begin + k]
        most += size
        if size > 0:
            step = min(step, 2 * size)
        elif kinds[begin + k] > 0:
            free = True
    return most, step, free


@kernel
def best_of_kinds(
    vector: Integers,
    at: int,
    width: int,
    kinds: Integers,
    kind: int,
    count: int,
    keys: Integers,
    begin: int,
    slots: Integers,
    first: int,
    size: int,
    target: Integers,
) -> tuple[int, int]:
    """The group that is better than all others, and its score; `UNDECIDED` if that cannot be said.

    All numbers are small, so that no score overflows. The query and its index are given as in `place_of`; ``kind`` is
    where its kinds begin.
    """
    best, score, others = integer(UNDECIDED), integer(WORST), integer(WORST)
    for t in range(count):
        most, step, free = bound(kinds, kind + t * width, vector, at, width)
        if most < score:
            others = max(others, most)
            continue
        g = integer(-1)
        if not free:
            for k in range(width):
                own = kinds[kind + t * width + k]
                target[k] = own if vector[at + k] > 0 else -own
            g = slots[place_of(target, 0, width, keys, begin, slots, first, size)]
        if g < 0:  # it is not there, or it is not the only one: all others are below this
            others = max(others, most if free else most - step)
        elif most > score:
            best, score, others = g, most, max(others, score)
        else:
            others = most
    return (best, score) if score > others else (integer(UNDECIDED), score)


@kernel
def dot(vector: Integers, at: int, keys: Integers, row: int, width: int) -> int:
    """The score of a key; of small integers."""
    total = integer(0)
    for k in range(width):
        total += vector[at + k] * keys[row + k]
    return total
