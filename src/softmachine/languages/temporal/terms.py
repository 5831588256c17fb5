"""What formulas count and compare: positions and counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from softmachine.languages.temporal.formula import Formula


@dataclass(frozen=True)
class Position:
    """The number i of the present position, counted from 1. Only predicates speak of it, as in ``odd(i)``."""


POSITION = Position()


@dataclass(frozen=True)
class LeftCount:
    """``#<[φ]``: the number of positions j ≤ i where φ holds. The present one counts."""

    of: Formula


@dataclass(frozen=True)
class RightCount:
    """``#>[φ]``: the number of positions j ≥ i where φ holds. The present one counts."""

    of: Formula


Count: TypeAlias = LeftCount | RightCount
