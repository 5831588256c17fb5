"""Hash tables on the heap: consecutive entries, found by a key of words or by number, in growable storage.

The hash table holds the numbers of the entries. Keys are compared word by word, so a lookup never returns another key's
entry. A full table moves to the free end of the heap with more capacity; nothing else moves, and its old memory stays
unused.

Kernels must not index outside of an array, whatever the numbers: compiled code does not check bounds.
"""

from __future__ import annotations

from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode.intrinsics import inline_kernel
from softmachine.engines.fast.indexes.groups import runtime_int
from softmachine.engines.fast.indexes.kernels import Integers, kernel

LOW_BITS, HASH_FACTOR_LOW, HASH_FACTOR_HIGH = (1 << 31) - 1, 0x1E3779B1, 0x1F4A7C15
"""Odd numbers of 29 bits: sums of 31-bit numbers times these do not overflow."""
MAX_SHORT_ENTRIES = 1 << 14
"""Up to this many entries the slots have 16 bits, four to a word; above, 32."""
INITIAL_CAPACITY, GROWTH = 64, 8
"""Initial capacity, and the factor by which it grows. Both are powers of two."""


@inline_kernel
def key_address(store: int, number: int, code: Integers, heap: Integers) -> int:
    """The address of an entry's key. Keys are stored apart from entries, for locality."""
    return int(heap[code[store + of.STATE] + of.KEYS] + number * code[store + of.KEY_WIDTH])


@inline_kernel
def entry_address(store: int, number: int, code: Integers, heap: Integers) -> int:
    """The address of an entry."""
    return int(heap[code[store + of.STATE] + of.ENTRIES] + number * code[store + of.STRIDE])


@kernel
def find(store: int, guess: int, key: int, code: Integers, heap: Integers) -> int:
    """The number of the entry with a key; if there is none, a negative number to be passed to `insert`.

    ``guess`` is tried before hashing. Keys are usually looked up in the order in which they were inserted: the guess is
    the next entry, which is next in memory as well.
    """
    state, width = code[store + of.STATE], code[store + of.KEY_WIDTH]
    used, begin = heap[state + of.USED], heap[state + of.KEYS]
    if 0 <= guess < used:
        own, k = begin + guess * width, runtime_int(0)
        while k < width and heap[own + k] == heap[key + k]:
            k += 1
        if k == width:
            return guess
    first, last = heap[state + of.HASH], heap[state + of.HASH_SLOTS] - 1
    if last < 0:
        return -1
    here, fold = hash_key(key, width, heap) & last, heap[state + of.FOLD]
    number = read_slot(first, here, fold, heap)
    while number >= 0:
        own, k = begin + number * width, runtime_int(0)
        while k < width and heap[own + k] == heap[key + k]:
            k += 1
        if k == width:
            return int(number)
        here = (here + 1) & last
        number = read_slot(first, here, fold, heap)
    return int(-1 - here)


@inline_kernel
def read_slot(first: int, here: int, fold: int, heap: Integers) -> int:
    """The number in a slot of a hash table, -1 if it is empty. A word has 2^fold slots: small tables stay in cache."""
    bits = 64 >> fold
    return int((heap[first + (here >> fold)] >> (bits * (here & ((1 << fold) - 1)))) & ((1 << bits) - 1)) - 1


@inline_kernel
def fill_slot(first: int, here: int, fold: int, number: int, heap: Integers) -> None:
    """Store a number in an empty slot."""
    heap[first + (here >> fold)] |= (number + 1) << ((64 >> fold) * (here & ((1 << fold) - 1)))


@kernel
def insert(store: int, missing: int, key: int, code: Integers, heap: Integers) -> int:
    """Insert an entry with a key that `find` did not find; returns its number, -1 if the heap is too small."""
    state, width = code[store + of.STATE], code[store + of.KEY_WIDTH]
    number, here = heap[state + of.USED], -1 - missing
    if number == heap[state + of.CAPACITY]:
        if not grow_store(store, code, heap):
            return -1
        number = heap[state + of.USED]
        here = find_free_slot(state, key, width, heap)
    own = key_address(store, number, code, heap)
    for k in range(width):
        heap[own + k] = heap[key + k]
    fill_slot(heap[state + of.HASH], here, heap[state + of.FOLD], number, heap)
    heap[state + of.USED] = number + 1
    return int(number)


@kernel
def append(store: int, code: Integers, heap: Integers) -> int:
    """Append an entry without a key; returns its number, -1 if the heap is too small."""
    state = code[store + of.STATE]
    if heap[state + of.USED] == heap[state + of.CAPACITY] and not grow_store(store, code, heap):
        return -1
    heap[state + of.USED] += 1
    return int(heap[state + of.USED] - 1)


@inline_kernel
def hash_key(key: int, width: int, heap: Integers) -> int:
    """The hash of a key: two products per word, none of which depends on another."""
    h = runtime_int(0)
    for k in range(width):
        word = heap[key + k]
        h ^= (word & LOW_BITS) * HASH_FACTOR_LOW + ((word >> 31) & LOW_BITS) * HASH_FACTOR_HIGH + (h >> 7)
    return h ^ (h >> 31)


@kernel
def find_free_slot(state: int, key: int, width: int, heap: Integers) -> int:
    """The slot for a new key; some slots are empty."""
    first, last = heap[state + of.HASH], heap[state + of.HASH_SLOTS] - 1
    here, fold = hash_key(key, width, heap) & last, heap[state + of.FOLD]
    while read_slot(first, here, fold, heap) >= 0:
        here = (here + 1) & last
    return int(here)


@kernel
def grow_store(store: int, code: Integers, heap: Integers) -> bool:
    """Grow a full store, or clear it if it has its maximum size; returns whether the heap is large enough."""
    state, free = code[store + of.STATE], heap[code[of.FREE]]
    room = heap[state + of.CAPACITY]
    more = min(max(INITIAL_CAPACITY, GROWTH * room), code[store + of.MAX_ENTRIES])
    fold = runtime_int(2 if more <= MAX_SHORT_ENTRIES else 1)
    slots = 2 * more if code[store + of.IS_HASHED] else runtime_int(0)
    if more > room:
        wanted = free + more * (code[store + of.KEY_WIDTH] + code[store + of.STRIDE]) + (slots >> fold)
        if wanted > heap[code[of.FREE] + 1]:
            heap[code[of.FREE] + 2] = wanted
            return False
        free = relocate(state, of.KEYS, code[store + of.KEY_WIDTH], more, free, heap)
        free = relocate(state, of.ENTRIES, code[store + of.STRIDE], more, free, heap)
        heap[state + of.CAPACITY], heap[state + of.HASH], heap[state + of.HASH_SLOTS] = more, free, slots
        heap[state + of.FOLD], heap[code[of.FREE]] = fold, free + (slots >> fold)
    else:
        heap[state + of.USED] = 0
    for k in range(slots >> fold):
        heap[heap[state + of.HASH] + k] = 0
    for number in range(heap[state + of.USED] if slots else 0):
        key = key_address(store, number, code, heap)
        here = find_free_slot(state, key, code[store + of.KEY_WIDTH], heap)
        fill_slot(heap[state + of.HASH], here, fold, number, heap)
    return True


@kernel
def relocate(state: int, what: int, stride: int, room: int, free: int, heap: Integers) -> int:
    """Move keys or entries to the free end of the heap, with capacity ``room``; returns the new free end."""
    old = heap[state + what]
    for k in range(heap[state + of.USED] * stride):
        heap[free + k] = heap[old + k]
    heap[state + what] = free
    return free + room * stride
