"""Gadgets: functions over the primitives. Each documents its assumptions, its guarantees and its cost."""

from softmachine.ir.gadgets.addressing import broadcast, occurs, ones, repeated, search_step
from softmachine.ir.gadgets.integers import at_least, where_zero
from softmachine.ir.gadgets.logic import all_of, any_of, exclusive_or, gate, rounded, select
from softmachine.ir.gadgets.registers import (
    code,
    decreased,
    difference,
    is_place_zero,
    kept,
    matches,
    overwritten,
    place,
    snapped,
    step_of,
)
from softmachine.ir.gadgets.retrieval import (
    Located,
    Squared,
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
from softmachine.ir.gadgets.tables import Row, first_of, table

__all__ = [
    "Located", "Row", "Squared", "all_of", "any_of", "at_least", "broadcast", "code", "decreased", "difference",
    "exclusive_or", "exists", "fetch", "first_of", "first_position", "gate", "here", "is_place_zero", "kept", "latest",
    "locate", "lookup", "matches", "mean", "occurs", "ones", "overwritten", "place", "previous", "repeated", "rounded",
    "search_step", "select", "snapped", "step_of", "table", "where_zero",
]  # fmt: skip
