"""Padding: filler tokens behind the input, a polynomial number of them, where a transformer can compute in parallel."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.errors import ConstructionError
from softmachine.transformer.bounds import Bound

PAD = "□"
MOST = 1_000_000
"""No prompt is padded with more tokens than this."""


@dataclass(frozen=True)
class Padding:
    """P(n) filler tokens after an input of length n.

    Args:
        count: P, a polynomial in n.
        token: The filler.
    """

    count: Bound
    token: str = PAD

    def at(self, n: int) -> int:
        """P(n).

        Raises:
            ConstructionError: If that is not a number of tokens, or too large a one.
        """
        number = self.count.at(n)
        if number.denominator != 1 or number < 0:
            raise ConstructionError(
                f"an input of length {n} cannot be padded with {self.count} = {number} tokens",
                hint="give a polynomial whose values are natural numbers",
            )
        if number > MOST:
            raise ConstructionError(
                f"an input of length {n} would be padded with {int(number):,} tokens; at most {MOST:,} are allowed"
            )
        return int(number)

    def tokens(self, n: int) -> tuple[str, ...]:
        """The filler tokens that follow an input of length n."""
        return (self.token,) * self.at(n)

    def __str__(self) -> str:
        return f"{self.count} × {self.token}"


NO_PADDING = Padding(Bound.of(0))
