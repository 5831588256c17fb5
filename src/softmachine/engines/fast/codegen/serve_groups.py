"""Code for heads whose keys are compared: equal keys in groups, or every key where a bias is any function."""

from __future__ import annotations

from fractions import Fraction

from softmachine.engines.fast.analysis.grids import Linear
from softmachine.engines.fast.analysis.plans import Compared, Dense, Groups
from softmachine.engines.fast.codegen.serving import HeadWriter, or_nothing
from softmachine.engines.fast.indexes.storages import EveryKey, KeyGroups
from softmachine.transformer.attention import Choice

CHOICES = {
    Choice.AVERAGE: "AVERAGE",
    Choice.SOFTMAX: "AVERAGE",
    Choice.LEFTMOST: "LEFTMOST",
    Choice.RIGHTMOST: "RIGHTMOST",
}


def serve_groups(writer: HeadWriter, plan: Groups, name: str) -> None:
    """Write the code of a head whose equal keys are in groups; ``name`` is the stem of its names."""
    _, number = writer.store(KeyGroups(name, plan.width, plan.head.name, plan.score.key_width, len(plan.score.keys)))
    keys = [x for key in plan.score.keys for x in writer.value(key, not plan.score.fractional)]
    values = writer.values(plan)
    groups = [f"{name}_{part}" for part in ("keys", "places", "values", "slots", "meta", "box")]
    if plan.causal:
        _insert(writer, plan, name, number, (keys, values), groups, "i")
    else:
        kept_keys = [writer.scalar(f"{name}_k{k}", x) for k, x in enumerate(keys)]
        kept_values = [writer.scalar(f"{name}_v{k}", x) for k, x in enumerate(values)]
        with writer.at_next_position():
            _insert(writer, plan, name, number, (kept_keys, kept_values), groups, "i - 1")
    time = _query(writer, plan, name)[0]
    writer.settle()
    _found(writer, plan, name, f"search({', '.join(groups)}, {name}_key, {name}_query, {time}")


def serve_dense(writer: HeadWriter, plan: Dense, name: str) -> None:
    """Write the code of a head that looks at every key."""
    storage = EveryKey(name, plan.width, plan.head.name, plan.score.key_width, len(plan.score.keys), plan.bias)
    _, number = writer.store(storage)
    writer.write(f"{name}_meta[1] = i")
    writer.fail(f"{name}_meta[0] != s", f"FULL + {number}")
    keys = [x for key in plan.score.keys for x in writer.value(key, not plan.score.fractional)]
    values = writer.values(plan)
    writer.settle()
    for part, integers in (("keys", keys), ("values", values)):
        for k, x in enumerate(integers):
            writer.write(f"{name}_{part}[i, {k}] = {x}")
    time, scale = _query(writer, plan, name)
    over = scale if isinstance(scale, str) else writer.denominator(scale)
    writer.settle()
    arrays = ", ".join(f"{name}_{part}" for part in ("keys", "values", "biases", "meta", "query"))
    _found(writer, plan, name, f"search_all({arrays}, {time}, {over}, {'s' if plan.causal else 'i'}")


def _insert(
    writer: HeadWriter,
    plan: Groups,
    name: str,
    number: int,
    parts: tuple[list[str], list[str]],
    groups: list[str],
    position: str,
) -> None:
    """Add the key and value of a position."""
    writer.settle()
    for which, part in zip(("key", "value"), parts, strict=True):
        for k, x in enumerate(part):
            writer.write(f"{name}_{which}[{k}] = {x}")
    full = writer.fresh("f")
    writer.write(f"{full} = insert({', '.join(groups)}, {name}_key, {name}_value, {position}, {not plan.whole})")
    writer.fail(f"{full} == 1", f"FULL + {number}")
    writer.doubt(f"{full} == 2")


def _query(writer: HeadWriter, plan: Compared, name: str) -> tuple[str, Linear | str]:
    """Fill in the query; the coefficient of the position on the same scale, and what tells the denominator."""
    time = writer.fresh("t")
    # Keys are kept without their denominators, so each component of the query is divided by its key's.
    overs = [1 if plan.score.fractional else writer.numbers.of(key).over for key in plan.score.keys]
    forms = [query.scaled(Fraction(1) / over) for query, over in zip(plan.score.queries, overs, strict=True)]
    linear = writer.numbers.linear([*forms, plan.score.slope])
    if linear is not None:
        for k, part in enumerate(linear[:-1]):
            writer.write(f"{name}_query[{k}] = {writer.numerator(part)}")
        writer.write(f"{time} = {writer.numerator(linear[-1])}")
        return time, linear[-1]
    parts = [writer.fraction(form) for form in (*forms, plan.score.slope)]
    common = writer.fresh("d")
    writer.write(f"{common} = 1")
    for _, d in parts:
        writer.doubt(f"float({common}) * float({d}) >= LIMIT")
        writer.write(f"{common} = {common} // divisor({common}, {d}) * {d}")
    for n, d in parts:
        writer.doubt(f"abs(float({n})) * float({common}) >= LIMIT * float({d})")
    writer.settle()
    for k, (n, d) in enumerate(parts[:-1]):
        writer.write(f"{name}_query[{k}] = {n} * ({common} // {d})")
    writer.write(f"{time} = {parts[-1][0]} * ({common} // {parts[-1][1]})")
    return time, common


def _found(writer: HeadWriter, plan: Compared, name: str, search: str) -> None:
    """Search, and name what is found."""
    count = writer.fresh("c")
    kinds = f"{CHOICES[plan.head.weighting.choice]}, {plan.score.fractional}, {not plan.whole}"
    writer.write(f"{count}, bad = {search}, {kinds}, {name}_out)")
    writer.doubt("bad")
    out = [f"{name}_out[{k}]" for k in range(plan.width)]
    writer.name_found(plan, out if plan.causal else or_nothing(plan, out, count), f"max({count}, 1)")
