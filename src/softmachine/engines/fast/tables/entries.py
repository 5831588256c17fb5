"""Entries that are found by a key of words: one after the other, with a hash table of their numbers.

Keys are compared word by word, so that an entry is never another one's. When entries have moved, the hash table is
empty, and is filled anew.

Nothing here may index outside of an array, whatever the numbers: compiled code does not check.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.kernels import Integers, kernel
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.words import mixed


@kernel
def find(entries: int, guess: int, key: int, width: int, stride: int, heap: Integers) -> int:
    """The number of the entry with a key, -1 if there is none; a guess may spare looking for it.

    What is looked for one after the other was put in one after the other, as a rule: the guess is the next one, which
    is next in memory, too.
    """
    if 0 <= guess < heap[entries + of.USED]:
        own, k = heap[entries + of.ENTRIES] + guess * stride, 0
        while k < width and heap[own + k] == heap[key + k]:
            k += 1
        if k == width:
            return guess
    return int(heap[slot_of(entries, key, width, stride, heap)])


@kernel
def slot_of(entries: int, key: int, width: int, stride: int, heap: Integers) -> int:
    """Where in the hash table the number of the entry with a key is, or belongs; some slots are empty, -1."""
    first, last, begin = heap[entries + of.HASH], heap[entries + of.HASHED] - 1, heap[entries + of.ENTRIES]
    here = 7
    for k in range(width):
        here = mixed(here, heap[key + k])
    here &= last
    while heap[first + here] >= 0:
        own = begin + heap[first + here] * stride
        k = 0
        while k < width and heap[own + k] == heap[key + k]:
            k += 1
        if k == width:
            break
        here = (here + 1) & last
    return int(first + here)


@kernel
def fill(code: Integers, heap: Integers) -> None:
    """Fill the hash tables of what has moved."""
    for k in range(code[of.FOUND_BY_KEY], code[of.FOUND_BY_KEY_END], 3):
        entries, width, stride = code[k], code[k + 1], code[k + 2]
        for number in range(heap[entries + of.FILLED], heap[entries + of.USED]):
            key = heap[entries + of.ENTRIES] + number * stride
            heap[slot_of(entries, key, width, stride, heap)] = number
        heap[entries + of.FILLED] = heap[entries + of.USED]
