"""A column of a table of a run: which numbers of the residual stream it shows, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from softmachine.transformer.sight import Enclosure, Number, least, most, told

NOTHING, NOT_STORED = "⊥", "–"
"""No label is on; and: the model was compiled without a coordinate for it, because no answer depends on it."""


@dataclass(frozen=True)
class Column:
    """What stands below one title: the label that is on in a vector, or a sum of numbers.

    Args:
        title: What the column is called.
        vector: The name of the vector.
        labels: Those of its labels that can be on.
        terms: The factors and the names of the numbers of a sum, in place of a vector.
    """

    title: str
    vector: str = ""
    labels: tuple[str, ...] = ()
    terms: tuple[tuple[int, str], ...] = ()

    def entry(self, stream: Mapping[str, Number]) -> str:
        """What a residual stream has there, given by the names of its coordinates."""
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
