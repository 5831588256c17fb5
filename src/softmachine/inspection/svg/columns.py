"""Choice of the positions that a picture shows: all if they fit, else the relevant ones, with gaps between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

MAX_RELEVANT = 16
"""The largest number of relevant positions that are shown."""
FEW = 3
"""The number of positions shown at the beginning, and on each side of the query."""


def columns(count: int, here: int, matter: Iterable[int], wide: Callable[[int], float], room: float) -> list[int]:
    """The positions to show: the relevant ones first, then their neighbours, while they fit.

    Args:
        count: The number of positions.
        here: The position of the query.
        matter: The relevant positions: those that the query attends to.
        wide: The width of a position.
        room: The width available; the query and the relevant positions are shown in any case.
    """
    matter = list(dict.fromkeys(matter))
    wanted = dict.fromkeys([here, *matter[:MAX_RELEVANT]])
    left = room - sum(map(wide, wanted))
    around = (d for distance in range(1, count + 1) for d in (-distance, distance))
    near = chain(
        range(here - FEW, here + FEW), range(FEW), *((j - 1, j + 1) for j in matter), (here + d for d in around)
    )
    for position in near:
        if 0 <= position < count and position not in wanted:
            left -= wide(position)
            if left < 0:
                break
            wanted[position] = None
    return sorted(wanted)
