"""Registers: r-bit numbers as vectors of ±1, least significant bit first; the zero vector is an empty register.

All gadgets are exact on such vectors and return such vectors: the residual stream only holds -1, 0 and 1 (Brösamle and
Eckstein, "The Expressive Power of Low Precision Softmax Transformers"). Arithmetic is modulo 2^r unless stated
otherwise.

Scores of attention by registers are integers, and the maximum exceeds the next by at least 1, at every length. Position
0 is the *sink*: a head whose query matches no key attends to it and retrieves its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from softmachine.ir.primitives import attend, named, position, relu
from softmachine.ir.ranges import BIT, SIGN, ValueRange, integer
from softmachine.ir.signal import Signal, constant, stack, sum_signals, weighted_sum
from softmachine.support.errors import ConstructionError
from softmachine.transformer.features import Bit
from softmachine.transformer.head_view import HeadExplanation, HeadView, format_key, retrieved_bit


def encode_register(number: int, bits: int) -> tuple[int, ...]:
    """Return a number as ±1, least significant bit first."""
    return tuple(1 if number >> bit & 1 else -1 for bit in range(bits))


def position_register(bits: int) -> Signal:
    """The register of the position: the signs of a sinusoidal embedding with frequencies 2^-k."""
    return stack(*(position(Bit(bit, signed=True)) for bit in range(bits)))


def _at_most_one(parts: int) -> ValueRange:
    """Return the range of a sum of ``parts`` trits that is shifted so that it is at most 1."""
    return integer(-2 * parts, 1)


def is_register_zero(name: str, register: Signal) -> Signal:
    """A bit: whether a register holds 0. One unit: ReLU(-b₀ - … - b_(r-1) - (r - 1))."""
    return register_equals(name, register, (-1,) * len(register))


def register_equals(
    name: str, register: Signal, number: tuple[int, ...], *, blockers: Signal | None = None, rule: str = ""
) -> Signal:
    """A bit: whether a vector of ±1 equals ``number``, and no bit of ``blockers`` is 1. One unit, of a ``rule``."""
    _require_same_width(f"matches {name!r}", register, len(number))
    parts = [(sign, register[k]) for k, sign in enumerate(number)]
    parts += [(-1, blockers[k]) for k in range(len(blockers))] if blockers is not None else []
    return relu(name, weighted_sum(parts, 1 - len(number), _at_most_one(len(parts))), rule=rule)


def keep_where(name: str, register: Signal, where: Signal, *, after: Signal | None = None) -> Signal:
    """A register where a bit is 1, else empty: ReLU(x + w - 1) - ReLU(-x + w - 1). Two units per bit.

    Not named: the result is a summand of another register.
    """
    where.require_bits(f"kept {name!r}")
    up, down = (
        relu(
            f"{name} {mark}",
            stack(*(weighted_sum([(sign, register[k]), (1, where)], -1, integer(-2, 1)) for k in range(len(register)))),
            after=after,
        )
        for mark, sign in (("+", 1), ("-", -1))
    )
    return stack(*(weighted_sum([(1, up[k]), (-1, down[k])], 0, SIGN) for k in range(len(register))))


def overwrite_where(name: str, register: Signal, where: Signal, new: Signal, *, after: Signal | None = None) -> Signal:
    """Replace a register where a bit is 1; ``new`` must be empty elsewhere. Two units per bit.

    The result is the old register plus a change, so that a narrow program updates it in place if the old value is not
    read later: ``after`` delays the update.
    """
    old = keep_where(f"old {name}", register, where, after=after)
    return named(name, sum_signals(register, old * -1, new, value_range=SIGN))


def subtract_power(name: str, register: Signal, power: int = 0, *, after: Signal | None = None) -> Signal:
    """A register minus 2^power, saturating at 0; an empty register stays empty. One unit per bit.

    For every bit k ≥ power, one unit detects that it is the lowest bit set: it is cleared, and those below it, down to
    the power, are set. Numbers below 2^power become 0.
    """
    bits = len(register)
    change: list[list[tuple[int, Signal]]] = [[] for _ in range(bits)]
    for top in range(power, bits):
        unit = relu(f"{name}: borrow at {top}", _is_lowest_set(register, range(power, top), top), after=after)
        for bit in range(power, top):
            change[bit].append((2, unit))
        change[top].append((-2, unit))
    for low in range(power):
        unit = relu(
            f"{name}: below {2**power}, bit {low}", _is_lowest_set(register, range(power, bits), low), after=after
        )
        change[low].append((-2, unit))
    return named(name, stack(*(weighted_sum([(1, register[k]), *parts], 0, SIGN) for k, parts in enumerate(change))))


def _is_lowest_set(register: Signal, clear: range, bit: int) -> Signal:
    """1 if one bit is set and the bits in ``clear`` are clear; else at most 0."""
    parts = [(1, register[bit]), *((-1, register[k]) for k in clear)]
    return weighted_sum(parts, -len(clear), _at_most_one(len(parts)))


def step_register(name: str, register: Signal, up: Signal, down: Signal, *, wraps_around: bool) -> Signal:
    """The change that increments a register where ``up`` is 1, and decrements it where ``down`` is 1.

    One unit per bit and direction; one more for each direction if it ``wraps_around`` around between 2^r - 1 and 0.
    """
    bits = len(register)
    change: list[list[tuple[int, Signal]]] = [[] for _ in range(bits)]
    for direction, where, sign in (("up", up, 1), ("down", down, -1)):
        for top in range(bits + wraps_around):
            parts = [(1, where), *((sign, register[k]) for k in range(min(top, bits)))]
            parts += [(-sign, register[top])] if top < bits else []
            unit = relu(f"{name}: {direction} at {top}", weighted_sum(parts, 1 - len(parts), _at_most_one(len(parts))))
            for bit in range(min(top, bits)):
                change[bit].append((-2 * sign, unit))
            if top < bits:
                change[top].append((2 * sign, unit))
    return stack(*(weighted_sum(parts, 0, integer(-2, 2)) for parts in change))


def subtract_registers(
    name: str, first: Signal, second: Signal, where: Signal, complement: Signal | None = None
) -> Signal:
    """The first register minus the second where a bit is 1, else empty. Three layers, by borrow lookahead.

    Where the bit ``complement`` is 1 as well, the complement -1 - x instead of the difference x: every bit flipped.

    Assumes that both registers are nonempty where the bit is 1. The layers compute the bits in which the registers
    differ; the bit from which a borrow arrives (a smaller bit of the first, followed by equal bits); the exclusive or.
    2r, r(r - 1)/2, 2r units; 2r + 2 more for the complement.
    """
    _require_same_width(f"difference {name!r}", first, len(second))
    where.require_bits(f"difference {name!r}")
    bits = len(first)
    shut = stack(*([where - 2] * bits))
    less = relu(f"{name}: less", second - first + shut).with_range(BIT)
    more = relu(f"{name}: more", first - second + shut).with_range(BIT)
    differ = (less + more).with_range(BIT)
    cases = [(constant(0), where, 1)]
    if complement is not None:
        flipped = relu(f"{name}: flipped", where + complement - 1).with_range(BIT)
        cases = [(complement, where - flipped, 1), (1 - complement, flipped, -1)]
    result = []
    for bit in range(bits):
        borrow = constant(0)
        if bit:
            arriving = [
                relu(
                    f"{name}: borrow {source} to {bit}",
                    weighted_sum(
                        [(1, less[source]), *((-1, differ[k]) for k in range(source + 1, bit))], 0, integer(-bits, 1)
                    ),
                )
                for source in range(bit)
            ]
            borrow = named(f"{name}: borrow at {bit}", weighted_sum([(1, unit) for unit in arriving], 0, BIT))
        digit: list[tuple[int, Signal]] = []
        for off, here, sign in cases:
            alone = relu(f"{name}: bit {bit}, no borrow", differ[bit] - borrow - off)
            borrowed = relu(f"{name}: bit {bit}, borrow", borrow - differ[bit] - off)
            digit += [(2 * sign, alone), (2 * sign, borrowed), (-sign, here)]
        result.append(weighted_sum(digit, 0, SIGN))
    return stack(*result)


def round_to_trit(name: str, signal: Signal) -> Signal:
    """Round a number within 1/4 of -1, 0 or 1 to it. Four units per component, two for bits.

    Lemma 9 of "Simulating Hard Attention Using Soft Attention", for both signs:
    ReLU(2x - 1/2) - ReLU(2x - 3/2) - ReLU(-2x - 1/2) + ReLU(-2x - 3/2); for bits, the first two terms.
    """
    half, more = Fraction(1, 2), Fraction(3, 2)
    parts = []
    for k, kind in enumerate(signal.ranges):
        label = f"{name}[{signal.labels[k] if signal.labels else k}]" if len(signal) > 1 else name
        x = signal[k] * 2
        snap = relu(f"{label}: from 1/4", x - half) - relu(f"{label}: from 3/4", x - more)
        if not kind.is_bit:
            snap = snap - relu(f"{label}: to -1/4", -x - half) + relu(f"{label}: to -3/4", -x - more)
        parts.append(snap.with_range(BIT if kind.is_bit else SIGN))
    return named(name, stack(*parts))


def _require_same_width(gadget: str, register: Signal, width: int) -> None:
    if len(register) != width:
        raise ConstructionError(
            f"{gadget} takes registers of equal width, but the widths are {len(register)} and {width}"
        )


def ones(count: int) -> Signal:
    """A vector of ``count`` ones."""
    return constant(1, width=count)


def repeat(signal: Signal, count: int) -> Signal:
    """``count`` copies of a signal: its score has ``count`` times the weight, although all weights are 1."""
    return stack(*([signal] * count))


def fetch_highest_ranked(
    name: str, ranks: Sequence[Signal], read: Signal, *, explains: HeadExplanation = "the position of the highest rank"
) -> Signal:
    """The value of ``read`` at the visible position of the highest rank: where ranked[-1] is 1, else ranked[-2], etc.

    Assumes that each of the bits is 1 at most at one visible position, and the first of them at position 0; ``read``
    may differ between positions. The score is the rank. Gap: 1.
    """
    stack(*ranks).require_bits(f"broadcast {name!r}")
    key = stack(*(repeat(bit, rank) for rank, bit in enumerate(ranks, 1)))
    return attend(name, query=ones(len(key)), key=key, value=read, gap=1, single_key=True, explains=explains)


def register_occurs(name: str, register: Signal, keys: Signal, sink: Signal) -> Signal:
    """A bit: whether a register equals the key of some visible position ("match or sink"). Gap: 1.

    A match scores r, the sink r - 1, all other keys at most r - 2; if the register is empty, all other keys score 0.
    Keys must be empty at the sink. Requires r ≥ 2.
    """
    return binary_search_step(name, register, keys, [], [], sink)


def binary_search_step(
    name: str, address: Signal, keys: Signal, prefix: Sequence[Signal], key_prefix: Sequence[Signal], sink: Signal
) -> Signal:
    """A bit: whether some visible position has the address as its key, and bits that agree with a prefix.

    Args:
        name: The head's name.
        address: A register, or empty.
        keys: A register or empty at every position; empty at the sink.
        prefix: Signals of width 1, each ±1.
        key_prefix: For each of them, the signal at the key that it must equal; 0 at the sink.
        sink: The bit that is 1 at position 0.

    With r bits and a prefix of m, a full match scores r + m, the sink r + m - 1, all other keys at most r + m - 2.
    Gap: 1.
    """
    weight = len(address) + len(prefix) - 1
    query = stack(address, *prefix, ones(weight))
    key = stack(keys, *key_prefix, repeat(sink, weight))
    return attend(name, query=query, key=key, value=1 - sink, gap=1, single_key=True, explains=_explain_match)


def _explain_match(view: HeadView) -> str | None:
    """Explain a head that attends to a match or to the sink."""
    if not view.chosen:
        return None
    return f"{'found a match' if retrieved_bit(view) else 'found no match'}: chose {format_key(view)}"
