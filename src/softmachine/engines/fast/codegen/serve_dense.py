"""Code for heads that look at every key."""

from __future__ import annotations

from softmachine.engines.fast.analysis.grids import Number
from softmachine.engines.fast.analysis.plans import Dense
from softmachine.engines.fast.codegen.serve_groups import CHOICES, GroupCode
from softmachine.engines.fast.codegen.serving import Serving
from softmachine.transformer.attention import Mask


class DenseCode:
    """Code for heads that look at every key.

    Args:
        serving: Where the code goes.
    """

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.writer = serving.writer

    def serve(self, plan: Dense, name: str) -> None:
        """Write the code of a head; ``name`` is the stem of its names."""
        writer = self.writer
        storage = self.serving.store("dense", name, plan, len(plan.keys) * (2 if plan.fractional else 1))
        number = len(self.serving.storages) - 1
        writer.write(f"{name}_meta[1] = i")
        writer.fail(f"{name}_meta[0] != s", f"FULL + {number}")
        keys = [x for key in plan.keys for x in self.serving.value(key, Number(None), not plan.fractional)]
        values = self.serving.values(plan)
        writer.settle()
        for part, integers in (("keys", keys), ("values", values)):
            for k, x in enumerate(integers):
                writer.write(f"{name}_{part}[i, {k}] = {x}")
        time, scale = GroupCode(self.serving).query(plan, name)
        over = scale if isinstance(scale, str) else writer.denominator(scale)
        writer.settle()
        count = writer.fresh("c")
        arrays = ", ".join(f"{name}_{part}" for part in ("keys", "values", "biases", "meta", "query"))
        visible = "s" if plan.head.mask is Mask.CAUSAL else "i"
        choice = CHOICES[plan.head.weighting.choice]
        writer.write(
            f"{count}, bad = search_all({arrays}, {time}, {over}, {visible}, {choice}, "
            f"{plan.fractional}, {not plan.whole}, {name}_out)"
        )
        writer.doubt("bad")
        out = [f"{name}_out[{k}]" for k in range(storage.width)]
        if plan.head.mask is not Mask.CAUSAL:
            blank = ["0" if plan.whole or not k % 2 else "1" for k in range(storage.width)]
            out = [f"({part} if {count} else {none})" for part, none in zip(out, blank, strict=True)]
        self.serving.name_found(plan, out, f"max({count}, 1)")
