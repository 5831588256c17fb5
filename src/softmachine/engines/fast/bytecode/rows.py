"""Rows: sums of fractions with an activation, exact or with an overflow flag; and position features.

Numbers are fractions, a numerator followed by a denominator. Nearly all are small integers, whose sum cannot overflow,
so it is computed without a check; a row that reads any other number is computed term by term.
"""

from __future__ import annotations

from fractions import Fraction

from softmachine.engines.fast import status
from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode.packed_trits import read_number, write_number
from softmachine.engines.fast.indexes.kernels import Integers, added, is_prime, kernel, lowest, times

MAX_SMALL = 1 << 24
"""Larger integers, and fractions, take the slow path."""
IDENTITY, RELU, STEP = 0, 1, 2
PLAIN, SQUARE, INVERSE, INVERSE_SQUARE, BIT, MOD, POWER_OF_TWO, PRIME = range(8)
BINARY_FEATURES = frozenset({BIT, MOD, POWER_OF_TWO, PRIME})
"""The features with values 0 and 1."""
REGISTER, ACT, BIAS, OVER, MAY_OVERFLOW, BEGIN, END = range(7)
ROW_SIZE = 7
"""A row record: the number that it computes; its activation; the numerator and the denominator of its bias; whether
the sum may overflow even for small integers; the range of its entries, pairs of a number and a numerator."""


def activate(number: Fraction, activation: int) -> Fraction:
    """The activation applied to a constant."""
    if activation == STEP:
        return Fraction(number >= 0)
    return max(number, Fraction(0)) if activation == RELU else number


@kernel
def evaluate_feature(kind: int, a: int, b: int, i: int) -> tuple[int, int]:
    """A position feature as a fraction."""
    if kind == BIT:
        return (i >> a) & 1, 1
    if kind == PLAIN:
        return i, 1
    if kind == SQUARE:
        return i * i, 1
    if kind == INVERSE:
        return 1, i + 1
    if kind == INVERSE_SQUARE:
        return 1, (i + 1) * (i + 1)
    if kind == MOD:
        return (1 if i % a == b else 0), 1
    if kind == POWER_OF_TWO:
        return (1 if i > 0 and i & (i - 1) == 0 else 0), 1
    return is_prime(i), 1


@kernel
def evaluate_block(block: int, code: Integers, heap: Integers) -> int:
    """Write the output words of a block, computing all of its rows; returns a status."""
    for k in range(code[block + of.READ], code[block + of.READ_END], 3):
        heap[code[k]], heap[code[k] + 1] = read_number(heap, code[k + 1], code[k + 2])
    if evaluate_rows(code[block + of.ROW], code[block + of.ROW_END], code, heap):
        return status.TOO_LARGE
    for k in range(code[block + of.WORDS]):
        heap[code[block + of.WORD] + k] = 0
    for k in range(code[block + of.WRITE], code[block + of.WRITE_END], 3):
        if not write_number(heap, code[k + 1], code[k + 2], heap[code[k]], heap[code[k] + 1]):
            return int(status.REPLAN + code[block + of.BLOCK_NUMBER])
    return status.RUNNING


@kernel
def evaluate_rows(first: int, end: int, code: Integers, heap: Integers) -> bool:
    """Compute some rows; returns whether a number overflows."""
    for row in range(first, end, ROW_SIZE):
        total, over, odd = code[row + BIAS], code[row + OVER], code[row + MAY_OVERFLOW] != 0
        for k in range(code[row + BEGIN], code[row + END], 2):
            own = heap[code[k]]
            odd |= heap[code[k] + 1] != 1 or own > MAX_SMALL or own < -MAX_SMALL
            if odd:
                break
            total += code[k + 1] * own
        if odd:
            total, over, bad = evaluate_row_slowly(row, code, heap)
            if bad:
                return True
        elif over != 1:
            total, over = lowest(total, over)
        if code[row + ACT] == RELU and total < 0:
            total, over = 0, 1
        elif code[row + ACT] == STEP:
            total, over = (1 if total >= 0 else 0), 1
        to = code[row + REGISTER]
        heap[to], heap[to + 1] = total, over
    return False


@kernel
def evaluate_row_slowly(row: int, code: Integers, heap: Integers) -> tuple[int, int, bool]:
    """Compute a row term by term."""
    below = code[row + OVER]
    total, over = lowest(code[row + BIAS], below)
    for k in range(code[row + BEGIN], code[row + END], 2):
        p, q, bad = times(code[k + 1], below, heap[code[k]], heap[code[k] + 1])
        if bad:
            return 0, 1, True
        total, over, bad = added(total, over, p, q)
        if bad:
            return 0, 1, True
    return total, over, False
