"""Attention of large models: insertion of keys and values into groups of equal keys, and exact argmax retrieval.

Heads with equal queries share one lookup. Of a group's values, the words of one are stored: the first, or the last if
later keys are better. Where all tied keys count, these words are the mean as long as all values are equal; otherwise
the group has a sum as well. So a retrieval is usually a copy of words.

Keys of packed trits are of one *kind* if the same numbers are nonzero, such as all registers of ±1, or the sink. Among
keys of one kind, the best possible one has the sign of the query in every number, and any other scores lower by at
least a step. So one key of each kind is looked up by hash, and the result is the argmax if it exceeds the bounds on all
other keys. An unchanged query is compared with new keys only. Where this is not conclusive, every group is scanned.

Kernels must not index outside of an array, whatever the numbers: compiled code does not check bounds.
"""

from __future__ import annotations

from softmachine.engines.fast import status
from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode.hash_tables import append, entry_address, find, insert, key_address
from softmachine.engines.fast.bytecode.intrinsics import inline_kernel, popcount
from softmachine.engines.fast.bytecode.packed_trits import gather, nonzero_lanes, read_number, write_number
from softmachine.engines.fast.indexes.groups import AVERAGE, LEFTMOST, compared, runtime_int
from softmachine.engines.fast.indexes.kernels import LIMIT, Integers, added, divisor, kernel, times

MIN_SCORE = -(1 << 62)
"""Less than any score of packed trits."""


@inline_kernel
def evaluate_query(question: int, code: Integers, heap: Integers) -> None:
    """Find the unique best group; `UNDECIDED` if that takes a scan of all groups."""
    result, index = code[question + of.SEARCH_RESULT], code[question + of.INDEX]
    groups, g = code[code[index + of.GROUP_STORE] + of.STATE], runtime_int(of.UNDECIDED)
    if code[question + of.IS_PLAIN] == 1 and heap[groups + of.KINDS] != of.TOO_MANY_KINDS:
        if not gather(question, code, heap):
            g = heap[result + of.GROUP]
            if g >= 0 and heap[result + of.SEARCHED_GROUPS] != heap[groups + of.USED]:
                g = update_best(question, code, heap)
        if g < 0:
            compute_signs(question, code, heap)
            g, heap[result + of.SCORE] = find_best_by_kind(question, code, heap)
    heap[result + of.GROUP], heap[result + of.SEARCHED_GROUPS] = g, heap[groups + of.USED]


@inline_kernel
def compute_signs(question: int, code: Integers, heap: Integers) -> None:
    """The signs of a query of packed trits, as the words of a key: the words read, with some signs inverted."""
    last, signs, turned = code[question + of.LAST_READ], code[question + of.SIGNS], code[question + of.INVERTED]
    for k in range(code[question + of.WIDTH]):
        word = heap[last + k]
        heap[signs + k] = code[turned + 2 * k] | (word ^ ((word & code[turned + 2 * k + 1]) << 1))


@kernel
def update_best(question: int, code: Integers, heap: Integers) -> int:
    """Compare the previous best group with the new ones; `UNDECIDED` if one of these is as good."""
    result, index, signs = code[question + of.SEARCH_RESULT], code[question + of.INDEX], code[question + of.SIGNS]
    store, g, score = code[index + of.GROUP_STORE], heap[result + of.GROUP], heap[result + of.SCORE]
    for other in range(heap[result + of.SEARCHED_GROUPS], heap[code[store + of.STATE] + of.USED]):
        key, new = key_address(store, other, code, heap), runtime_int(0)
        for size in range(code[question + of.SIZES], code[question + of.SIZES_END], 3):
            one, two = heap[signs + code[size + 1]], heap[key + code[size + 1]]
            both = nonzero_lanes(one) & nonzero_lanes(two) & code[size + 2]
            new += code[size] * (popcount(both) - 2 * popcount(((one ^ two) >> 1) & both))
        if new == score:
            return of.UNDECIDED
        if new > score:
            g, score = runtime_int(other), new
    heap[result + of.SCORE] = score
    return int(g)


