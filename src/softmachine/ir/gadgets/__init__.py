"""Gadgets: functions over the primitives. Each documents its assumptions, its guarantees and its cost."""

from softmachine.ir.gadgets.boolean import all_of, any_of, exclusive_or, gate, round_unit_bit, select
from softmachine.ir.gadgets.integers import at_least, compare_with_zero, gate_by_zero, round_to_integer
from softmachine.ir.gadgets.lookup import (
    RecoveredInteger,
    TableRow,
    WithSquare,
    exists,
    fetch,
    fetch_latest,
    fetch_previous,
    first_position,
    lookup,
    lookup_table,
    mean,
    one_hot_with_default,
    position_with_square,
    recover_integer,
)
from softmachine.ir.gadgets.registers import (
    binary_search_step,
    encode_register,
    fetch_highest_ranked,
    is_register_zero,
    keep_where,
    ones,
    overwrite_where,
    position_register,
    register_equals,
    register_occurs,
    repeat,
    round_to_trit,
    step_register,
    subtract_power,
    subtract_registers,
)

__all__ = [
    "RecoveredInteger", "TableRow", "WithSquare", "all_of", "any_of", "at_least", "fetch_highest_ranked",
    "encode_register", "subtract_power", "subtract_registers", "exclusive_or", "exists", "fetch",
    "one_hot_with_default", "first_position", "gate", "position_with_square", "is_register_zero", "keep_where",
    "fetch_latest", "recover_integer", "lookup", "register_equals", "mean", "register_occurs", "ones",
    "overwrite_where", "position_register", "fetch_previous", "repeat", "round_unit_bit", "binary_search_step",
    "select", "round_to_trit", "round_to_integer", "compare_with_zero", "step_register", "lookup_table", "gate_by_zero",
]  # fmt: skip
