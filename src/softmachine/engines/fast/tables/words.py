"""Numbers in words: -1, 0 and 1 in two bits each, 31 to a word; any other number is *wide*, two words, a fraction.

Whoever reads some numbers reads words under masks. Equal words under the masks are equal numbers, and the other way
round, so that words are what is compared, hashed and remembered.
"""

from __future__ import annotations

from softmachine.engines.fast.indexes.kernels import Integers, kernel

LANES = 31
WIDE = -1
"""The shift of a number that is wide: its numerator is the whole word, its denominator the next."""
ALL = -1
"""The mask of a whole word."""
EVERY_OTHER = 0x1555555555555555


@kernel
def lane(word: int, shift: int) -> int:
    """The number of two bits at a place of a word."""
    return (((word >> shift) & 3) ^ 2) - 2


@kernel
def number_at(heap: Integers, word: int, shift: int) -> tuple[int, int]:
    """A number as a fraction."""
    if shift < 0:
        return heap[word], heap[word + 1]
    return lane(heap[word], shift), 1


@kernel
def write_number(heap: Integers, word: int, shift: int, n: int, d: int) -> bool:
    """Write a number; whether it fits. Its bits are 0 before."""
    if shift < 0:
        heap[word], heap[word + 1] = n, d
        return True
    heap[word] |= (n & 3) << shift
    return d == 1 and -1 <= n <= 1


@kernel
def kind_of(word: int) -> int:
    """Which numbers of a word, all narrow, are not 0."""
    return (word | (word >> 1)) & EVERY_OTHER
