"""Packed trits: -1, 0 and 1 in two bits each, 31 to a word; any other number is *wide*, a fraction in two words.

Readers take words under masks. Equal masked words are equal numbers and vice versa, so words are compared, hashed and
memoised.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.kernels import Integers, kernel

LANES = 31
WIDE = -1
"""The shift of a wide number: its numerator is the whole word, its denominator the next one."""
ALL = -1
"""The mask of a whole word."""
EVERY_OTHER = 0x1555555555555555


@kernel
def lane(word: int, shift: int) -> int:
    """The trit at a shift of a word."""
    return (((word >> shift) & 3) ^ 2) - 2


@kernel
def number_at(heap: Integers, word: int, shift: int) -> tuple[int, int]:
    """A number as a fraction."""
    if shift < 0:
        return heap[word], heap[word + 1]
    return lane(heap[word], shift), 1


@kernel
def write_number(heap: Integers, word: int, shift: int, n: int, d: int) -> bool:
    """Write a number to zeroed bits; returns whether it fits."""
    if shift < 0:
        heap[word], heap[word + 1] = n, d
        return True
    heap[word] |= (n & 3) << shift
    return d == 1 and -1 <= n <= 1


@kernel
def kind_of(word: int) -> int:
    """Which trits of a word are nonzero."""
    return (word | (word >> 1)) & EVERY_OTHER
