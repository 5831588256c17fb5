"""What a circuit will take: those for shorter words are made first, and grow by a power of the length.

The power is a guess from two lengths: how many values a number takes depends on the model. Time is that of this
process, so that what others do meanwhile is not taken for the circuit's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from softmachine.support.errors import SoftmachineError
from softmachine.support.estimates import Estimate, allow
from softmachine.support.text import many
from softmachine.transformer.weights import Transformer

SHORT = 8
"""Circuits for words up to this length are made without further ado."""
ENOUGH = 0.04
"""A circuit that took so many seconds is large enough to judge by."""
LEAST, MOST = 2.0, 5.0
"""The power is between these: attention looks at all pairs."""
LAYER, LAYER_BYTES = 1e-3, 1_000
"""What a layer takes at least: seconds and bytes, about."""
WIRE_BYTES = 200


def allow_circuit(transformer: Transformer, n: int, wires: Callable[[int], int]) -> None:
    """Go on with the circuit of a transformer for words of length n.

    Args:
        transformer: The weights.
        n: The length.
        wires: Makes a circuit for words of some length and says how many wires it has.

    Raises:
        EffortError: If it takes too long, or too much memory, and nobody said yes.
    """
    depth = transformer.depth(n)
    allow(Estimate(f"a circuit of {many(depth, 'layer')}", depth * LAYER, depth * LAYER_BYTES))
    if n <= SHORT:
        return
    try:
        size, seconds, found, power = _tried(wires, n // 2)
    except SoftmachineError:  # such as a model that reads words of one length only
        return
    more = (n / size) ** power
    estimate = Estimate(f"a circuit for words of {many(n, 'symbol')}", seconds * more, found * more * WIRE_BYTES)
    allow(estimate, hint="ask for the circuit for shorter words")


def _tried(wires: Callable[[int], int], most: int) -> tuple[int, float, int, float]:
    """A length for which the circuit takes a while, how long, its wires, and the power by which that grows."""
    size, before, power = 1, 0.0, LEAST
    while True:
        began = time.process_time()
        found = wires(size)
        seconds = time.process_time() - began
        if before:
            power = min(max(math.log2(seconds / before), LEAST), MOST)
        if seconds > ENOUGH or 2 * size > most:
            return size, seconds, found, power
        size, before = 2 * size, seconds
