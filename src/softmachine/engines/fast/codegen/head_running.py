"""Code for heads that only need running scalars.

If all keys score the same: running sums, or the first or last value. If the query is constant: the best score so far,
and the sum of the values that have it.
"""

from __future__ import annotations

from softmachine.engines.fast.analysis.grids import OVERFLOW_LIMIT, NumberRange
from softmachine.engines.fast.analysis.plans import RunningBest, UniformPlan
from softmachine.engines.fast.codegen.head import HeadWriter
from softmachine.ir.signal import Atom
from softmachine.transformer.attention import AttentionKind


def emit_uniform_head(writer: HeadWriter, plan: UniformPlan, name: str) -> None:
    """Emit a head whose keys all score the same; ``name`` is the prefix of its variables."""
    choice = plan.head.weighting.kind
    for index, (component, value) in enumerate(zip(plan.components, plan.values, strict=True)):
        stem, atom = f"{name}_{index}", (plan.head, component)
        parts = writer.emit_value(plan.head.value[component], value.steady)
        if choice is AttentionKind.LEFTMOST:
            kept = [writer.declare_scalar(f"{stem}_{k}", f"{x} if i == 0 else {stem}_{k}") for k, x in enumerate(parts)]
            first = [f"({x} if i == 0 else {k})" for x, k in zip(parts, kept, strict=True)]
            writer.name_single(atom, value, first if plan.sees_itself else kept)
        elif choice is AttentionKind.RIGHTMOST:
            kept = (
                [writer.declare_scalar(f"{stem}_{k}", x) for k, x in enumerate(parts)] if not plan.sees_itself else []
            )
            writer.name_single(atom, value, parts if plan.sees_itself else kept)
        elif value.steady:
            _emit_integer_mean(writer, plan, atom, value, parts[0], stem)
        else:
            _emit_fraction_mean(writer, plan, atom, (parts[0], parts[1]), stem)


def _emit_integer_mean(
    writer: HeadWriter, plan: UniformPlan, atom: Atom, value: NumberRange, part: str, stem: str
) -> None:
    new = writer.new_name("m")
    writer.declare_scalar(stem, new)
    if value.size * writer.numbers.horizon >= OVERFLOW_LIMIT:
        writer.flag_overflow_if(f"abs(float({stem})) + abs(float({part})) >= LIMIT")
    writer.write(f"{new} = {stem} + {part}")
    if plan.sees_itself:
        writer.name_numerator(atom, new)
    else:
        writer.name_fraction(atom, stem, f"({value.over} * i if i else 1)")


def _emit_fraction_mean(writer: HeadWriter, plan: UniformPlan, atom: Atom, part: tuple[str, str], stem: str) -> None:
    n, d = writer.new_name("m"), writer.new_name("m")
    writer.declare_scalar(f"{stem}_n", n)
    writer.declare_scalar(f"{stem}_d", d)
    writer.write(f"{n}, {d}, bad = added({stem}_n, {stem}_d if {stem}_d else 1, {part[0]}, {part[1]})")
    writer.flag_overflow_if("bad")
    count, total = "s", (n, d)
    if not plan.sees_itself:
        count, total = "(i if i else 1)", (f"{stem}_n", f"({stem}_d if {stem}_d else 1)")
    name = writer.name(atom)
    writer.write(f"{name}, {name}d, bad = times(1, {count}, {total[0]}, {total[1]})")
    writer.flag_overflow_if("bad")


def emit_running_best_head(writer: HeadWriter, plan: RunningBest, name: str) -> None:
    """Emit a head with a constant query."""
    choice = plan.head.weighting.kind
    score, best, count = writer.new_name("e"), writer.new_name("e"), writer.new_name("c")
    writer.write(f"{score} = {writer.numerator(plan.lasting)}")
    values = writer.emit_values(plan)
    totals = [writer.new_name("r") for _ in values]
    writer.declare_scalar(f"{name}_best", best)
    writer.declare_scalar(f"{name}_count", count)
    kept = [writer.declare_scalar(f"{name}_r{k}", total) for k, total in enumerate(totals)]
    new, old = [best, count, *totals], [f"{name}_best", f"{name}_count", *kept]
    writer.write(f"{', '.join(new)} = {', '.join(old)}")
    better = ">=" if choice is AttentionKind.RIGHTMOST else ">"
    writer.write(f"if {name}_count == 0 or {score} {better} {name}_best:")
    writer.write(f"    {', '.join(new)} = {', '.join([score, '1', *values])}")
    if not plan.single:
        with writer.indented(f"elif {score} == {name}_best:"):
            writer.write(f"{count} = {name}_count + 1")
            for value, total, before, known in zip(values, totals, kept, plan.values, strict=True):
                if known.size * writer.numbers.horizon >= OVERFLOW_LIMIT:
                    writer.flag_overflow_if(f"abs(float({before})) + abs(float({value})) >= LIMIT")
                writer.write(f"{total} = {before} + {value}")
    if plan.sees_itself:
        writer.name_results(plan, totals, count)
    else:
        writer.name_results(plan, kept, f"max({name}_count, 1)")
