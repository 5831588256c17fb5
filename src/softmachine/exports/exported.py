"""What an export has written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from softmachine.exports.verify import Verification


@dataclass(frozen=True)
class Exported:
    """What was written.

    Args:
        folder: Where.
        architecture: The class that loads it.
        length: The number of positions.
        dtype: The format of the weights.
        verified: What a stock model said in each format that was tried, the format of the weights first.
        parameters: The number of weights, zeros included.
        rounded: How many of the weights that are not 0 the format had to round.
    """

    folder: Path
    architecture: str
    length: int
    dtype: str
    verified: tuple[Verification, ...]
    parameters: int
    rounded: int

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The formats in which everything was right."""
        return tuple(result.dtype for result in self.verified if result.holds)