@inline_kernel
def find_best_by_kind(question: int, code: Integers, heap: Integers) -> tuple[int, int]:
    """The unique best group and its score; `UNDECIDED` if the lookups by kind are not conclusive."""
    index, signs, room = code[question + of.INDEX], code[question + of.SIGNS], code[of.SCRATCH]
    store, width = code[index + of.GROUP_STORE], code[index + of.WIDTH]
    best, score, others = runtime_int(of.UNDECIDED), runtime_int(MIN_SCORE), runtime_int(MIN_SCORE)
    result = code[question + of.SEARCH_RESULT]
    guess, bounds = heap[result + of.GROUP] + 1, result + of.SEARCH_RESULT_SIZE + width
    update_bounds(question, code, heap)
    for t in range(heap[result + of.BOUNDED_KINDS]):
        kind, most, step = code[index + of.KIND] + t * width, heap[bounds + 2 * t], heap[bounds + 2 * t + 1]
        if most < score:
            others = max(others, most)
            continue
        g = runtime_int(-1)
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
    return (best, score) if score > others else (runtime_int(of.UNDECIDED), score)


@inline_kernel
def update_bounds(question: int, code: Integers, heap: Integers) -> None:
    """Update the score bounds of all kinds, which depend on which numbers of the query are nonzero."""
    index, signs = code[question + of.INDEX], code[question + of.SIGNS]
    width, kept = code[index + of.WIDTH], code[question + of.SEARCH_RESULT] + of.SEARCH_RESULT_SIZE
    known, kinds = (
        heap[kept - of.SEARCH_RESULT_SIZE + of.BOUNDED_KINDS],
        heap[code[code[index + of.GROUP_STORE] + of.STATE] + of.KINDS],
    )
    for k in range(width):
        kind = nonzero_lanes(heap[signs + k])
        if kind != heap[kept + k]:
            heap[kept + k], known = kind, runtime_int(0)
    for t in range(known, kinds):
        most, step = bound_kind(question, code[index + of.KIND] + t * width, code, heap)
        heap[kept + width + 2 * t], heap[kept + width + 2 * t + 1] = most, step
    heap[kept - of.SEARCH_RESULT_SIZE + of.BOUNDED_KINDS] = kinds


@inline_kernel
def bound_kind(question: int, kind: int, code: Integers, heap: Integers) -> tuple[int, int]:
    """The maximum score of a kind, and the least by which its other keys score lower; 0 if several reach it."""
    most, step, signs = runtime_int(0), runtime_int(1 << 62), code[question + of.SIGNS]
    for size in range(code[question + of.SIZES], code[question + of.SIZES_END], 3):
        inside = heap[kind + code[size + 1]] & code[size + 2]
        if inside:
            common = nonzero_lanes(heap[signs + code[size + 1]]) & inside
            most += code[size] * popcount(common)
            step = min(step, 2 * code[size]) if common == inside else runtime_int(0)
    return most, step


@kernel
def scale_query(question: int, code: Integers, heap: Integers) -> tuple[int, bool]:
    """Scale a query to integers; the position's coefficient on the same scale, and whether an overflow occurred."""
    index, query, factors = code[question + of.INDEX], code[question + of.QUERY], code[question + of.FACTORS]
    overs, common = code[of.SCRATCH], runtime_int(1)
    count = (code[index + of.PARTS_END] - code[index + of.PARTS]) // 3
    for m in range(count):
        n, d = code[factors + 4 * m + 3], runtime_int(1)
        if code[factors + 4 * m + 2]:
            n, d = read_number(heap, code[factors + 4 * m], code[factors + 4 * m + 1])
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
    if abs(float(code[question + of.POSITION_WEIGHT])) * float(common) >= LIMIT:
        return 0, True
    return code[question + of.POSITION_WEIGHT] * common, False


