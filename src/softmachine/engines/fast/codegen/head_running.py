"""Code for heads that only need running scalars.

If all keys score the same: running sums, or the first or last value. If the query is constant: the best score so far,
and the sum of the values that have it.
"""

from __future__ import annotations

from softmachine.engines.fast.analysis.grids import SAFE, Number
from softmachine.engines.fast.analysis.plans import Record, Uniform
from softmachine.engines.fast.codegen.head import HeadWriter
from softmachine.transformer.attention import Choice


def serve_uniform(writer: HeadWriter, plan: Uniform, name: str) -> None:
    """Emit a head whose keys all score the same; ``name`` is the prefix of its variables."""
    choice = plan.head.weighting.choice
    for index, ((number, component), value) in enumerate(zip(plan.results, plan.values, strict=True)):
        stem = f"{name}_{index}"
        parts = writer.value(plan.head.value[component], value.steady)
        if choice is Choice.LEFTMOST:
            kept = [writer.scalar(f"{stem}_{k}", f"{x} if i == 0 else {stem}_{k}") for k, x in enumerate(parts)]
            first = [f"({x} if i == 0 else {k})" for x, k in zip(parts, kept, strict=True)]
            writer.name_single(number, value, first if plan.causal else kept)
        elif choice is Choice.RIGHTMOST:
            kept = [writer.scalar(f"{stem}_{k}", x) for k, x in enumerate(parts)] if not plan.causal else []
            writer.name_single(number, value, parts if plan.causal else kept)
        elif value.steady:
            _emit_integer_mean(writer, plan, number, value, parts[0], stem)
        else:
            _emit_fraction_mean(writer, plan, number, (parts[0], parts[1]), stem)


def _emit_integer_mean(writer: HeadWriter, plan: Uniform, number: int, value: Number, part: str, stem: str) -> None:
    new = writer.fresh("m")
    writer.scalar(stem, new)
    if value.size * writer.numbers.horizon >= SAFE:
        writer.doubt(f"abs(float({stem})) + abs(float({part})) >= LIMIT")
    writer.write(f"{new} = {stem} + {part}")
    if plan.causal:
        writer.name_whole(number, new)
    else:
        writer.name_fraction(number, stem, f"({value.over} * i if i else 1)")


def _emit_fraction_mean(writer: HeadWriter, plan: Uniform, number: int, part: tuple[str, str], stem: str) -> None:
    n, d = writer.fresh("m"), writer.fresh("m")
    writer.scalar(f"{stem}_n", n)
    writer.scalar(f"{stem}_d", d)
    writer.write(f"{n}, {d}, bad = added({stem}_n, {stem}_d if {stem}_d else 1, {part[0]}, {part[1]})")
    writer.doubt("bad")
    count, total = "s", (n, d)
    if not plan.causal:
        count, total = "(i if i else 1)", (f"{stem}_n", f"({stem}_d if {stem}_d else 1)")
    writer.write(f"a{number}, a{number}d, bad = times(1, {count}, {total[0]}, {total[1]})")
    writer.doubt("bad")


def serve_record(writer: HeadWriter, plan: Record, name: str) -> None:
    """Emit a head with a constant query."""
    choice = plan.head.weighting.choice
    score, best, count = writer.fresh("e"), writer.fresh("e"), writer.fresh("c")
    writer.write(f"{score} = {writer.numerator(plan.lasting)}")
    values = writer.values(plan)
    totals = [writer.fresh("r") for _ in values]
    writer.scalar(f"{name}_best", best)
    writer.scalar(f"{name}_count", count)
    kept = [writer.scalar(f"{name}_r{k}", total) for k, total in enumerate(totals)]
    new, old = [best, count, *totals], [f"{name}_best", f"{name}_count", *kept]
    writer.write(f"{', '.join(new)} = {', '.join(old)}")
    better = ">=" if choice is Choice.RIGHTMOST else ">"
    writer.write(f"if {name}_count == 0 or {score} {better} {name}_best:")
    writer.write(f"    {', '.join(new)} = {', '.join([score, '1', *values])}")
    if not plan.single:
        with writer.indented(f"elif {score} == {name}_best:"):
            writer.write(f"{count} = {name}_count + 1")
            for value, total, before, known in zip(values, totals, kept, plan.values, strict=True):
                if known.size * writer.numbers.horizon >= SAFE:
                    writer.doubt(f"abs(float({before})) + abs(float({value})) >= LIMIT")
                writer.write(f"{total} = {before} + {value}")
    if plan.causal:
        writer.name_found(plan, totals, count)
    else:
        writer.name_found(plan, kept, f"max({name}_count, 1)")
