"""Code for heads that look up an integer in a table, or the nearest one that is present.

If keys are of a few kinds there is a table for each, and the best of their results is taken.
"""

from __future__ import annotations

from softmachine.engines.fast.analysis.grids import MAX_POSITIONS
from softmachine.engines.fast.analysis.plans import GatedTable, TablePlan
from softmachine.engines.fast.codegen.expressions import CURRENT
from softmachine.engines.fast.codegen.head import HeadWriter, zero_unless_visible
from softmachine.engines.fast.indexes.arrays import IntegerTable


def emit_table_head(writer: HeadWriter, plan: TablePlan, name: str) -> None:
    """Emit a head that looks up an integer; ``name`` is the prefix of its variables."""
    storage, number = writer.declare_storage(IntegerTable(name, plan.width, plan.head.name, _value_types(writer, plan)))
    parts = _emit_key_and_value(writer, plan, writer.new_name("x"), writer.new_name("x"))
    if plan.sees_itself:
        _emit_insertion(writer, plan.lookup.later, storage, number, parts, "s")
    else:
        kept = [writer.declare_scalar(f"{name}_p{k}", part) for k, part in enumerate(parts)]
        with writer.at_next_position():
            _emit_insertion(writer, plan.lookup.later, storage, number, kept, "i")
    q, o = writer.new_name("q"), writer.new_name("o")
    writer.write(f"{q} = {writer.numerator(plan.lookup.vertex)}")
    found = [storage.value(k, o) for k in range(storage.width)]
    if plan.sees_itself:
        _emit_nearest(writer, plan.lookup.later, name, q, o)
    else:
        writer.write("seen = i > 0")
        writer.write(f"{o} = 0")
        with writer.indented("if seen:"):
            _emit_nearest(writer, plan.lookup.later, name, q, o)
        found = zero_unless_visible(plan, found, "seen")
    writer.name_results(plan, found)


def emit_gated_table_head(writer: HeadWriter, plan: GatedTable, name: str) -> None:
    """Emit a head that looks up an integer among keys of a few kinds."""
    x, square, kind = writer.new_name("x"), writer.new_name("x"), writer.new_name("k")
    parts = _emit_key_and_value(writer, plan, x, square)
    writer.stop_on_overflow()
    writer.write(f"{kind} = {writer.table(plan.kinds, CURRENT)}")
    storages, kinds = [], _value_types(writer, plan)
    for k in range(len(plan.extra)):
        storage, number = writer.declare_storage(
            IntegerTable(f"{name}k{k}", plan.width, plan.head.name, kinds, may_be_empty=True)
        )
        storages.append(storage)
        with writer.indented(f"if {kind} == {k}:"):
            _emit_insertion(writer, plan.lookup.later, storage, number, parts, "s")
    _emit_best_of_kinds(writer, plan, storages)


def _emit_key_and_value(writer: HeadWriter, plan: TablePlan | GatedTable, x: str, square: str) -> list[str]:
    """The key's integer, its square, and the integers of the value."""
    writer.write(f"{x} = {writer.numerator(plan.lookup.x)}")
    writer.write(f"{square} = {writer.numerator(plan.lookup.square)}")
    return [x, square, *writer.emit_values(plan)]


def _value_types(writer: HeadWriter, plan: TablePlan | GatedTable) -> tuple[str, ...]:
    """The smallest types that provably hold the numbers of a value; empty for the integer that is the key itself."""
    found = []
    for component in plan.components:
        linear = writer.numbers.linear([plan.head.value[component]]) if plan.whole else None
        if linear is None:
            found += ["int64", "int64"]
        else:
            sizes = (
                f"int{bits}"
                for bits in (8, 16, 32)
                if -(1 << bits - 1) <= linear[0].low <= linear[0].high < 1 << bits - 1
            )
            found.append("" if linear[0] == plan.lookup.x else next(sizes, "int64"))
    return tuple(found)


def _emit_insertion(
    writer: HeadWriter, later: bool, storage: IntegerTable, number: int, parts: list[str], s: str
) -> None:
    """Emit the insertion of a position's value into a table.

    Args:
        writer: The writer.
        later: Whether the last value for an integer is kept, or the first.
        storage: The table.
        number: The table's number.
        parts: The integer, its square, and the integers of the value.
        s: The position, counted from 1.
    """
    name, x = storage.name, parts[0]
    writer.stop_on_overflow()
    writer.stop_if(f"abs({x}) > {MAX_POSITIONS} or {parts[1]} != {x} * {x}", f"REPLAN + {number}")
    o = writer.new_name("o")
    writer.write(f"{o} = {x} - {name}_first")
    writer.write(f"if {o} < 0 or {o} >= {name}_there.size:")
    writer.write(f"    {name}_meta[3] = {x}")
    writer.write(f"    status = FULL + {number}")
    writer.write("    break")
    indent = ""
    if not later:
        writer.write(f"if {name}_there[{o}] == 0:")
        indent = "    "
    for k, part in enumerate(parts[2:]):
        if storage.kinds[k]:
            writer.write(f"{indent}{name}_value{k}[{o}] = {part}")
    writer.write(f"{indent}{name}_there[{o}] = {s}")
    writer.write(f"if {x} < {name}_least:")
    writer.write(f"    {name}_least = {x}")
    writer.write(f"if {x} > {name}_most:")
    writer.write(f"    {name}_most = {x}")


