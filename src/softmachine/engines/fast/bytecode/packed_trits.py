"""Packed trits: -1, 0 and 1 in two bits each, 31 to a word; any other number is *wide*, a fraction in two words.

Readers take words under masks. Equal masked words are equal numbers and vice versa, so words are compared, hashed and
memoised.

The numbers that a block, index, query or head reads from many words are gathered into a few words of its own: all
numbers it reads from one word are moved together to free lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode.intrinsics import WORD_BITS, inline_kernel, rotate_left
from softmachine.engines.fast.indexes.groups import runtime_int
from softmachine.engines.fast.indexes.kernels import Integers, kernel

LANES = 31
WIDE_SHIFT = -1
"""The shift of a wide number: its numerator is the whole word, its denominator the next one."""
WHOLE_WORD = -1
"""The mask of a whole word."""
EVEN_BITS = 0x1555555555555555


@kernel
def read_trit(word: int, shift: int) -> int:
    """The trit at a shift of a word."""
    return (((word >> shift) & 3) ^ 2) - 2


@kernel
def read_number(heap: Integers, word: int, shift: int) -> tuple[int, int]:
    """A number as a fraction."""
    if shift < 0:
        return heap[word], heap[word + 1]
    return read_trit(heap[word], shift), 1


@kernel
def write_number(heap: Integers, word: int, shift: int, n: int, d: int) -> bool:
    """Write a number to zeroed bits; returns whether it fits."""
    if shift < 0:
        heap[word], heap[word + 1] = n, d
        return True
    heap[word] |= (n & 3) << shift
    return d == 1 and -1 <= n <= 1


@kernel
def nonzero_lanes(word: int) -> int:
    """Which trits of a word are nonzero."""
    return (word | (word >> 1)) & EVEN_BITS


BitAddress = tuple[int, int]
"""The bit address of a number: its word and the shift there; `WIDE_SHIFT` if it is that word and the next one."""


def pack_addresses(places: Iterable[int], where: Mapping[int, BitAddress]) -> tuple[dict[int, BitAddress], int]:
    """The addresses of registers after gathering, in words counted from 0, and the number of words."""
    found: dict[int, BitAddress] = {}
    taken: list[int] = []  # for each word a bit per lane
    lanes: dict[int, dict[int, int]] = {}  # for each word read, its lanes and their registers
    wide = []
    for place in places:
        word, shift = where[place]
        if shift == WIDE_SHIFT:
            wide.append(place)
        else:
            lanes.setdefault(word, {})[shift // 2] = place
    for read in lanes.values():
        first, span = min(read), max(read) - min(read)
        shape = sum(1 << (lane - first) for lane in read)
        for to in count():
            taken += [0] * (to == len(taken))
            move = next((move for move in range(LANES - span) if not taken[to] & shape << move), None)
            if move is not None:
                taken[to] |= shape << move
                found |= {place: (to, 2 * (lane - first + move)) for lane, place in read.items()}
                break
    found |= {place: (len(taken) + 2 * k, WIDE_SHIFT) for k, place in enumerate(wide)}
    return found, len(taken) + 2 * len(wide)


def plan_moves(pairs: Iterable[tuple[BitAddress, BitAddress]], words: int) -> list[list[tuple[int, int, int]]]:
    """The moves from source to target addresses: for each target word a list of (word, mask, rotation)."""
    found: list[dict[BitAddress, int]] = [{} for _ in range(words)]
    for (word, shift), (to, there) in pairs:
        if shift == WIDE_SHIFT:
            found[to][word, 0] = found[to + 1][word + 1, 0] = WHOLE_WORD
        else:
            found[to][word, there - shift] = found[to].get((word, there - shift), 0) | 3 << shift
    return [[(word, mask, shift % WORD_BITS) for (word, shift), mask in sorted(part.items())] for part in found]


@inline_kernel
def gather(reader: int, code: Integers, heap: Integers) -> bool:
    """Gather the words of a reader; returns whether they changed."""
    at, last, unlike = code[reader + of.MOVES], code[reader + of.LAST_READ], runtime_int(0)
    for k in range(code[reader + of.WIDTH]):
        end, word = code[at], runtime_int(0)
        at += 1
        while at < end:
            word |= rotate_left(heap[code[at]] & code[at + 1], code[at + 2])
            at += 3
        unlike |= word ^ heap[last + k]
        heap[last + k] = word
    return bool(unlike != 0)
