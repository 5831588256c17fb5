"""Entries that are kept one after the other, found by a key of words or by their number, with room that grows.

A hash table has the numbers of the entries. Keys are compared word by word, so that an entry is never another one's.
What is full moves to where the heap is free, with more room; nothing else moves, and where it was stays unused.

Nothing here may index outside of an array, whatever the numbers: compiled code does not check.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.groups import integer
from softmachine.engines.fast.indexes.kernels import Integers, kernel
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.words import mixed

START, GROWTH = 16, 4
"""The first has room for so many, and then there is so many times as much. Both are powers of two."""


@kernel
def find(store: int, guess: int, key: int, code: Integers, heap: Integers) -> int:
    """The number of the entry with a key, -1 if there is none; a guess may spare looking for it.

    What is looked for one after the other was put in one after the other, as a rule: the guess is the next one, which
    is next in memory, too.
    """
    state, width, stride = code[store + of.STATE], code[store + of.KEY_WIDTH], code[store + of.STRIDE]
    used, begin = heap[state + of.USED], heap[state + of.ENTRIES]
    if 0 <= guess < used:
        own, k = begin + guess * stride, integer(0)
        while k < width and heap[own + k] == heap[key + k]:
            k += 1
        if k == width:
            return guess
    if used == 0:
        return -1
    first, last = heap[state + of.HASH], heap[state + of.HASHED] - 1
    here = hashed(key, width, heap) & last
    while heap[first + here] >= 0:
        own, k = begin + heap[first + here] * stride, integer(0)
        while k < width and heap[own + k] == heap[key + k]:
            k += 1
        if k == width:
            break
        here = (here + 1) & last
    return int(heap[first + here])


@kernel
def insert(store: int, key: int, code: Integers, heap: Integers) -> int:
    """Put in an entry with a key that is not there; its number, -1 if the heap is too small for it."""
    state, width = code[store + of.STATE], code[store + of.KEY_WIDTH]
    number = append(store, code, heap)
    if number >= 0:
        own = heap[state + of.ENTRIES] + number * code[store + of.STRIDE]
        for k in range(width):
            heap[own + k] = heap[key + k]
        enter(state, number, own, width, heap)
    return number


@kernel
def append(store: int, code: Integers, heap: Integers) -> int:
    """Have one more entry; its number, -1 if the heap is too small for it."""
    state = code[store + of.STATE]
    if heap[state + of.USED] == heap[state + of.CAPACITY] and not make_room(store, code, heap):
        return -1
    number = heap[state + of.USED]
    heap[state + of.USED] = number + 1
    return int(number)


@kernel
def hashed(key: int, width: int, heap: Integers) -> int:
    """The hash of a key."""
    h = integer(7)
    for k in range(width):
        h = mixed(h, heap[key + k])
    return h


@kernel
def enter(state: int, number: int, key: int, width: int, heap: Integers) -> None:
    """Let the hash table have an entry, at a place that is free; there are such."""
    first, last = heap[state + of.HASH], heap[state + of.HASHED] - 1
    here = hashed(key, width, heap) & last
    while heap[first + here] >= 0:
        here = (here + 1) & last
    heap[first + here] = number


@kernel
def make_room(store: int, code: Integers, heap: Integers) -> bool:
    """Let what is full have more room, or forget all if it may not; whether the heap is large enough for that."""
    state, free = code[store + of.STATE], heap[code[of.FREE]]
    room = heap[state + of.CAPACITY]
    more = min(max(START, GROWTH * room), code[store + of.MOST])
    slots = 2 * more if code[store + of.IS_HASHED] else integer(0)
    if more > room:
        wanted = free + more * code[store + of.IN_ALL] + slots
        if wanted > heap[code[of.FREE] + 1]:
            heap[code[of.FREE] + 2] = wanted
            return False
        for column in range(code[store + of.COLUMNS], code[store + of.COLUMNS_END], 2):
            old, stride = heap[code[column]], code[column + 1]
            for k in range(heap[state + of.USED] * stride):
                heap[free + k] = heap[old + k]
            heap[code[column]] = free
            free += more * stride
        heap[state + of.CAPACITY], heap[state + of.HASH], heap[state + of.HASHED] = more, free, slots
        heap[code[of.FREE]] = free + slots
    else:
        heap[state + of.USED] = 0
    for k in range(slots):
        heap[heap[state + of.HASH] + k] = -1
    for number in range(heap[state + of.USED] if slots else 0):
        key = heap[state + of.ENTRIES] + number * code[store + of.STRIDE]
        enter(state, number, key, code[store + of.KEY_WIDTH], heap)
    return True
