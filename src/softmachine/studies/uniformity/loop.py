"""JIT-compiled interpreter of transducers, tens of millions of steps per second."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from softmachine.support.jit import machine_code


@machine_code
def go(
    look: NDArray[Any],
    table: NDArray[Any],
    tapes: NDArray[Any],
    heads: NDArray[Any],
    farthest: NDArray[Any],
    piece: NDArray[Any],
    counts: NDArray[Any],
    most: int,
) -> int:
    """Run until the machine stops, ``most`` steps are done, or the output buffer is full; return 1 if a tape overflows.

    ``counts`` holds the state, the total number of steps, and the length of the output in the buffer.
    """
    state, steps, printed = counts[0], 0, 0
    cells = tapes.shape[1]
    while state > 1 and steps < most and printed < piece.shape[0]:
        tape = look[state]
        head = heads[tape]
        if head >= cells:
            return 1
        farthest[tape] = max(farthest[tape], head)
        symbol = tapes[tape, head]
        tapes[tape, head] = table[state, symbol, 0]
        heads[tape] = head + table[state, symbol, 1]
        if table[state, symbol, 3]:
            piece[printed] = table[state, symbol, 3]
            printed += 1
        state = table[state, symbol, 2]
        steps += 1
    counts[0], counts[1], counts[2] = state, counts[1] + steps, printed
    return 0
