"""Heads that always ask the same: every key has one score for good, so that the best so far is all there is to keep."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.engines.fast.analysis.flow import FlowHead
from softmachine.engines.fast.analysis.forms import combination
from softmachine.engines.fast.analysis.grids import SAFE, Linear, Number, Numbers
from softmachine.engines.fast.analysis.plans import Plan
from softmachine.engines.fast.codegen.serving import Serving
from softmachine.transformer.attention import Choice, Mask


@dataclass(frozen=True, eq=False)
class Record(Plan):
    """The query is constant.

    Args:
        score: The score of a key, over a constant.
    """

    score: Linear

    kind = "the best so far"

    @property
    def evenly(self) -> bool:
        """Whether means of tied values are taken to be integers."""
        single = self.head.weighting.choice in (Choice.LEFTMOST, Choice.RIGHTMOST)
        return not single and any(number.grid is not None for number in self.numbers)


def score_for_good(head: FlowHead, values: tuple[Number, ...], numbers: Numbers) -> Linear | None:
    """The score of the present key, if no query changes it; None if one may, or the engine had better do otherwise."""
    if not head.weighting.hard or head.bias is not None or not all(value.steady for value in values):
        return None
    if not all(query.is_constant for query in head.query):
        return None
    form = combination((query.constant, key) for query, key in zip(head.query, head.key, strict=True))
    found = numbers.linear([form])
    return found[0] if found and found[0].grid.power == 0 else None


class RecordCode:
    """Code for heads that always ask the same.

    Args:
        serving: Where the code goes.
    """

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.writer = serving.writer

    def serve(self, plan: Record, name: str) -> None:
        """Write the code of a head; ``name`` is the stem of its names."""
        writer, choice = self.writer, plan.head.weighting.choice
        score, best, count = writer.fresh("e"), writer.fresh("e"), writer.fresh("c")
        writer.write(f"{score} = {writer.numerator(plan.score)}")
        values = self.serving.values(plan)
        totals = [writer.fresh("r") for _ in values]
        self.serving.scalar(f"{name}_best", best)
        self.serving.scalar(f"{name}_count", count)
        kept = [self.serving.scalar(f"{name}_r{k}", total) for k, total in enumerate(totals)]
        new, old = [best, count, *totals], [f"{name}_best", f"{name}_count", *kept]
        writer.write(f"{', '.join(new)} = {', '.join(old)}")
        better = ">=" if choice is Choice.RIGHTMOST else ">"
        writer.write(f"if {name}_count == 0 or {score} {better} {name}_best:")
        writer.write(f"    {', '.join(new)} = {', '.join([score, '1', *values])}")
        if choice not in (Choice.LEFTMOST, Choice.RIGHTMOST):
            writer.write(f"elif {score} == {name}_best:")
            writer.indent += 1
            writer.write(f"{count} = {name}_count + 1")
            for value, total, before, known in zip(values, totals, kept, plan.values, strict=True):
                if known.size * writer.numbers.horizon >= SAFE:
                    writer.doubt(f"abs(float({before})) + abs(float({value})) >= LIMIT")
                writer.write(f"{total} = {before} + {value}")
            writer.indent -= 1
        if plan.head.mask is Mask.CAUSAL:
            self.serving.name_found(plan, totals, count)
        else:
            self.serving.name_found(plan, kept, f"max({name}_count, 1)")
