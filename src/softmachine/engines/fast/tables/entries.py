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
def slot_of(entries: int, h: int, key: int, width: int, stride: int, heap: Integers) -> int:
    """Where in the hash table the number of the entry with a key is, or belongs; some slots are empty, -1."""
    first, last, begin = heap[entries + of.HASH], heap[entries + of.HASHED] - 1, heap[entries + of.ENTRIES]
    here = h & last
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
            key, h = heap[entries + of.ENTRIES] + number * stride, 7
            for word in range(width):
                h = mixed(h, heap[key + word])
            heap[slot_of(entries, h, key, width, stride, heap)] = number
        heap[entries + of.FILLED] = heap[entries + of.USED]
