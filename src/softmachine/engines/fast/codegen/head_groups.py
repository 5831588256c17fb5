"""Code for heads whose keys are compared: equal keys in groups, or every key if the bias is an arbitrary function.

Groups are scanned, or found by the integers in their keys.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from softmachine.engines.fast.analysis.grids import MAX_POSITIONS, LinearNumerator
from softmachine.engines.fast.analysis.plans import GroupsPlan, LinearScanPlan, MatchingPlan, ScoredKeys
from softmachine.engines.fast.codegen.head import HeadWriter, zero_unless_visible
from softmachine.engines.fast.indexes.arrays import KeyArray, KeyGroups, MatchingGroups
from softmachine.transformer.attention import AttentionKind

CHOICES = {
    AttentionKind.AVERAGE: "AVERAGE",
    AttentionKind.SOFTMAX: "AVERAGE",
    AttentionKind.LEFTMOST: "LEFTMOST",
    AttentionKind.RIGHTMOST: "RIGHTMOST",
}


def emit_groups_head(writer: HeadWriter, plan: GroupsPlan, name: str) -> None:
    """Emit a head that compares groups of equal keys; ``name`` is the prefix of its variables."""
    _, number = writer.declare_storage(
        KeyGroups(name, plan.width, plan.head.name, plan.score.key_width, len(plan.score.keys))
    )
    groups = _array_arguments(name, "keys places values slots meta box")

    def put(keys: list[str], values: list[str], position: str) -> None:
        _emit_assignments(writer, f"{name}_key", keys)
        _emit_assignments(writer, f"{name}_value", values)
        call = f"insert({groups}, {name}_key, {name}_value, {position}, {not plan.whole})"
        _emit_checked_insert(writer, number, call)

    _emit_insertion(writer, plan, name, put)
    time = _emit_query(writer, plan, name)[0]
    writer.stop_on_overflow()
    choice = f"{CHOICES[plan.head.weighting.kind]}, {plan.score.fractional}"
    _emit_search(writer, plan, name, f"search({groups}, {name}_key, {name}_query, {time}, {choice}")


def emit_matching_head(writer: HeadWriter, plan: MatchingPlan, name: str) -> None:
    """Emit a head that finds groups by their integers."""
    parts = plan.width, plan.head.name, 1 + plan.integers, len(plan.score.keys), plan.gates
    _, number = writer.declare_storage(MatchingGroups(name, *parts))

    def put(keys: list[str], values: list[str], position: str) -> None:
        integers, squares = keys[plan.gates :: 2], keys[plan.gates + 1 :: 2]
        for y, square in zip(integers, squares, strict=True):
            writer.stop_if(f"abs({y}) > {MAX_POSITIONS} or {square} != {y} * {y}", f"REPLAN + {number}")
        _emit_assignments(writer, f"{name}_gates", keys[: plan.gates])
        _emit_assignments(writer, f"{name}_key", integers, first=1)
        _emit_assignments(writer, f"{name}_value", values)
        arrays = "keys places values slots meta box kinds kind_slots kind_sizes tally chain newest gates key value"
        _emit_checked_insert(
            writer, number, f"insert_matching({_array_arguments(name, arrays)}, {position}, {not plan.whole})"
        )

    _emit_insertion(writer, plan, name, put)
    _emit_query(writer, plan, name)
    writer.stop_on_overflow()
    arrays = "keys places values slots box kinds kind_sizes tally chain newest bounds gates key query"
    _emit_search(writer, plan, name, f"search_matching({_array_arguments(name, arrays)}")


def emit_linear_scan_head(writer: HeadWriter, plan: LinearScanPlan, name: str) -> None:
    """Emit a head that scans every key."""
    storage = KeyArray(name, plan.width, plan.head.name, plan.score.key_width, len(plan.score.keys), plan.bias)
    _, number = writer.declare_storage(storage)
    writer.write(f"{name}_meta[1] = i")
    writer.stop_if(f"{name}_meta[0] != s", f"FULL + {number}")
    keys = [x for key in plan.score.keys for x in writer.emit_value(key, not plan.score.fractional)]
    values = writer.emit_values(plan)
    writer.stop_on_overflow()
    for part, integers in (("keys", keys), ("values", values)):
        for k, x in enumerate(integers):
            writer.write(f"{name}_{part}[i, {k}] = {x}")
    time, scale = _emit_query(writer, plan, name)
    over = scale if isinstance(scale, str) else writer.denominator(scale)
    writer.stop_on_overflow()
    arrays, visible = _array_arguments(name, "keys values biases meta query"), "s" if plan.sees_itself else "i"
    choice = f"{CHOICES[plan.head.weighting.kind]}, {plan.score.fractional}"
    _emit_search(writer, plan, name, f"search_all({arrays}, {time}, {over}, {visible}, {choice}")


def _array_arguments(name: str, parts: str) -> str:
    """The arrays of a storage, as arguments."""
    return ", ".join(f"{name}_{part}" for part in parts.split())


def _emit_assignments(writer: HeadWriter, array: str, integers: list[str], first: int = 0) -> None:
    for k, x in enumerate(integers, first):
        writer.write(f"{array}[{k}] = {x}")


def _emit_insertion(
    writer: HeadWriter, plan: ScoredKeys, name: str, put: Callable[[list[str], list[str], str], None]
) -> None:
    """Emit the insertion of a position's key and value: now, or at the next position under a strict mask."""
    keys = [x for key in plan.score.keys for x in writer.emit_value(key, not plan.score.fractional)]
    values = writer.emit_values(plan)
    if plan.sees_itself:
        writer.stop_on_overflow()
        put(keys, values, "i")
        return
    keys = [writer.declare_scalar(f"{name}_k{k}", x) for k, x in enumerate(keys)]
    values = [writer.declare_scalar(f"{name}_v{k}", x) for k, x in enumerate(values)]
    with writer.at_next_position():
        put(keys, values, "i - 1")


