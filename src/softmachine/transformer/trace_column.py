"""Columns of a trace table: coordinates of the residual stream, decoded as a label or a sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from softmachine.transformer.head_view import EnclosedNumber, Enclosure, format_number, lower_end, upper_end

NO_LABEL, NOT_STORED = "⊥", "–"
"""Entries: no label is active; the model has no coordinate for the value, because no output depends on it."""


@dataclass(frozen=True)
class TraceColumn:
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

    def format_entry(self, stream: Mapping[str, EnclosedNumber]) -> str:
        """Format the entry for a residual stream, given by coordinate name."""
        return self._format_label(stream) if self.vector else self._format_sum(stream)

    def _format_label(self, stream: Mapping[str, EnclosedNumber]) -> str:
        found = {label: stream.get(f"{self.vector}[{label}]") for label in self.labels}
        on = [label for label, value in found.items() if value is not None and lower_end(value) > Fraction(1, 2)]
        return " ".join(on) or (NOT_STORED if None in found.values() else NO_LABEL)

    def _format_sum(self, stream: Mapping[str, EnclosedNumber]) -> str:
        if any(name not in stream for _, name in self.terms):
            return NOT_STORED
        ends = [(factor * lower_end(stream[name]), factor * upper_end(stream[name])) for factor, name in self.terms]
        low, high = sum((min(pair) for pair in ends), Fraction(0)), sum((max(pair) for pair in ends), Fraction(0))
        return format_number(low if low == high else Enclosure(low, high))
