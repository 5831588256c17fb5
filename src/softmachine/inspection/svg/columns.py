"""Which positions of a context a picture shows: all if they are few, else those that matter, with gaps between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

MOST_ARCS = 16
"""So many positions that matter are shown at most."""
FEW = 3
"""So many are shown at the beginning, and around the position that looks."""


def columns(count: int, here: int, matter: Iterable[int], wide: Callable[[int], float], room: float) -> list[int]:
    """The positions to show of so many: those that matter first, then their surroundings, while there is room.

    Args:
        count: How many positions there are.
        here: The one that looks.
        matter: Those that it looks at.
        wide: How much room a position takes.
        room: How much there is; what matters is shown in any case.
    """
    matter = list(dict.fromkeys(matter))
    wanted = dict.fromkeys([here, *matter[:MOST_ARCS]])
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
