"""The best group of an index for a query, exact for every query.

Keys of narrow numbers are of one *kind* if the same numbers are not 0, such as all registers of ±1, or the sink. Of one
kind, no key is better than the one whose every number has the sign of the query's, and any other is worse by a step at
least. So of each kind one key is looked up by hash, and what was found is the best if it exceeds the most that any
other key can be. A query that did not change is compared with new keys alone. Where that does not decide, every group
is looked at.

Nothing here may index outside of an array, whatever the numbers: compiled code does not check.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.groups import compared, integer
from softmachine.engines.fast.indexes.kernels import LIMIT, Integers, added, divisor, kernel, times
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.entries import entry, find, key_of
from softmachine.engines.fast.tables.gathering import gather
from softmachine.engines.fast.tables.instructions import how_many
from softmachine.engines.fast.tables.pointers import inlined
from softmachine.engines.fast.tables.words import kind_of, number_at

WORST = -(1 << 62)
"""Less than any score of narrow numbers."""


@inlined
def ask(question: int, code: Integers, heap: Integers) -> None:
    """Find the group that is better than all others; `UNDECIDED` if that is not seen without looking at all of them."""
    asked, index = code[question + of.ASKED], code[question + of.INDEX]
    groups, g = code[code[index + of.GROUPED] + of.STATE], integer(of.UNDECIDED)
    if code[question + of.PLAIN] == 1 and heap[groups + of.KINDS] != of.MANY:
        if not gather(question, code, heap):
            g = heap[asked + of.GROUP]
            if g >= 0 and heap[asked + of.SEEN] != heap[groups + of.USED]:
                g = still_best(question, code, heap)
        if g < 0:
            turn_signs(question, code, heap)
            g, heap[asked + of.SCORE] = best_of_kinds(question, code, heap)
    heap[asked + of.GROUP], heap[asked + of.SEEN] = g, heap[groups + of.USED]


@inlined
def turn_signs(question: int, code: Integers, heap: Integers) -> None:
    """The signs of a query of narrow numbers, as the words of a key: those of what was read, some turned round."""
    last, signs, turned = code[question + of.LAST], code[question + of.SIGNS], code[question + of.TURNED]
    for k in range(code[question + of.WIDTH]):
        word = heap[last + k]
        heap[signs + k] = code[turned + 2 * k] | (word ^ ((word & code[turned + 2 * k + 1]) << 1))


@kernel
def still_best(question: int, code: Integers, heap: Integers) -> int:
    """The best of the group that was the best, and new ones; `UNDECIDED` if one of these is as good."""
    asked, index, signs = code[question + of.ASKED], code[question + of.INDEX], code[question + of.SIGNS]
    store, g, score = code[index + of.GROUPED], heap[asked + of.GROUP], heap[asked + of.SCORE]
    for other in range(heap[asked + of.SEEN], heap[code[store + of.STATE] + of.USED]):
        key, new = key_of(store, other, code, heap), integer(0)
        for size in range(code[question + of.SIZES], code[question + of.SIZES_END], 3):
            one, two = heap[signs + code[size + 1]], heap[key + code[size + 1]]
            both = kind_of(one) & kind_of(two) & code[size + 2]
            new += code[size] * (how_many(both) - 2 * how_many(((one ^ two) >> 1) & both))
        if new == score:
            return of.UNDECIDED
        if new > score:
            g, score = integer(other), new
    heap[asked + of.SCORE] = score
    return int(g)


@inlined
def best_of_kinds(question: int, code: Integers, heap: Integers) -> tuple[int, int]:
    """The group that is better than all others, and its score; `UNDECIDED` if that cannot be said."""
    index, signs, room = code[question + of.INDEX], code[question + of.SIGNS], code[of.ROOM]
    store, width = code[index + of.GROUPED], code[index + of.WIDTH]
    best, score, others = integer(of.UNDECIDED), integer(WORST), integer(WORST)
    asked = code[question + of.ASKED]
    guess, bounds = heap[asked + of.GROUP] + 1, asked + of.FOUND_SIZE + width
    know_bounds(question, code, heap)
    for t in range(heap[asked + of.BOUNDED]):
        kind, most, step = code[index + of.KIND] + t * width, heap[bounds + 2 * t], heap[bounds + 2 * t + 1]
        if most < score:
            others = max(others, most)
            continue
        g = integer(-1)
        if step > 0:
            for k in range(width):
                heap[room + k] = heap[signs + k] & (3 * heap[kind + k])
            g = find(store, guess, room, code, heap)
        if g < 0:  # it is not there, or it is not the only one: all others are below this
            others = max(others, most - step)
        elif most > score:
            best, score, others = g, most, max(others, score)
        else:
            others = most
    return (best, score) if score > others else (integer(of.UNDECIDED), score)


@inlined
def know_bounds(question: int, code: Integers, heap: Integers) -> None:
    """See to it that the bounds of all kinds are known: they depend on which numbers of the query are not 0."""
    index, signs = code[question + of.INDEX], code[question + of.SIGNS]
    width, kept = code[index + of.WIDTH], code[question + of.ASKED] + of.FOUND_SIZE
    known, kinds = heap[kept - of.FOUND_SIZE + of.BOUNDED], heap[code[code[index + of.GROUPED] + of.STATE] + of.KINDS]
    for k in range(width):
        kind = kind_of(heap[signs + k])
        if kind != heap[kept + k]:
            heap[kept + k], known = kind, integer(0)
    for t in range(known, kinds):
        most, step = bound(question, code[index + of.KIND] + t * width, code, heap)
        heap[kept + width + 2 * t], heap[kept + width + 2 * t + 1] = most, step
    heap[kept - of.FOUND_SIZE + of.BOUNDED] = kinds


@inlined
def bound(question: int, kind: int, code: Integers, heap: Integers) -> tuple[int, int]:
    """The most that a key of a kind can score, and how much less at least any other does; 0 if several do."""
    most, step, signs = integer(0), integer(1 << 62), code[question + of.SIGNS]
    for size in range(code[question + of.SIZES], code[question + of.SIZES_END], 3):
        inside = heap[kind + code[size + 1]] & code[size + 2]
        if inside:
            asked = kind_of(heap[signs + code[size + 1]]) & inside
            most += code[size] * how_many(asked)
            step = min(step, 2 * code[size]) if asked == inside else integer(0)
    return most, step


@kernel
def scaled_query(question: int, code: Integers, heap: Integers) -> tuple[int, bool]:
    """Compute a query as integers, times a positive number; the position's coefficient; whether they do not fit."""
    index, query, asks = code[question + of.INDEX], code[question + of.QUERY], code[question + of.ASKS]
    overs, common = code[of.ROOM], integer(1)
    count = (code[index + of.PARTS_END] - code[index + of.PARTS]) // 3
    for m in range(count):
        n, d = code[asks + 4 * m + 3], integer(1)
        if code[asks + 4 * m + 2]:
            n, d = number_at(heap, code[asks + 4 * m], code[asks + 4 * m + 1])
            n, d, bad = times(code[asks + 4 * m + 2], 1, n, d)
            if bad:
                return 0, True
        heap[query + m], heap[overs + m] = n, d
        step = d // divisor(common, d)
        if float(common) * float(step) >= LIMIT:
            return 0, True
        common *= step
    for m in range(count):
        factor = common // heap[overs + m]
        if abs(float(heap[query + m])) * float(factor) >= LIMIT:
            return 0, True
        heap[query + m] *= factor
    if abs(float(code[question + of.TIME])) * float(common) >= LIMIT:
        return 0, True
    return code[question + of.TIME] * common, False


