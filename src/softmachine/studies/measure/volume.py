"""Volume that a model needs: the least precision in which it is correct on all words of a length.

The volume of a transformer is precision × width, the bits of the residual stream at a position. "Revisiting Padded
Transformer Expressivity" (section 6) leaves open the power of transformers whose volume grows slower than log n, and
conjectures that those without padding, of volume Θ(log n), recognise less than their circuit classes (Conjecture 6.1).
This is a probe: for one model and each length, it finds the least b such that every output in F_b is correct, on all
words of that length. A model that needs constant volume has the same b at all lengths; one whose b grows with log n
uses volume Θ(log n). It measures this model only, not others for the same language: evidence, not a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

MOST_BITS = 16
"""Maximum precision of the search."""
EVIDENCE = "this holds for one model and these words; other models may need less, and longer words more"
"""Caveat printed with every result."""


@dataclass(frozen=True)
class Volume:
    """Volume needed for the words of one length.

    Args:
        length: The length.
        precision: The least b such that the model is correct in F_b; None if there is none up to 16.
        width: The width of the model.
    """

    length: int
    precision: int | None
    width: int

    @property
    def bits(self) -> int | None:
        """The volume in bits."""
        return None if self.precision is None else self.precision * self.width


def volumes(right: Callable[[int, int], bool], width: int, lengths: Iterable[int]) -> Iterator[Volume]:
    """Yield the volume that a model needs for each length.

    Args:
        right: Whether the model is correct on all words of a length in F_b; takes the length and b.
        width: The width of the model.
        lengths: The lengths.
    """
    for length in lengths:
        enough = (bits for bits in range(1, MOST_BITS + 1) if right(length, bits))
        yield Volume(length, next(enough, None), width)
