"""Gadgets: ordinary functions over the five primitives. Each says what it assumes, what it guarantees and what it costs."""

from softmachine.signals.gadgets.integers import at_least, clip, is_zero, where_zero
from softmachine.signals.gadgets.logic import all_of, any_of, exclusive_or, gate, rounded, select
from softmachine.signals.gadgets.retrieval import (
    Squared,
    count,
    exists,
    fetch,
    first_position,
    here,
    latest,
    lookup,
    mean,
    previous,
    signed_lookup,
)
from softmachine.signals.gadgets.tables import Row, table

__all__ = [
    "Row",
    "Squared",
    "all_of",
    "any_of",
    "at_least",
    "clip",
    "count",
    "exclusive_or",
    "exists",
    "fetch",
    "first_position",
    "gate",
    "here",
    "is_zero",
    "latest",
    "lookup",
    "mean",
    "previous",
    "rounded",
    "select",
    "signed_lookup",
    "table",
    "where_zero",
]