@kernel
def score_of(question: int, g: int, time: int, code: Integers, heap: Integers) -> tuple[int, int, bool]:
    """The score of a group as a fraction, and whether it does not fit."""
    index, query = code[question + of.INDEX], code[question + of.QUERY]
    store = code[index + of.GROUPED]
    key, place = key_of(store, g, code, heap), entry(store, g, code, heap)
    when = heap[place + of.FINAL] if time > 0 else heap[place + of.FIRST]
    if abs(float(when) * float(time)) >= LIMIT:
        return 0, 1, True
    n, d = when * time, integer(1)
    for part in range(code[index + of.PARTS], code[index + of.PARTS_END], 3):
        p, o = number_at(heap, key + code[part + 1], code[part + 2])
        if heap[query] and p:
            p, o, bad = times(heap[query], 1, p, o)
            if bad:
                return 0, 1, True
            n, d, bad = added(n, d, p, o)
            if bad:
                return 0, 1, True
        query += 1
    return n, d, False


@kernel
def best_of_all(question: int, time: int, code: Integers, heap: Integers) -> tuple[int, int, int, int, bool]:
    """The first of the best groups, how many there are, their score, and whether something does not fit."""
    best, ties, n, d = integer(-1), integer(0), integer(0), integer(1)
    for g in range(heap[code[code[code[question + of.INDEX] + of.GROUPED] + of.STATE] + of.USED]):
        a, b, bad = score_of(question, g, time, code, heap)
        if bad:
            return -1, 0, 0, 1, True
        sign, bad = compared(a, b, n, d) if best >= 0 else (1, False)
        if bad:
            return -1, 0, 0, 1, True
        if sign > 0:
            best, ties, n, d = integer(g), integer(1), a, b
        elif sign == 0:
            ties += 1
    return best, ties, n, d, False
