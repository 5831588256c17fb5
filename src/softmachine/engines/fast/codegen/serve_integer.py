"""Code for heads that look up an integer: a table of its values, and the nearest one if it is not there."""

from __future__ import annotations

from softmachine.engines.fast.analysis.grids import HORIZON
from softmachine.engines.fast.analysis.plans import Parabola
from softmachine.engines.fast.codegen.serving import Serving, Storage
from softmachine.transformer.attention import Mask


class IntegerCode:
    """Code for heads that look up an integer: a table of its values, and the nearest one if it is not there.

    Args:
        serving: Where the code goes.
    """

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.writer = serving.writer

    def serve(self, plan: Parabola, name: str) -> None:
        """Write the code of a head; ``name`` is the stem of its names."""
        writer = self.writer
        storage = self.serving.store("table", name, plan)
        number = len(self.serving.storages) - 1
        x, square = writer.fresh("x"), writer.fresh("x")
        writer.write(f"{x} = {writer.numerator(plan.x)}")
        writer.write(f"{square} = {writer.numerator(plan.square)}")
        parts = [x, square, *self.serving.values(plan)]
        if plan.head.mask is Mask.CAUSAL:
            self.insert(plan.later, storage, number, parts, "i")
        else:
            kept = [self.serving.scalar(f"{name}_p{k}", part) for k, part in enumerate(parts)]
            after, writer.lines = writer.lines, []
            writer.write("if i > 0:")
            writer.indent += 1
            self.insert(plan.later, storage, number, kept, "i - 1")
            writer.indent -= 1
            self.serving.early += writer.lines
            writer.lines = after
        self._find_integer(plan, storage)

    def insert(self, later: bool, storage: Storage, number: int, parts: list[str], i: str) -> None:
        """Put the value of a position into a table: ``parts`` are the integer, its square, and what the value is."""
        writer, name, x = self.writer, storage.name, parts[0]
        writer.settle()
        writer.fail(f"abs({x}) > {HORIZON} or {parts[1]} != {x} * {x}", f"REPLAN + {number}")
        o = writer.fresh("o")
        writer.write(f"{o} = {x} - {name}_first")
        writer.write(f"if {o} < 0 or {o} >= {name}_there.size:")
        writer.write(f"    {name}_meta[3] = {x}")
        writer.write(f"    status = FULL + {number}")
        writer.write("    break")
        if not later:
            writer.write(f"if {name}_there[{o}] < 0:")
            writer.indent += 1
        for k, part in enumerate(parts[2:]):
            writer.write(f"{name}_values[{o} * {storage.width} + {k}] = {part}")
        writer.write(f"{name}_there[{o}] = {i}")
        if not later:
            writer.indent -= 1
        writer.write(f"if {x} < {name}_least:")
        writer.write(f"    {name}_least = {x}")
        writer.write(f"if {x} > {name}_most:")
        writer.write(f"    {name}_most = {x}")

    def _find_integer(self, plan: Parabola, storage: Storage) -> None:
        writer, name = self.writer, storage.name
        q, o = writer.fresh("q"), writer.fresh("o")
        writer.write(f"{q} = {writer.numerator(plan.vertex)}")
        past = plan.head.mask is not Mask.CAUSAL
        if past:
            writer.write("seen = i > 0")
            writer.write(f"{o} = 0")
            writer.write("if seen:")
            writer.indent += 1
        writer.write(f"{o} = {q} - {name}_first")
        self.nearest(plan.later, storage, q, o)
        if past:
            writer.indent -= 1
        found = [f"{name}_values[{o} * {storage.width} + {k}]" for k in range(storage.width)]
        if past:
            found = [f"({part} if seen else 0)" for part in found]
        self.serving.name_found(plan, found)

    def nearest(self, later: bool, storage: Storage, q: str, o: str) -> None:
        """If a table that is not empty has nothing at offset ``o``, that of the integer q, go to what is nearest."""
        writer, name = self.writer, storage.name
        writer.write(f"if {o} < 0 or {o} >= {name}_there.size or {name}_there[{o}] < 0:")
        writer.indent += 1
        writer.write(f"below, above = neighbours({name}_there, {name}_first, {name}_least, {name}_most, {q}, 1)")
        writer.write(f"{o} = below - {name}_first")
        # Of the two neighbours the nearer one, and of two as near the one that the position prefers.
        preferred = ">" if later else "<"
        nearer = f"above - {q} < {q} - below"
        tied = f"above - {q} == {q} - below and {name}_there[above - {name}_first] {preferred} {name}_there[{o}]"
        writer.write(f"if above != below and ({nearer} or ({tied})):")
        writer.write(f"    {o} = above - {name}_first")
        writer.indent -= 1
