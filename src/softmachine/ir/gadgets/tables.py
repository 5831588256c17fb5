"""Finite lookup tables in one feed-forward layer: one unit per row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir.gadgets.logic import all_of
from softmachine.ir.kinds import BIT
from softmachine.ir.primitives import named
from softmachine.ir.signal import Affine, Signal
from softmachine.support.errors import ConstructionError


@dataclass(frozen=True)
class Row:
    """A row of a table: where all conditions hold, the outputs with these labels are 1.

    Args:
        name: The name of the unit, for example the rule that the row implements.
        conditions: Bits that must all be 1.
        outputs: The labels whose outputs are 1.
    """

    name: str
    conditions: tuple[Signal, ...]
    outputs: tuple[str, ...]


def table(name: str, labels: Sequence[str], rows: Sequence[Row]) -> Signal:
    """One bit per label: 1 where a row with that output applies. Assumes at most one row applies. One unit per row."""
    _require(f"table {name!r}", [label for row in rows for label in row.outputs], labels)
    units = [all_of(f"{name}: {row.name}", *row.conditions).forms[0] for row in rows]
    forms = {label: [unit for unit, row in zip(units, rows, strict=True) if label in row.outputs] for label in labels}
    sums = tuple(Affine.sum(forms[label]) for label in labels)
    return named(name, Signal(sums, (BIT,) * len(sums), tuple(labels)))


def first_of(name: str, *choices: Signal, labels: Sequence[str], default: str) -> Signal:
    """One-hot over ``labels``: the sum of the choices, and the default label where all of them are 0.

    Assumes labelled bits, at most one of them 1 in all choices together. No unit: the default is affine.
    """
    for choice in choices:
        choice.require_bits(f"first_of {name!r}")
        _require(f"first_of {name!r}", choice.labels or ("unlabelled",), labels)
    _require(f"first_of {name!r}", [default], labels)
    forms = {
        label: Affine.sum(choice[label].forms[0] for choice in choices if label in (choice.labels or ()))
        for label in labels
        if label != default
    }
    forms[default] = Affine.sum([Affine({}, Fraction(1)), *(form * Fraction(-1) for form in forms.values())])
    ordered = tuple(forms[label] for label in labels)
    return named(name, Signal(ordered, (BIT,) * len(labels), tuple(labels), exclusive=True))


def _require(gadget: str, used: Iterable[str], labels: Sequence[str]) -> None:
    """Raise a ConstructionError unless all used labels exist."""
    known = set(labels)
    for label in used:
        if label not in known:
            raise ConstructionError(f"{gadget} has no output {label!r}; it has {', '.join(map(repr, labels))}")
