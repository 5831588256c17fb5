"""Cost estimate of a circuit, extrapolated from circuits for shorter words by a power of the length.

The power is estimated from two lengths: how many values a number takes depends on the model. Process time is measured,
so the load of the machine does not distort the estimate.
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
"""Circuits for words up to this length are built without an estimate."""
ENOUGH = 0.04
"""Build time in seconds from which a circuit is large enough to extrapolate from."""
LEAST, MOST = 2.0, 5.0
"""Bounds of the power: attention compares all pairs of positions."""
LAYER, LAYER_BYTES = 1e-3, 1_000
"""Approximate minimum cost of a layer: seconds and bytes."""
WIRE_BYTES = 200


def allow_circuit(transformer: Transformer, n: int, wires: Callable[[int], int]) -> None:
    """Require that the circuit of a transformer for words of length n is affordable.

    Args:
        transformer: The weights.
        n: The length.
        wires: Builds a circuit for words of a given length and returns its number of wires.

    Raises:
        EffortError: If the estimate exceeds ten minutes or half of the free memory, without consent.
    """
    depth = transformer.depth(n)
    allow(Estimate(f"a circuit of {many(depth, 'layer')}", depth * LAYER, depth * LAYER_BYTES))
    if n <= SHORT:
        return
    try:
        size, seconds, found, power = _tried(wires, n // 2)
    except SoftmachineError:  # such as a model that accepts words of one length only
        return
    more = (n / size) ** power
    estimate = Estimate(f"a circuit for words of {many(n, 'symbol')}", seconds * more, found * more * WIRE_BYTES)
    allow(estimate, hint="build the circuit for shorter words")


def _tried(wires: Callable[[int], int], most: int) -> tuple[int, float, int, float]:
    """Double the length until the circuit is large enough; return the length, the seconds, the wires and the power."""
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