def _emit_nearest(writer: HeadWriter, later: bool, name: str, q: str, o: str) -> None:
    """Emit: set ``o`` to the offset of the integer q in a nonempty table, or of the nearest present one."""
    writer.write(f"{o} = {q} - {name}_first")
    with writer.indented(f"if {o} < 0 or {o} >= {name}_there.size or {name}_there[{o}] == 0:"):
        writer.write(f"below, above = neighbours({name}_there, {name}_first, {name}_least, {name}_most, {q}, 1)")
        writer.write(f"{o} = below - {name}_first")
        # The nearer neighbour; of two equally near, the one preferred by position.
        preferred = ">" if later else "<"
        nearer = f"above - {q} < {q} - below"
        tied = f"above - {q} == {q} - below and {name}_there[above - {name}_first] {preferred} {name}_there[{o}]"
        writer.write(f"if above != below and ({nearer} or ({tied})):")
        writer.write(f"    {o} = above - {name}_first")


def _emit_best_of_kinds(writer: HeadWriter, plan: GatedTable, storages: list[IntegerTable]) -> None:
    """Emit a search at doubling distances from q that ends when nothing further away can be better."""
    q, best, when, reach, more = (writer.new_name(stem) for stem in "qewrm")
    found = [writer.new_name("r") for _ in range(plan.width)]
    writer.write(f"{q} = {writer.numerator(plan.lookup.vertex)}")
    offsets = [writer.new_name("e") for _ in storages]
    for offset, extra in zip(offsets, plan.extra, strict=True):
        writer.write(f"{offset} = {writer.numerator(extra)}")
        writer.flag_overflow_if(f"abs(float({offset})) >= LIMIT / 2")
    writer.write(f"{', '.join([reach, best, when, *found])} = {', '.join(['0', '0', '-1', *['0'] * plan.width])}")
    with writer.indented("while True:"):
        for storage, offset in zip(storages, offsets, strict=True):
            _emit_closest_of_kind(writer, plan, storage, offset, (q, reach, best, when), found)
        size = f"{-plan.lookup.curve}.0 * float({reach} + 1) * float({reach} + 1)"
        writer.write(f"{more} = False")
        writer.write(f"if {size} >= LIMIT / 2:")
        writer.write("    wrong = True")
        writer.write("else:")
        for storage, offset in zip(storages, offsets, strict=True):
            name = storage.name
            left = f"{name}_least <= {name}_most and ({name}_least < {q} - {reach} or {name}_most > {q} + {reach})"
            step = f"{-plan.lookup.curve} * ({reach} + 1) * ({reach} + 1)"
            writer.write(f"    {more} |= {left} and ({when} < 0 or {offset} - {step} >= {best})")
        writer.write(f"if not {more}:")
        writer.write("    break")
        writer.write(f"{reach} = 2 * {reach} + 1")
    writer.flag_overflow_if("False")
    writer.name_results(plan, found)


def _emit_closest_of_kind(
    writer: HeadWriter,
    plan: GatedTable,
    storage: IntegerTable,
    offset: str,
    names: tuple[str, str, str, str],
    found: list[str],
) -> None:
    """Emit: make the nearest key of one kind the best, if it is better."""
    name, (q, reach, best, when) = storage.name, names
    o, score, away = writer.new_name("o"), writer.new_name("e"), writer.new_name("o")
    table = f"{name}_there, {name}_first, {name}_least, {name}_most"
    writer.write(f"{o} = closest({table}, {q}, {reach}, {plan.lookup.later})")
    with writer.indented(f"if {o} >= 0:"):
        writer.write(f"{away} = {o} + {name}_first - {q}")
        writer.write(f"wrong |= {-plan.lookup.curve}.0 * float({away}) * float({away}) >= LIMIT / 2")
        writer.write(f"{score} = {offset} - {-plan.lookup.curve} * {away} * {away}")
        newer = f"{name}_there[{o}] {'>' if plan.lookup.later else '<'} {when}"
        writer.write(f"if {when} < 0 or {score} > {best} or ({score} == {best} and {newer}):")
        writer.write(f"    {best}, {when} = {score}, {name}_there[{o}]")
        for k, part in enumerate(found):
            writer.write(f"    {part} = {storage.value(k, o)}")