def _emit_checked_insert(writer: HeadWriter, number: int, call: str) -> None:
    """Emit an insertion of the current position, and the check that there was capacity."""
    full = writer.new_name("f")
    writer.write(f"{full} = {call}")
    writer.stop_if(f"{full} == 1", f"FULL + {number}")
    writer.flag_overflow_if(f"{full} == 2")


def _emit_query(writer: HeadWriter, plan: ScoredKeys, name: str) -> tuple[str, LinearNumerator | str]:
    """Emit the query; returns the position's coefficient on the same scale, and what gives the common denominator."""
    time = writer.new_name("t")
    # Keys are stored without their denominators, so each component of the query is divided by its key's.
    overs = [1 if plan.score.fractional else writer.numbers.of(key).over for key in plan.score.keys]
    forms = [query * Fraction(1, over) for query, over in zip(plan.score.queries, overs, strict=True)]
    linear = writer.numbers.linear([*forms, plan.score.slope])
    if linear is not None:
        for k, part in enumerate(linear[:-1]):
            writer.write(f"{name}_query[{k}] = {writer.numerator(part)}")
        writer.write(f"{time} = {writer.numerator(linear[-1])}")
        return time, linear[-1]
    parts = [writer.fraction(form) for form in (*forms, plan.score.slope)]
    common = writer.new_name("d")
    writer.write(f"{common} = 1")
    for _, d in parts:
        writer.flag_overflow_if(f"float({common}) * float({d}) >= LIMIT")
        writer.write(f"{common} = {common} // divisor({common}, {d}) * {d}")
    for n, d in parts:
        writer.flag_overflow_if(f"abs(float({n})) * float({common}) >= LIMIT * float({d})")
    writer.stop_on_overflow()
    for k, (n, d) in enumerate(parts[:-1]):
        writer.write(f"{name}_query[{k}] = {n} * ({common} // {d})")
    writer.write(f"{time} = {parts[-1][0]} * ({common} // {parts[-1][1]})")
    return time, common


def _emit_search(writer: HeadWriter, plan: ScoredKeys, name: str, search: str) -> None:
    """Emit the search and name its results."""
    count = writer.new_name("c")
    writer.write(f"{count}, bad = {search}, {not plan.whole}, {name}_out)")
    writer.flag_overflow_if("bad")
    out = [f"{name}_out[{k}]" for k in range(plan.width)]
    writer.name_results(plan, out if plan.sees_itself else zero_unless_visible(plan, out, count), f"max({count}, 1)")
