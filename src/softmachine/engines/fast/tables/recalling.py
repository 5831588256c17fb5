"""Memoised blocks: results looked up by input words, or computed once.

A block is a function of the words it reads. Its results are in a hash table whose keys are compared word by word, so a
lookup never returns another input's result. Blocks that are the same function share one table.

Kernels must not index outside of an array, whatever the numbers: compiled code does not check bounds.
"""

from __future__ import annotations

from softmachine.engines.fast import status
from softmachine.engines.fast.indexes.groups import compared, integer
from softmachine.engines.fast.indexes.kernels import Integers, kernel
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.changes import catch_up
from softmachine.engines.fast.tables.entries import entry, find, insert
from softmachine.engines.fast.tables.gathering import gather
from softmachine.engines.fast.tables.pointers import inlined
from softmachine.engines.fast.tables.rows import compute

TIED, TOO_LARGE = -1, -2


@inlined
def recall(block: int, code: Integers, heap: Integers) -> int:
    """Write the output words of a block, from its memo table if possible; returns a status."""
    known, new = code[block + of.KNOWN], gather(block, code, heap)
    if code[of.EVERYTHING]:
        return worked_out(block, code, heap)
    if not new and heap[known] >= 0:
        return status.RUNNING
    first, count = code[block + of.WORD], code[block + of.WORDS]
    number = find(code[block + of.TABLE], heap[known] + 1, code[block + of.LAST], code, heap)
    heap[known] = number
    if number < 0:
        return learn(block, number, code, heap)
    answer = entry(code[block + of.TABLE], number, code, heap)
    for k in range(count):
        heap[first + k] = heap[answer + k]
    return status.RUNNING


@kernel
def learn(block: int, missing: int, code: Integers, heap: Integers) -> int:
    """Compute a block and store its result in the memo table; returns a status."""
    outcome, store = worked_out(block, code, heap), code[block + of.TABLE]
    if outcome != status.RUNNING:
        return outcome
    number = insert(store, missing, code[block + of.LAST], code, heap)
    if number < 0:
        return status.FULL
    answer = entry(store, number, code, heap)
    for k in range(code[block + of.WORDS]):
        heap[answer + k] = heap[code[block + of.WORD] + k]
    heap[code[block + of.KNOWN]] = number
    return status.RUNNING


@kernel
def worked_out(block: int, code: Integers, heap: Integers) -> int:
    """Compute a block; returns a status."""
    outcome = catch_up(block, code, heap) if code[block + of.KEEPS] else compute(block, code, heap)
    if code[block + of.ANSWERS]:
        heap[code[block + of.WORD]] = TOO_LARGE if outcome == status.TOO_LARGE else largest_logit(code, heap)
        return status.RUNNING
    return outcome


@kernel
def largest_logit(code: Integers, heap: Integers) -> int:
    """The argmax of the logits; TIED if there are several, TOO_LARGE if they cannot be compared without overflow."""
    first, out, ties = code[of.LOGITS], integer(0), integer(1)
    n, d = heap[first], heap[first + 1]
    for o in range(1, code[of.OUTPUTS]):
        p, q = heap[first + 2 * o], heap[first + 2 * o + 1]
        sign, bad = compared(p, q, n, d)
        if bad:
            return TOO_LARGE
        if sign > 0:
            out, ties, n, d = integer(o), integer(1), p, q
        elif sign == 0:
            ties += 1
    return out if ties == 1 else TIED
