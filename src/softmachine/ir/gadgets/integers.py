"""Comparisons and rounding of unbounded integers, one feed-forward layer each."""

from __future__ import annotations

from fractions import Fraction

from softmachine.ir.primitives import named, relu
from softmachine.ir.ranges import BIT, integer
from softmachine.ir.signal import Signal, constant, stack


def at_least(name: str, number: Signal, bound: int) -> Signal:
    """Whether an integer is ≥ a constant: ReLU(x - c + 1) - ReLU(x - c). Gives a bit. Two units."""
    number.require_integers(f"at_least {name!r}")
    reached = relu(f"{name}: from {bound - 1}", number - (bound - 1))
    passed = relu(f"{name}: from {bound}", number - bound)
    return named(name, (reached - passed).with_range(BIT))


def compare_with_zero(name: str, number: Signal, relation: str, one: Signal) -> Signal:
    """Compare a number within 1/4 of an integer with 0 by "<", "<=", "=", "!=", ">=" or ">".

    Returns a bit, and 0 where ``one`` is 0; the number must be 0 there. Four units.
    """

    def not_negative(label: str, signal: Signal) -> Signal:
        shifted = signal - (1 - one)
        rise, stop = (relu(f"{label}: from {cut}", shifted - cut) for cut in (Fraction(-3, 4), Fraction(-1, 4)))
        return (2 * (rise - stop)).with_range(BIT)

    at_least, at_most = not_negative(f"{name}: ≥", number), not_negative(f"{name}: ≤", -number)
    return named(name, compare_by_signs(relation, at_least, at_most, one).with_range(BIT))


def round_to_integer(name: str, number: Signal, maximum: int) -> Signal:
    """Round a number within 1/4 of an integer to that integer, at most ``maximum``: the sum over k of [x ≥ k - 1/2].

    2 ReLU(x - k + 3/4) - 2 ReLU(x - k + 1/4) for k = 1, …, most. Two units for each k.
    """
    steps = stack(*[number] * maximum) - stack(*map(constant, range(1, maximum + 1)))
    rise, stop = (relu(f"{name}: from {cut} below", steps + cut) for cut in (Fraction(3, 4), Fraction(1, 4)))
    return named(name, (2 * (rise - stop)).total.with_range(integer(0, maximum)))


def compare_by_signs(relation: str, at_least: Signal, at_most: Signal, one: Signal) -> Signal:
    """Whether x ~ 0, given whether x ≥ 0 and whether x ≤ 0; true is ``one``, false is 0. No unit."""
    match relation:
        case ">=":
            return at_least
        case "<=":
            return at_most
        case "<":
            return one - at_least
        case ">":
            return one - at_most
        case "=":
            return at_least + at_most - one
    return one - (at_least + at_most - one)


def gate_by_zero(name: str, bits: Signal, number: Signal) -> Signal:
    """Bits where an integer is 0, else 0: ReLU(b - d) + ReLU(b + d) - ReLU(d) - ReLU(-d) - b.

    Assumes bits and an integer d; returns bits. One layer, whereas a comparison followed by a conjunction takes two.
    Two units per bit, plus two.
    """
    bits.require_bits(f"where_zero {name!r}")
    number.require_integers(f"where_zero {name!r}")
    up, down = relu(f"{name}: up", number), relu(f"{name}: down", -number)
    kept = []
    for k in range(len(bits)):
        below = relu(f"{name}: below", bits[k] - number)
        above = relu(f"{name}: above", bits[k] + number)
        kept.append((below + above - up - down - bits[k]).with_range(BIT))
    result = stack(*kept)
    return named(name, Signal(result.forms, result.ranges, bits.labels, bits.is_one_hot))