@kernel
def score_group(question: int, g: int, time: int, code: Integers, heap: Integers) -> tuple[int, int, bool]:
    """The score of a group as a fraction, and whether it overflows."""
    index, query = code[question + of.INDEX], code[question + of.QUERY]
    store = code[index + of.GROUP_STORE]
    key, place = key_address(store, g, code, heap), entry_address(store, g, code, heap)
    when = heap[place + of.LAST_POSITION] if time > 0 else heap[place + of.FIRST_POSITION]
    if abs(float(when) * float(time)) >= LIMIT:
        return 0, 1, True
    n, d = when * time, runtime_int(1)
    for part in range(code[index + of.PARTS], code[index + of.PARTS_END], 3):
        p, o = read_number(heap, key + code[part + 1], code[part + 2])
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
def scan_groups(question: int, time: int, code: Integers, heap: Integers) -> tuple[int, int, int, int, bool]:
    """Scan all groups: the first of the best ones, their number, their score, and whether an overflow occurred."""
    best, ties, n, d = runtime_int(-1), runtime_int(0), runtime_int(0), runtime_int(1)
    for g in range(heap[code[code[code[question + of.INDEX] + of.GROUP_STORE] + of.STATE] + of.USED]):
        a, b, bad = score_group(question, g, time, code, heap)
        if bad:
            return -1, 0, 0, 1, True
        sign, bad = compared(a, b, n, d) if best >= 0 else (1, False)
        if bad:
            return -1, 0, 0, 1, True
        if sign > 0:
            best, ties, n, d = runtime_int(g), runtime_int(1), a, b
        elif sign == 0:
            ties += 1
    return best, ties, n, d, False


WIDE_LOOKUP_BASE = 500_000
"""A status names a lookup that finds numbers other than -1, 0 and 1 by its number plus this; a block by its number."""


@inline_kernel
def insert_key(index: int, i: int, code: Integers, heap: Integers) -> int:
    """Insert the key of position i into an index; a repeated call has no effect. Returns a status."""
    store, key = code[index + of.GROUP_STORE], code[index + of.LAST_READ]
    groups = code[store + of.STATE]
    if heap[groups + of.INSERTED] > i:
        return status.RUNNING
    new, g = gather(index, code, heap), heap[groups + of.LATEST]
    if new or i == 0 or g < 0:
        g = find(store, g + 1, key, code, heap)
        if g < 0:
            g = insert(store, g, key, code, heap)
            if g < 0:
                heap[groups + of.LATEST] = of.UNDECIDED
                return status.FULL
            init_group(index, g, i, code, heap)
    place = entry_address(store, g, code, heap)
    heap[place + of.LAST_POSITION] = i
    heap[place + of.COUNT] += 1
    heap[groups + of.INSERTED], heap[groups + of.LATEST] = i + 1, g
    return status.RUNNING


@kernel
def init_group(index: int, g: int, i: int, code: Integers, heap: Integers) -> None:
    """Initialise a group with the key of position i, which was just gathered."""
    groups, key = code[code[index + of.GROUP_STORE] + of.STATE], code[index + of.LAST_READ]
    width, count = code[index + of.WIDTH], heap[groups + of.KINDS]
    place = entry_address(code[index + of.GROUP_STORE], g, code, heap)
    heap[place + of.FIRST_POSITION], heap[place + of.COUNT] = i, 0
    if code[index + of.IS_WIDE]:
        count = runtime_int(of.TOO_MANY_KINDS)
    for t in range(count):
        k = 0
        while k < width and heap[code[index + of.KIND] + t * width + k] == nonzero_lanes(heap[key + k]):
            k += 1
        if k == width:
            return
    if count == of.MAX_KINDS:
        count = runtime_int(of.TOO_MANY_KINDS)
    if count != of.TOO_MANY_KINDS:
        for k in range(width):
            heap[code[index + of.KIND] + count * width + k] = nonzero_lanes(heap[key + k])
        count += 1
    heap[groups + of.KINDS] = count


