"""Code for all other heads: equal keys in groups."""

from __future__ import annotations

from fractions import Fraction

from softmachine.engines.fast.analysis.grids import Linear, Number
from softmachine.engines.fast.analysis.plans import Dense, Forest, Groups
from softmachine.engines.fast.codegen.serving import Serving
from softmachine.transformer.attention import Choice, Mask

CHOICES = {
    Choice.AVERAGE: "AVERAGE",
    Choice.SOFTMAX: "AVERAGE",
    Choice.LEFTMOST: "LEFTMOST",
    Choice.RIGHTMOST: "RIGHTMOST",
}


class GroupCode:
    """Code for all other heads: equal keys in groups.

    Args:
        serving: Where the code goes.
    """

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.writer = serving.writer

    def serve(self, plan: Groups, name: str) -> None:
        """Write the code of a head; ``name`` is the stem of its names."""
        writer = self.writer
        trees = isinstance(plan, Forest)
        storage = self.serving.store(
            "forest" if trees else "groups", name, plan, len(plan.keys) * (2 if plan.fractional else 1)
        )
        number = len(self.serving.storages) - 1
        keys = [x for key in plan.keys for x in self.serving.value(key, Number(None), not plan.fractional)]
        values = self.serving.values(plan)
        groups = ("keys", "places", "values", "slots", "meta", "box")
        near = "near" if plan.fractional else "keys"
        forest = (near, "order", "boxes", "marks", "rest") if trees else ()
        arrays = ", ".join(f"{name}_{part}" for part in (*groups, *forest, "key", "value"))
        call = "insert_in_forest" if trees else "insert"
        kinds = f"{plan.fractional}, {not plan.whole}" if trees else f"{not plan.whole}"
        if plan.head.mask is Mask.CAUSAL:
            self._insert_group(plan, name, number, (keys, values), f"{call}({arrays}, i, {kinds})")
        else:
            kept = [
                [self.serving.scalar(f"{name}_{w}{k}", x) for k, x in enumerate(part)]
                for w, part in zip("kv", (keys, values), strict=True)
            ]
            after, writer.lines = writer.lines, []
            writer.write("if i > 0:")
            writer.indent += 1
            self._insert_group(plan, name, number, (kept[0], kept[1]), f"{call}({arrays}, i - 1, {kinds})")
            writer.indent -= 1
            self.serving.early += writer.lines
            writer.lines = after
        time = self.query(plan, name)[0]
        choice = CHOICES[plan.head.weighting.choice]
        looked = ("order", "boxes", "marks", "stack") if trees else ()
        found = ", ".join(f"{name}_{part}" for part in (*groups, *looked, "key", "query"))
        writer.settle()
        count = writer.fresh("c")
        search = "search_forest" if trees else "search"
        kinds = f"{plan.fractional}, {not plan.whole}"
        asked = f"{search}({found}, {time}, {choice}, {kinds}, {name}_out)"
        writer.write(f"{count} = {asked}" if trees else f"{count}, bad = {asked}")
        writer.doubt(f"{count} < 0" if trees else "bad")
        out = [f"{name}_out[{k}]" for k in range(storage.width)]
        if plan.head.mask is not Mask.CAUSAL:
            blank = ["0" if plan.whole or not k % 2 else "1" for k in range(storage.width)]
            out = [f"({part} if {count} else {none})" for part, none in zip(out, blank, strict=True)]
        self.serving.name_found(plan, out, f"max({count}, 1)")

    def _insert_group(
        self, plan: Groups, name: str, number: int, parts: tuple[list[str], list[str]], call: str
    ) -> None:
        writer = self.writer
        del plan
        writer.settle()
        for which, part in zip(("key", "value"), parts, strict=True):
            for k, x in enumerate(part):
                writer.write(f"{name}_{which}[{k}] = {x}")
        full = writer.fresh("f")
        writer.write(f"{full} = {call}")
        writer.fail(f"{full} == 1", f"FULL + {number}")
        writer.doubt(f"{full} == 2")

    def query(self, plan: Groups | Dense, name: str) -> tuple[str, Linear | str]:
        """Fill in the query; the coefficient of the position on the same scale, and what tells the denominator."""
        writer = self.writer
        time = writer.fresh("t")
        # Keys are kept without their denominators, so each component of the query is divided by its key's.
        overs = [1] * len(plan.keys)
        if not plan.fractional:
            overs = [self.serving.over(writer.numbers.of(key)) for key in plan.keys]
        forms = [query.scaled(Fraction(1) / over) for query, over in zip(plan.queries, overs, strict=True)]
        linear = writer.numbers.linear([*forms, plan.slope])
        if linear is not None:
            for k, part in enumerate(linear[:-1]):
                writer.write(f"{name}_query[{k}] = {writer.numerator(part)}")
            writer.write(f"{time} = {writer.numerator(linear[-1])}")
            return time, linear[-1]
        parts = [writer.fraction(form) for form in (*forms, plan.slope)]
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
