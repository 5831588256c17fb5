"""Blocks: what they made of the same words before, or computed, once.

A block is a function of the words that it reads. Its answers are in a hash table; a key is compared word by word, so
that an answer is never another one's. Blocks that are the same function have one table.

Nothing here may index outside of an array, whatever the numbers: compiled code does not check.
"""

from __future__ import annotations

from softmachine.engines.fast import status
from softmachine.engines.fast.indexes.groups import compared, integer
from softmachine.engines.fast.indexes.kernels import Integers, kernel
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.changes import catch_up
from softmachine.engines.fast.tables.entries import find, slot_of
from softmachine.engines.fast.tables.pointers import inlined
from softmachine.engines.fast.tables.rows import compute

TIED, TOO_LARGE = -1, -2


@inlined
def recall(block: int, code: Integers, heap: Integers) -> int:
    """Let the words of a block be what they have to be; the status that this leads to."""
    begin, last, every = code[block + of.KEY], code[block + of.LAST], heap[code[of.EVERY]] == 1
    width, known, unlike = (code[block + of.KEY_END] - begin) // 2, code[block + of.KNOWN], integer(0)
    for k in range(width):
        word = heap[code[begin + 2 * k]] & code[begin + 2 * k + 1]
        unlike |= word ^ heap[last + k]
        heap[last + k] = word
    if every:
        return worked_out(block, code, heap)
    if unlike == 0 and heap[known] >= 0:
        return status.RUNNING
    first, count, table = code[block + of.WORD], code[block + of.WORDS], code[block + of.TABLE]
    heap[known] = find(table, heap[known] + 1, last, width, width + count, heap)
    if heap[known] < 0:
        return learn(block, code, heap)
    answer = heap[table + of.ENTRIES] + heap[known] * (width + count) + width
    for k in range(count):
        heap[first + k] = heap[answer + k]
    return status.RUNNING


@kernel
def learn(block: int, code: Integers, heap: Integers) -> int:
    """Compute a block, and remember what it makes; the status that this leads to."""
    table, last = code[block + of.TABLE], code[block + of.LAST]
    number = heap[table + of.USED]
    if number == heap[table + of.CAPACITY]:
        return int(status.FULL + code[of.INDEXES] + code[of.HEADS] + code[block + of.BLOCK_NUMBER])
    found = worked_out(block, code, heap)
    if found != status.RUNNING:
        return found
    width, count = (code[block + of.KEY_END] - code[block + of.KEY]) // 2, code[block + of.WORDS]
    at = heap[table + of.ENTRIES] + number * (width + count)
    heap[slot_of(table, last, width, width + count, heap)] = number
    for k in range(width):
        heap[at + k] = heap[last + k]
    for k in range(count):
        heap[at + width + k] = heap[code[block + of.WORD] + k]
    heap[code[block + of.KNOWN]], heap[table + of.USED], heap[table + of.FILLED] = number, number + 1, number + 1
    return status.RUNNING


@kernel
def worked_out(block: int, code: Integers, heap: Integers) -> int:
    """Compute a block; the status that this leads to."""
    found = catch_up(block, code, heap) if code[block + of.KEEPS] else compute(block, code, heap)
    if code[block + of.ANSWERS]:
        heap[code[block + of.WORD]] = TOO_LARGE if found == status.TOO_LARGE else largest_logit(code, heap)
        return status.RUNNING
    return found


@kernel
def largest_logit(code: Integers, heap: Integers) -> int:
    """The output of the largest logit; TIED if there are several, TOO_LARGE if that cannot be said."""
    first, out, ties = code[of.LOGITS], 0, 1
    for o in range(1, code[of.LOGITS_END] - first):
        one, other = code[first + o], code[first + out]
        sign, bad = compared(heap[one], heap[one + 1], heap[other], heap[other + 1])
        if bad:
            return TOO_LARGE
        if sign > 0:
            out, ties = o, 1
        elif sign == 0:
            ties += 1
    return out if ties == 1 else TIED
