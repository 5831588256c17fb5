"""Gadgets: functions over the primitives. Each documents its assumptions, its guarantees and its cost."""

from softmachine.ir.gadgets.boolean import all_of, any_of, exclusive_or, gate, rounded, select
from softmachine.ir.gadgets.integers import at_least, where_zero
from softmachine.ir.gadgets.lookup import (
    Located,
    Row,
    Squared,
    exists,
    fetch,
    first_of,
    first_position,
    here,
    latest,
    locate,
    lookup,
    mean,
    previous,
    table,
)
from softmachine.ir.gadgets.registers import (
    broadcast,
    code,
    decreased,
    difference,
    is_place_zero,
    kept,
    matches,
    occurs,
    ones,
    overwritten,
    place,
    repeated,
    search_step,
    snapped,
    step_of,
)

__all__ = [
    "Located", "Row", "Squared", "all_of", "any_of", "at_least", "broadcast", "code", "decreased", "difference",
    "exclusive_or", "exists", "fetch", "first_of", "first_position", "gate", "here", "is_place_zero", "kept", "latest",
    "locate", "lookup", "matches", "mean", "occurs", "ones", "overwritten", "place", "previous", "repeated", "rounded",
    "search_step", "select", "snapped", "step_of", "table", "where_zero",
]  # fmt: skip
