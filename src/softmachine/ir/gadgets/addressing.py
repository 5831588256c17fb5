"""Attention by registers: scores are integers, and the maximum exceeds the next by at least 1, at every length.

Position 0 is the *sink*: a head whose query matches no key attends to it and retrieves its value.
"""

from __future__ import annotations

from collections.abc import Sequence

from softmachine.ir.primitives import attend
from softmachine.ir.signal import Signal, constant, stack


def ones(count: int) -> Signal:
    """A vector of ``count`` ones."""
    return constant(1, width=count)


def repeated(signal: Signal, count: int) -> Signal:
    """``count`` copies of a signal: its score has ``count`` times the weight, although all weights are 1."""
    return stack(*([signal] * count))


def broadcast(name: str, ranked: Sequence[Signal], read: Signal) -> Signal:
    """The value of ``read`` at the visible position of the highest rank: where ranked[-1] is 1, else ranked[-2], etc.

    Assumes that each of the bits is 1 at most at one visible position, and the first of them at position 0; ``read``
    may differ between positions. The score is the rank. Gap: 1.
    """
    stack(*ranked).require_bits(f"broadcast {name!r}")
    key = stack(*(repeated(bit, rank) for rank, bit in enumerate(ranked, 1)))
    return attend(name, query=ones(len(key)), key=key, value=read, gap=1, single=True)


def occurs(name: str, register: Signal, keys: Signal, sink: Signal) -> Signal:
    """A bit: whether a register equals the key of some visible position ("match or sink"). Gap: 1.

    A match scores r, the sink r - 1, all other keys at most r - 2; if the register is empty, all other keys score 0.
    Keys must be empty at the sink. Requires r ≥ 2.
    """
    return search_step(name, register, keys, [], [], sink)


def search_step(
    name: str, address: Signal, keys: Signal, prefix: Sequence[Signal], theirs: Sequence[Signal], sink: Signal
) -> Signal:
    """A bit: whether some visible position has the address as its key, and bits that agree with a prefix.

    Args:
        name: The head's name.
        address: A register, or empty.
        keys: A register or empty at every position; empty at the sink.
        prefix: Signals of width 1, each ±1.
        theirs: For each of them, the signal at the key that it must equal; 0 at the sink.
        sink: The bit that is 1 at position 0.

    With r bits and a prefix of m, a full match scores r + m, the sink r + m - 1, all other keys at most r + m - 2.
    Gap: 1.
    """
    weight = len(address) + len(prefix) - 1
    query = stack(address, *prefix, ones(weight))
    key = stack(keys, *theirs, repeated(sink, weight))
    return attend(name, query=query, key=key, value=1 - sink, gap=1, single=True)
