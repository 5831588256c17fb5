"""Boolean logic, selection and rounding, one feed-forward layer each."""

from __future__ import annotations

from fractions import Fraction

from softmachine.ir.primitives import named, relu
from softmachine.ir.ranges import BIT, exact, union
from softmachine.ir.signal import Signal, stack
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial


def all_of(name: str, *bits: Signal, rule: str = "") -> Signal:
    """Conjunction: ReLU(b₁ + … + b_m - (m - 1)). Assumes bits; returns a bit. One unit, of a ``rule``."""
    both = stack(*bits)
    both.require_bits(f"all_of {name!r}")
    return relu(name, both.total - (len(both) - 1), rule=rule)


def any_of(name: str, *bits: Signal) -> Signal:
    """Disjunction: 1 - ReLU(1 - b₁ - … - b_m). Assumes bits; returns a bit. One unit."""
    some = stack(*bits)
    some.require_bits(f"any_of {name!r}")
    return named(name, (1 - relu(f"no {name}", 1 - some.total)).with_range(BIT))


def exclusive_or(name: str, first: Signal, second: Signal) -> Signal:
    """Exclusive or: a + b - 2 ReLU(a + b - 1). Assumes bits; returns a bit. One unit."""
    stack(first, second).require_bits(f"exclusive_or {name!r}")
    total = first + second
    return named(name, (total - 2 * relu(f"both {name}", total - 1)).with_range(BIT))


def select(name: str, condition: Signal, then: Signal, otherwise: Signal) -> Signal:
    """``then`` where the condition is 1, ``otherwise`` where it is 0. Two units per component.

    Assumes a bit, and values whose bounds do not grow with the length: ReLU networks are Lipschitz, so fixed weights
    cannot switch an unbounded number. Floats lose the low bits of small numbers here; not so with :func:`gate`.
    """
    condition.require_bits(f"select {name!r}")
    if len(then) != len(otherwise) or len(condition) != 1:
        widths = f"{len(condition)}, {len(then)} and {len(otherwise)}"
        raise ConstructionError(
            f"select {name!r} takes one bit and two signals of equal width, but the widths are {widths}"
        )
    kinds = [union(pair) for pair in zip(then.ranges, otherwise.ranges, strict=True)]
    parts = []
    for k, kind in enumerate(kinds):
        if kind.depends_on_length:
            raise ConstructionError(f"select {name!r} takes numbers with constant bounds, but one is {kind}")
        low, span = kind.low.at(0), kind.high.at(0) - kind.low.at(0)
        first = relu(f"{name}: then", then[k] - low - span * (1 - condition))
        second = relu(f"{name}: otherwise", otherwise[k] - low - span * condition)
        parts.append((first + second + low).with_range(kind))
    return named(name, stack(*parts).with_labels(then.labels) if then.labels else stack(*parts))


def gate(name: str, signal: Signal, *, blockers: Signal) -> Signal:
    """The signal where every bit of ``blockers`` is 0, else 0: ReLU(x - off). One unit per component.

    Assumes 0 ≤ x ≤ 1 and ``blockers`` a nonnegative integer. Exact in every float format: where x passes, 0 is
    subtracted.
    """
    unit = require_unit_interval(signal, f"gate {name!r}")
    blockers.require_integers(f"gate {name!r}")
    for kind in blockers.ranges:
        if not Polynomial(0).is_coefficientwise_at_most(kind.low):
            raise ConstructionError(f"gate {name!r} takes a nonnegative off signal, but one component is {kind}")
    shifted = stack(*(unit[k] - blockers.total for k in range(len(unit))))
    kept = relu(name, shifted.with_labels(unit.labels) if unit.labels else shifted)
    return Signal(
        kept.forms, tuple(union([kind, exact(Fraction(0))]) for kind in unit.ranges), kept.labels, unit.is_one_hot
    )


def round_unit_bit(name: str, signal: Signal) -> Signal:
    """Round a number within 1/4 of a bit to that bit: 2 ReLU(x - 1/4) - 2 ReLU(x - 3/4).

    Lemma 9 of "Simulating Hard Attention Using Soft Attention". Assumes |x - b| ≤ 1/4 for a bit b; returns b exactly.
    Two units per component.
    """
    up = relu(f"{name}: from 1/4", signal - Fraction(1, 4))
    down = relu(f"{name}: from 3/4", signal - Fraction(3, 4))
    return named(name, (2 * (up - down)).with_range(BIT))


def require_unit_interval(signal: Signal, gadget: str) -> Signal:
    """Return the signal; raise a ConstructionError unless every component lies between 0 and 1."""
    zero, one = Polynomial(0), Polynomial(1)
    for kind in signal.ranges:
        if not (zero.is_coefficientwise_at_most(kind.low) and kind.high.is_coefficientwise_at_most(one)):
            raise ConstructionError(f"{gadget} takes numbers between 0 and 1, but one is {kind}")
    return signal
