"""Loops of counter machines: what is done to a counter by taking it down, and how fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softmachine.languages.counter.condition import Condition, compare
from softmachine.languages.counter.machine import Transition
from softmachine.languages.temporal.structure import conjunction

POWERS_OF_TWO = tuple(1 << exponent for exponent in range(8))
"""With these strides a loop over a counter below 256 takes as many steps as the counter has ones in binary."""


def both(*conditions: Condition | None) -> Condition:
    """The conjunction of the conditions that are there."""
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

    As long as source ≥ divisor + rest, it takes divisor · d off the source and adds factor · d to the target, where d
    is the largest stride that fits. What is left in the source, less than divisor + rest, is for the caller to look at.
    With the strides 1, 2, 4, … a loop is logarithmic up to twice the largest; with 1 alone it is Minsky's.

    Args:
        state: The state of the loop.
        source: The counter that is taken down.
        target: The counter that grows; None to drop what is taken.
        strides: What d may be, 1 among them.
        divisor: What one unit of the target costs.
        factor: What it is worth.
        rest: What must stay in the source.
        when: What else must hold for the loop to go on.
    """
    above: Condition | None = None
    for stride in sorted(strides, reverse=True):
        least = divisor * stride + rest
        gain = () if target is None else ((target, factor * stride),)
        test = both(compare(source, ">=", least), above, when)
        yield Transition(state, test, ((source, -divisor * stride), *gain), state)
        above = compare(source, "<", least)
