"""Code for heads whose keys all score the same: running sums, or the first or last value."""

from __future__ import annotations

from softmachine.engines.fast.analysis.grids import SAFE, Number
from softmachine.engines.fast.analysis.plans import Uniform
from softmachine.engines.fast.codegen.serving import Serving
from softmachine.transformer.attention import Choice, Mask


class UniformCode:
    """Code for heads whose keys all score the same: running sums, or the first or last value.

    Args:
        serving: Where the code goes.
    """

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.writer = serving.writer

    def serve(self, plan: Uniform, name: str) -> None:
        """Write the code of a head; ``name`` is the stem of its names."""
        choice, causal = plan.head.weighting.choice, plan.head.mask is Mask.CAUSAL
        for index, ((number, component), value) in enumerate(zip(plan.results, plan.values, strict=True)):
            form, stem = plan.head.value[component], f"{name}_{index}"
            parts = self.serving.value(form, value, value.steady)
            if choice is Choice.LEFTMOST:
                kept = [
                    self.serving.scalar(f"{stem}_{k}", f"{x} if i == 0 else {stem}_{k}") for k, x in enumerate(parts)
                ]
                found = [f"({x} if i == 0 else {k})" for x, k in zip(parts, kept, strict=True)] if causal else kept
                self.serving.name_single(number, value, found)
            elif choice is Choice.RIGHTMOST:
                kept = [self.serving.scalar(f"{stem}_{k}", x) for k, x in enumerate(parts)] if not causal else []
                self.serving.name_single(number, value, parts if causal else kept)
            else:
                self._mean(plan, number, value, parts, stem)

    def _mean(self, plan: Uniform, number: int, value: Number, parts: list[str], stem: str) -> None:
        writer = self.writer
        if value.steady:
            new = writer.fresh("m")
            self.serving.scalar(stem, new)
            if value.size * writer.numbers.horizon >= SAFE:
                writer.doubt(f"abs(float({stem})) + abs(float({parts[0]})) >= LIMIT")
            writer.write(f"{new} = {stem} + {parts[0]}")
            if plan.head.mask is Mask.CAUSAL:
                self.serving.name_whole(number, new)
            else:
                self.serving.name_fraction(number, stem, f"({self.serving.over(value)} * i if i else 1)")
            return
        n, d = writer.fresh("m"), writer.fresh("m")
        self.serving.scalar(f"{stem}_n", n)
        self.serving.scalar(f"{stem}_d", d)
        writer.write(f"{n}, {d}, bad = added({stem}_n, {stem}_d if {stem}_d else 1, {parts[0]}, {parts[1]})")
        writer.doubt("bad")
        causal = plan.head.mask is Mask.CAUSAL
        count, total = ("s", (n, d)) if causal else ("(i if i else 1)", (f"{stem}_n", f"({stem}_d if {stem}_d else 1)"))
        writer.write(f"a{number}, a{number}d, bad = times(1, {count}, {total[0]}, {total[1]})")
        writer.doubt("bad")
