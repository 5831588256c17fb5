"""Finite tables in one feed-forward layer: one unit a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from softmachine.signals.gadgets.logic import all_of
from softmachine.signals.kinds import BIT
from softmachine.signals.primitives import named
from softmachine.signals.signal import Affine, Signal


@dataclass(frozen=True)
class Row:
    """Where all conditions hold, the outputs of these labels are 1.

    Args:
        name: What the row is, e.g. the rule it implements; the unit carries the name.
        conditions: Bits that must all be 1.
        outputs: The labels that become 1.
    """

    name: str
    conditions: tuple[Signal, ...]
    outputs: tuple[str, ...]


def table(name: str, labels: Sequence[str], rows: Sequence[Row]) -> Signal:
    """One bit a label: 1 where a row that outputs it applies. Assumes that at most one row applies. A unit a row."""
    units = [all_of(f"{name}: {row.name}", *row.conditions).forms[0] for row in rows]
    forms = {label: [unit for unit, row in zip(units, rows, strict=True) if label in row.outputs] for label in labels}
    sums = tuple(Affine.sum(forms[label]) for label in labels)
    return named(name, Signal(sums, (BIT,) * len(sums), tuple(labels)))
