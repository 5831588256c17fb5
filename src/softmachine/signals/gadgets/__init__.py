"""Gadgets: functions over the five primitives. Each says what it assumes, what it guarantees and what it costs."""

from softmachine.signals.gadgets.integers import at_least, clip, is_zero, where_zero
from softmachine.signals.gadgets.logic import all_of, any_of, exclusive_or, gate, rounded, select
from softmachine.signals.gadgets.retrieval import (
    Located,
    Squared,
    count,
    exists,
    fetch,
    first_position,
    here,
    latest,
    locate,
    lookup,
    mean,
    previous,
)
from softmachine.signals.gadgets.tables import Row, first_of, table

__all__ = [
    "Located",
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
    "first_of",
    "first_position",
    "gate",
    "here",
    "is_zero",
    "latest",
    "locate",
    "lookup",
    "mean",
    "previous",
    "rounded",
    "select",
    "table",
    "where_zero",
]