@inline_kernel
def insert_value(lookup: int, i: int, code: Integers, heap: Integers) -> int:
    """Add the value of position i to the group of its key; a repeated call has no effect. Returns a status."""
    index, done = code[lookup + of.LOOKUP_INDEX], code[lookup + of.INSERTED_VALUES]
    if heap[done] > i:
        return status.RUNNING
    gather(lookup, code, heap)
    store, width, last = code[index + of.GROUP_STORE], code[lookup + of.WIDTH], code[lookup + of.LAST_READ]
    g = heap[code[store + of.STATE] + of.LATEST]
    group, unlike = entry_address(store, g, code, heap), runtime_int(0)
    at, fresh = group + code[lookup + of.VALUE], heap[group + of.COUNT] == 1
    if fresh:
        heap[at] = of.UNDECIDED
    if fresh or code[lookup + of.PREFERS_LATER] == 1:
        for k in range(width):
            heap[at + 1 + k] = heap[last + k]
    elif code[lookup + of.IS_MEAN] == 1:
        for k in range(width):
            unlike |= heap[at + 1 + k] ^ heap[last + k]
        if unlike != 0 or heap[at] != of.UNDECIDED:
            outcome = add_value(lookup, g, at, code, heap)
            if outcome != status.RUNNING:
                return outcome
    heap[done] = i + 1
    return status.RUNNING


@kernel
def add_value(lookup: int, g: int, at: int, code: Integers, heap: Integers) -> int:
    """Add the value of the current position to the sum of its group, whose values differ; returns a status."""
    first, store = code[lookup + of.VALUES], code[lookup + of.SUM_STORE]
    count = (code[lookup + of.VALUES_END] - first) // 3
    if heap[at] == of.UNDECIDED:
        number = append(store, code, heap)
        if number < 0:
            return status.FULL
        total, index = entry_address(store, number, code, heap), code[lookup + of.LOOKUP_INDEX]
        group = entry_address(code[index + of.GROUP_STORE], g, code, heap)
        before = heap[group + of.COUNT] - 1
        for k in range(count):
            n, d = read_number(heap, at + 1 + code[first + 3 * k + 1], code[first + 3 * k + 2])
            n, d, bad = times(before, 1, n, d)
            if bad:
                return status.TOO_LARGE
            heap[total + 2 * k], heap[total + 2 * k + 1] = n, d
        heap[at] = number
    total, last = entry_address(store, heap[at], code, heap), code[lookup + of.LAST_READ]
    for k in range(count):
        n, d = read_number(heap, last + code[first + 3 * k + 1], code[first + 3 * k + 2])
        if heap[total + 2 * k + 1] == 1 and d == 1 and abs(heap[total + 2 * k]) + abs(n) < 1 << 61:
            heap[total + 2 * k] += n
        else:
            n, d, bad = added(heap[total + 2 * k], heap[total + 2 * k + 1], n, d)
            if bad:
                return status.TOO_LARGE
            heap[total + 2 * k], heap[total + 2 * k + 1] = n, d
    return status.RUNNING


@inline_kernel
def retrieve(lookup: int, code: Integers, heap: Integers) -> int:
    """Retrieve the values of a lookup whose query has been evaluated; returns a status."""
    g = heap[code[code[lookup + of.LOOKUP_QUERY] + of.SEARCH_RESULT] + of.GROUP]
    if g >= 0:
        width, to = code[lookup + of.WIDTH], code[lookup + of.RESULT_WORD]
        at = (
            entry_address(code[code[lookup + of.LOOKUP_INDEX] + of.GROUP_STORE], g, code, heap)
            + code[lookup + of.VALUE]
        )
        if heap[at] == of.UNDECIDED and code[lookup + of.RESULT_IS_WIDE] == 0:
            for k in range(width):
                heap[to + k] = heap[at + 1 + k]
            return status.RUNNING
    return retrieve_by_scan(lookup, g, code, heap)


