"""Code for heads that look up an integer among keys of a few kinds: a table for each, and the best of them all."""

from __future__ import annotations

from softmachine.engines.fast.codegen.serve_integer import IntegerCode
from softmachine.engines.fast.codegen.serving import Serving, Storage
from softmachine.engines.fast.codegen.writing import HERE
from softmachine.engines.fast.indexes.gated import Gated


class GatedCode:
    """Code for heads that look up an integer among keys of a few kinds.

    Args:
        serving: Where the code goes.
    """

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.writer = serving.writer

    def serve(self, plan: Gated, name: str) -> None:
        """Write the code of a head; ``name`` is the stem of its names."""
        writer = self.writer
        x, square, kind = writer.fresh("x"), writer.fresh("x"), writer.fresh("k")
        writer.write(f"{x} = {writer.numerator(plan.x)}")
        writer.write(f"{square} = {writer.numerator(plan.square)}")
        parts = [x, square, *self.serving.values(plan)]
        writer.settle()
        writer.write(f"{kind} = {writer.table(plan.kinds, HERE)}")
        storages = []
        for number in range(len(plan.extra)):
            storages.append(self.serving.store("table", f"{name}k{number}", plan, may_be_empty=True))
            writer.write(f"if {kind} == {number}:")
            writer.indent += 1
            IntegerCode(self.serving).insert(plan.later, storages[-1], len(self.serving.storages) - 1, parts, "i")
            writer.indent -= 1
        self._find(plan, storages)

    def _find(self, plan: Gated, storages: list[Storage]) -> None:
        """Look further and further away from q, until nothing that is further away can be better."""
        writer, width = self.writer, storages[0].width
        q, best, when, reach, more = (writer.fresh(stem) for stem in "qewrm")
        found = [writer.fresh("r") for _ in range(width)]
        writer.write(f"{q} = {writer.numerator(plan.vertex)}")
        offsets = [writer.fresh("e") for _ in storages]
        for offset, extra in zip(offsets, plan.extra, strict=True):
            writer.write(f"{offset} = {writer.numerator(extra)}")
            writer.doubt(f"abs(float({offset})) >= LIMIT / 2")
        writer.write(f"{', '.join([reach, best, when, *found])} = {', '.join(['0', '0', '-1', *['0'] * width])}")
        writer.write("while True:")
        writer.indent += 1
        for storage, offset in zip(storages, offsets, strict=True):
            self._closest(plan, storage, offset, (q, reach, best, when), found)
        size = f"{-plan.curve}.0 * float({reach} + 1) * float({reach} + 1)"
        writer.write(f"{more} = False")
        writer.write(f"if {size} >= LIMIT / 2:")
        writer.write("    wrong = True")
        writer.write("else:")
        for storage, offset in zip(storages, offsets, strict=True):
            name = storage.name
            left = f"{name}_least <= {name}_most and ({name}_least < {q} - {reach} or {name}_most > {q} + {reach})"
            step = f"{-plan.curve} * ({reach} + 1) * ({reach} + 1)"
            writer.write(f"    {more} |= {left} and ({when} < 0 or {offset} - {step} >= {best})")
        writer.write(f"if not {more}:")
        writer.write("    break")
        writer.write(f"{reach} = 2 * {reach} + 1")
        writer.indent -= 1
        writer.doubt("False")
        self.serving.name_found(plan, found)

    def _closest(
        self, plan: Gated, storage: Storage, offset: str, names: tuple[str, str, str, str], found: list[str]
    ) -> None:
        """Let the nearest key of one kind be the best, if it is better."""
        writer, name, (q, reach, best, when) = self.writer, storage.name, names
        o, score, away = writer.fresh("o"), writer.fresh("e"), writer.fresh("o")
        table = f"{name}_there, {name}_first, {name}_least, {name}_most"
        writer.write(f"{o} = closest({table}, {q}, {reach}, {plan.later})")
        writer.write(f"if {o} >= 0:")
        writer.indent += 1
        writer.write(f"{away} = {o} + {name}_first - {q}")
        writer.write(f"wrong |= {-plan.curve}.0 * float({away}) * float({away}) >= LIMIT / 2")
        writer.write(f"{score} = {offset} - {-plan.curve} * {away} * {away}")
        newer = f"{name}_there[{o}] {'>' if plan.later else '<'} {when}"
        writer.write(f"if {when} < 0 or {score} > {best} or ({score} == {best} and {newer}):")
        writer.write(f"    {best}, {when} = {score}, {name}_there[{o}]")
        for k, part in enumerate(found):
            writer.write(f"    {part} = {name}_values[{o} * {storage.width} + {k}]")
        writer.indent -= 1
