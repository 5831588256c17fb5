"""The steps of a machine as machine code, some tens of millions a second."""

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
    """Go on until the machine stops, has made so many steps, or has filled a piece of output; 1 if a tape is too short.

    ``counts`` holds the state, the steps so far, and how much of the piece is filled.
    """
    state, steps, said = counts[0], 0, 0
    cells = tapes.shape[1]
    while state > 1 and steps < most and said < piece.shape[0]:
        tape = look[state]
        head = heads[tape]
        if head >= cells:
            return 1
        farthest[tape] = max(farthest[tape], head)
        symbol = tapes[tape, head]
        tapes[tape, head] = table[state, symbol, 0]
        heads[tape] = head + table[state, symbol, 1]
        if table[state, symbol, 3]:
            piece[said] = table[state, symbol, 3]
            said += 1
        state = table[state, symbol, 2]
        steps += 1
    counts[0], counts[1], counts[2] = state, counts[1] + steps, said
    return 0
