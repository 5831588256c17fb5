"""Columns of a trace table: coordinates of the residual stream, decoded as a label or a sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from softmachine.transformer.head_view import Enclosure, Number, least, most, told

NOTHING, NOT_STORED = "⊥", "–"
"""Entries: no label is active; the model has no coordinate for the value, because no output depends on it."""


@dataclass(frozen=True)
class Column:
    """A column of a trace table: the active label of a one-hot vector, or a linear combination of coordinates.

    Args:
        title: The heading.
        vector: The name of the vector.
        labels: The labels of the vector that can be active.
        terms: Factors and coordinate names of a linear combination, instead of a vector.
    """

    title: str
    vector: str = ""
    labels: tuple[str, ...] = ()
    terms: tuple[tuple[int, str], ...] = ()

    def entry(self, stream: Mapping[str, Number]) -> str:
        """Format the entry for a residual stream, given by coordinate name."""
        return self._label(stream) if self.vector else self._sum(stream)

    def _label(self, stream: Mapping[str, Number]) -> str:
        found = {label: stream.get(f"{self.vector}[{label}]") for label in self.labels}
        on = [label for label, value in found.items() if value is not None and least(value) > Fraction(1, 2)]
        return " ".join(on) or (NOT_STORED if None in found.values() else NOTHING)

    def _sum(self, stream: Mapping[str, Number]) -> str:
        if any(name not in stream for _, name in self.terms):
            return NOT_STORED
        ends = [(factor * least(stream[name]), factor * most(stream[name])) for factor, name in self.terms]
        low, high = sum((min(pair) for pair in ends), Fraction(0)), sum((max(pair) for pair in ends), Fraction(0))
        return told(low if low == high else Enclosure(low, high))
