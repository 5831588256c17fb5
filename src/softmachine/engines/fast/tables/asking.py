"""Argmax search over the groups of an index, exact for every query.

Keys of packed trits are of one *kind* if the same numbers are nonzero, such as all registers of ±1, or the sink. Among
keys of one kind, the best possible one has the sign of the query in every number, and any other scores lower by at
least a step. So one key of each kind is looked up by hash, and the result is the argmax if it exceeds the bounds on all
other keys. An unchanged query is compared with new keys only. Where this is not conclusive, every group is scanned.

Kernels must not index outside of an array, whatever the numbers: compiled code does not check bounds.
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
"""Less than any score of packed trits."""


@inlined
def ask(question: int, code: Integers, heap: Integers) -> None:
    """Find the unique best group; `UNDECIDED` if that takes a scan of all groups."""
    result, index = code[question + of.ASKED], code[question + of.INDEX]
    groups, g = code[code[index + of.GROUPED] + of.STATE], integer(of.UNDECIDED)
    if code[question + of.PLAIN] == 1 and heap[groups + of.KINDS] != of.MANY:
        if not gather(question, code, heap):
            g = heap[result + of.GROUP]
            if g >= 0 and heap[result + of.SEEN] != heap[groups + of.USED]:
                g = still_best(question, code, heap)
        if g < 0:
            turn_signs(question, code, heap)
            g, heap[result + of.SCORE] = best_of_kinds(question, code, heap)
    heap[result + of.GROUP], heap[result + of.SEEN] = g, heap[groups + of.USED]


@inlined
def turn_signs(question: int, code: Integers, heap: Integers) -> None:
    """The signs of a query of packed trits, as the words of a key: the words read, with some signs inverted."""
    last, signs, turned = code[question + of.LAST], code[question + of.SIGNS], code[question + of.TURNED]
    for k in range(code[question + of.WIDTH]):
        word = heap[last + k]
        heap[signs + k] = code[turned + 2 * k] | (word ^ ((word & code[turned + 2 * k + 1]) << 1))


@kernel
def still_best(question: int, code: Integers, heap: Integers) -> int:
    """Compare the previous best group with the new ones; `UNDECIDED` if one of these is as good."""
    result, index, signs = code[question + of.ASKED], code[question + of.INDEX], code[question + of.SIGNS]
    store, g, score = code[index + of.GROUPED], heap[result + of.GROUP], heap[result + of.SCORE]
    for other in range(heap[result + of.SEEN], heap[code[store + of.STATE] + of.USED]):
        key, new = key_of(store, other, code, heap), integer(0)
        for size in range(code[question + of.SIZES], code[question + of.SIZES_END], 3):
            one, two = heap[signs + code[size + 1]], heap[key + code[size + 1]]
            both = kind_of(one) & kind_of(two) & code[size + 2]
            new += code[size] * (how_many(both) - 2 * how_many(((one ^ two) >> 1) & both))
        if new == score:
            return of.UNDECIDED
        if new > score:
            g, score = integer(other), new
    heap[result + of.SCORE] = score
    return int(g)


@inlined
def best_of_kinds(question: int, code: Integers, heap: Integers) -> tuple[int, int]:
    """The unique best group and its score; `UNDECIDED` if the lookups by kind are not conclusive."""
    index, signs, room = code[question + of.INDEX], code[question + of.SIGNS], code[of.ROOM]
    store, width = code[index + of.GROUPED], code[index + of.WIDTH]
    best, score, others = integer(of.UNDECIDED), integer(WORST), integer(WORST)
    result = code[question + of.ASKED]
    guess, bounds = heap[result + of.GROUP] + 1, result + of.FOUND_SIZE + width
    know_bounds(question, code, heap)
    for t in range(heap[result + of.BOUNDED]):
        kind, most, step = code[index + of.KIND] + t * width, heap[bounds + 2 * t], heap[bounds + 2 * t + 1]
        if most < score:
            others = max(others, most)
            continue
        g = integer(-1)
        if step > 0:
            for k in range(width):
                heap[room + k] = heap[signs + k] & (3 * heap[kind + k])
            g = find(store, guess, room, code, heap)
        if g < 0:  # missing or not unique: all others are below this
            others = max(others, most - step)
        elif most > score:
            best, score, others = g, most, max(others, score)
        else:
            others = most
    return (best, score) if score > others else (integer(of.UNDECIDED), score)


@inlined
def know_bounds(question: int, code: Integers, heap: Integers) -> None:
    """Update the score bounds of all kinds, which depend on which numbers of the query are nonzero."""
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
    """The maximum score of a kind, and the least by which its other keys score lower; 0 if several reach it."""
    most, step, signs = integer(0), integer(1 << 62), code[question + of.SIGNS]
    for size in range(code[question + of.SIZES], code[question + of.SIZES_END], 3):
        inside = heap[kind + code[size + 1]] & code[size + 2]
        if inside:
            common = kind_of(heap[signs + code[size + 1]]) & inside
            most += code[size] * how_many(common)
            step = min(step, 2 * code[size]) if common == inside else integer(0)
    return most, step


@kernel
def scaled_query(question: int, code: Integers, heap: Integers) -> tuple[int, bool]:
    """Scale a query to integers; the position's coefficient on the same scale, and whether an overflow occurred."""
    index, query, factors = code[question + of.INDEX], code[question + of.QUERY], code[question + of.ASKS]
    overs, common = code[of.ROOM], integer(1)
    count = (code[index + of.PARTS_END] - code[index + of.PARTS]) // 3
    for m in range(count):
        n, d = code[factors + 4 * m + 3], integer(1)
        if code[factors + 4 * m + 2]:
            n, d = number_at(heap, code[factors + 4 * m], code[factors + 4 * m + 1])
            n, d, bad = times(code[factors + 4 * m + 2], 1, n, d)
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
    """The score of a group as a fraction, and whether it overflows."""
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
    """Scan all groups: the first of the best ones, their number, their score, and whether an overflow occurred."""
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
