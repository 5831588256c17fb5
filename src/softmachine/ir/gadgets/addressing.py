"""Attention by registers: every score is an integer, and the best exceeds the next by at least 1, at every length.

Position 0 is the *sink*: a head whose query matches nothing attends to it, and gets what stands there.
"""

from __future__ import annotations

from collections.abc import Sequence

from softmachine.ir.primitives import attend
from softmachine.ir.signal import Signal, constant, stack


def ones(count: int) -> Signal:
    """So many ones."""
    return constant(1, width=count)


def repeated(signal: Signal, count: int) -> Signal:
    """A signal so many times over: a score that counts it so many times with weights of 1."""
    return stack(*([signal] * count))


def broadcast(name: str, ranked: Sequence[Signal], read: Signal) -> Signal:
    """What ``read`` is at the visible position of the highest rank: where ranked[-1] is 1, else ranked[-2], and so on.

    Assumes that each of the bits is 1 at no more than one visible position, and the first of them at position 0; read
    may differ from position to position. The score is the rank. Gap: 1.
    """
    stack(*ranked).require_bits(f"broadcast {name!r}")
    key = stack(*(repeated(bit, rank) for rank, bit in enumerate(ranked, 1)))
    return attend(name, query=ones(len(key)), key=key, value=read, gap=1, single=True)


def occurs(name: str, register: Signal, keys: Signal, sink: Signal) -> Signal:
    """A bit: whether a register's number is among the keys of visible positions ("match or sink"). Gap: 1.

    A match scores r, the sink r - 1, everything else at most r - 2; where there is no number, everything else scores 0.
    Keys must be none at the sink. Only for r ≥ 2.
    """
    return search_step(name, register, keys, [], [], sink)


def search_step(
    name: str, address: Signal, keys: Signal, prefix: Sequence[Signal], theirs: Sequence[Signal], sink: Signal
) -> Signal:
    """A bit: whether some visible position has the address as its key, and bits that agree with a prefix.

    Args:
        name: The head's name.
        address: A register, or none.
        keys: A register or none at every position; none at the sink.
        prefix: Vectors of ±1, one wide each.
        theirs: For each of them, what it must equal at the key; 0 at the sink.
        sink: The bit that is 1 at position 0.

    With r bits and a prefix of m, a full match scores r + m, the sink r + m - 1, everything else at most r + m - 2.
    Gap: 1.
    """
    weight = len(address) + len(prefix) - 1
    query = stack(address, *prefix, ones(weight))
    key = stack(keys, *theirs, repeated(sink, weight))
    return attend(name, query=query, key=key, value=1 - sink, gap=1, single=True)
