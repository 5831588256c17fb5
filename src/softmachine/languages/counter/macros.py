"""Loops of counter machines that move a counter to another one, with multiplication and division."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softmachine.languages.counter.condition import Condition, compare
from softmachine.languages.counter.machine import Transition
from softmachine.languages.temporal.structure import conjunction

POWERS_OF_TWO = tuple(1 << exponent for exponent in range(8))
"""Strides with which a loop over a counter below 256 takes one step per 1 in its binary representation."""


def both(*conditions: Condition | None) -> Condition:
    """The conjunction of the conditions that are not None."""
    return conjunction(condition for condition in conditions if condition is not None)


def transfer(
    state: str,
    source: str,
    target: str | None,
    strides: Sequence[int],
    *,
    divisor: int = 1,
    factor: int = 1,
    rest: int = 0,
    when: Condition | None = None,
) -> Iterator[Transition]:
    """The loop in a state that moves a counter to another one: target += factor · ⌊(source - rest) / divisor⌋.

    As long as source ≥ divisor + rest, it subtracts divisor · d from the source and adds factor · d to the target,
    where d is the largest possible stride. The remainder in the source, less than divisor + rest, is left to the
    caller. With the strides 1, 2, 4, … the loop is logarithmic up to twice the largest stride; with 1 alone it is
    Minsky's.

    Args:
        state: The state of the loop.
        source: The counter to decrease.
        target: The counter to increase; None to discard the amount.
        strides: The possible values of d; 1 must be among them.
        divisor: Decrease of the source per unit.
        factor: Increase of the target per unit.
        rest: Minimum remainder in the source.
        when: Additional condition for every iteration.
    """
    above: Condition | None = None
    for stride in sorted(strides, reverse=True):
        least = divisor * stride + rest
        gain = () if target is None else ((target, factor * stride),)
        test = both(compare(source, ">=", least), above, when)
        yield Transition(state, test, ((source, -divisor * stride), *gain), state)
        above = compare(source, "<", least)
