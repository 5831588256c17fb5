"""How much volume a model needs: the least precision in which it is right on all words of a length.

The volume of a transformer is precision × width, the bits of the residual stream at a position. "Revisiting Padded
Transformer Expressivity" (section 6) leaves open what transformers can do whose volume grows slower than log n, and
conjectures that those without padding, of volume Θ(log n), do less than their circuit classes (Conjecture 6.1). This is
a probe: of one model it says for each length the least b such that F_b gives every answer as it should be, on all words
of that length. A model that does with constant volume needs the same b at all lengths; one whose b grows with log n
uses volume Θ(log n). It measures this model, and no other that might recognise the same: evidence, and no proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

MOST_BITS = 16
"""More are not tried."""
EVIDENCE = "this is said of one model and these words; others may need less, and longer words more"
"""What is to be said with every answer."""


@dataclass(frozen=True)
class Volume:
    """What the words of one length need.

    Args:
        length: The length.
        precision: The least b such that F_b is right on all of them; None if none is up to :data:`MOST_BITS`.
        width: The width of the model.
    """

    length: int
    precision: int | None
    width: int

    @property
    def bits(self) -> int | None:
        """The volume."""
        return None if self.precision is None else self.precision * self.width


def volumes(right: Callable[[int, int], bool], width: int, lengths: Iterable[int]) -> Iterator[Volume]:
    """The volume that a model needs, length by length.

    Args:
        right: Whether the model is right on all words of a length in F_b, for the length and b.
        width: Its width.
        lengths: The lengths.
    """
    for length in lengths:
        enough = (bits for bits in range(1, MOST_BITS + 1) if right(length, bits))
        yield Volume(length, next(enough, None), width)