@kernel
def retrieve_by_scan(lookup: int, g: int, code: Integers, heap: Integers) -> int:
    """Retrieve values by scanning all groups, unless one is known to be the unique best; returns a status."""
    question, total = (
        code[lookup + of.LOOKUP_QUERY],
        code[of.SCRATCH_END] - 2 * (code[lookup + of.VALUES_END] - code[lookup + of.VALUES]),
    )
    for k in range(code[lookup + of.VALUES_END] - code[lookup + of.VALUES]):
        heap[total + 2 * k], heap[total + 2 * k + 1] = 0, 1
    ties, time, n, d, bad = runtime_int(1), runtime_int(0), runtime_int(0), runtime_int(1), False
    if g < 0:
        time, bad = scale_query(question, code, heap)
        if not bad:
            g, ties, n, d, bad = scan_groups(question, time, code, heap)
    if bad:
        return status.TOO_LARGE
    count = runtime_int(0)
    if ties > 1 and code[lookup + of.CHOICE] == AVERAGE:
        for other in range(heap[code[code[code[lookup + of.LOOKUP_INDEX] + of.GROUP_STORE] + of.STATE] + of.USED]):
            a, b, _ = score_group(question, other, time, code, heap)
            if a == n and b == d:
                more, unfit = read_group(lookup, other, total, code, heap)
                count, bad = count + more, bad or unfit
    elif ties > 0:
        if ties > 1:
            g = choose_group(lookup, g, time, n, d, code, heap)
        count, bad = read_group(lookup, g, total, code, heap)
    return status.TOO_LARGE if bad else write_value(lookup, count, total, code, heap)


@kernel
def choose_group(lookup: int, g: int, time: int, n: int, d: int, code: Integers, heap: Integers) -> int:
    """Among groups of equal score, from ``g`` on, the one with the earliest or the latest position."""
    index, best = code[lookup + of.LOOKUP_INDEX], g
    store, when = (
        code[index + of.GROUP_STORE],
        of.LAST_POSITION if code[lookup + of.PREFERS_LATER] else of.FIRST_POSITION,
    )
    for other in range(g + 1, heap[code[store + of.STATE] + of.USED]):
        a, b, _ = score_group(code[lookup + of.LOOKUP_QUERY], other, time, code, heap)
        if a == n and b == d:
            one, two = entry_address(store, other, code, heap), entry_address(store, best, code, heap)
            earlier = heap[one + when] < heap[two + when]
            if earlier == (code[lookup + of.CHOICE] == LEFTMOST):
                best = runtime_int(other)
    return best


@kernel
def read_group(lookup: int, g: int, total: int, code: Integers, heap: Integers) -> tuple[int, bool]:
    """Add the values of a group to a sum; returns their number, and whether an overflow occurred."""
    index, first, count = code[lookup + of.LOOKUP_INDEX], code[lookup + of.VALUES], runtime_int(1)
    group, size = (
        entry_address(code[index + of.GROUP_STORE], g, code, heap),
        (code[lookup + of.VALUES_END] - first) // 3,
    )
    at = group + code[lookup + of.VALUE]
    if code[lookup + of.IS_MEAN]:
        count = heap[group + of.COUNT]
    for k in range(size):
        if heap[at] != of.UNDECIDED:
            own = entry_address(code[lookup + of.SUM_STORE], heap[at], code, heap) + 2 * k
            n, d = heap[own], heap[own + 1]
        else:
            n, d = read_number(heap, at + 1 + code[first + 3 * k + 1], code[first + 3 * k + 2])
            n, d, bad = times(count, 1, n, d)
            if bad:
                return 0, True
        heap[total + 2 * k], heap[total + 2 * k + 1], bad = added(heap[total + 2 * k], heap[total + 2 * k + 1], n, d)
        if bad:
            return 0, True
    return count, False


@kernel
def write_value(lookup: int, count: int, total: int, code: Integers, heap: Integers) -> int:
    """Write the mean as the result, 0 if there are no values; returns a status."""
    for k in range(code[lookup + of.RESULT], code[lookup + of.RESULT_END], 3):
        heap[code[k + 1]] = 0
    for k in range(code[lookup + of.RESULT], code[lookup + of.RESULT_END], 3):
        n, d = heap[total], heap[total + 1]
        total += 2
        if count > 1:
            n, d, bad = times(1, count, n, d)
            if bad:
                return status.TOO_LARGE
        if not write_number(heap, code[k + 1], code[k + 2], n, d):
            return int(status.REPLAN + WIDE_LOOKUP_BASE + code[lookup + of.LOOKUP_NUMBER])
    return status.RUNNING
