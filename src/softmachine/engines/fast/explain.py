"""What the fast engine makes of a model, for people."""

from __future__ import annotations

from softmachine.engines.fast.codegen.emitted import Emitted
from softmachine.engines.fast.tables.interpreted import Interpreted
from softmachine.text import many


def explanation(code: Emitted | Interpreted) -> list[tuple[str, str, str, str]]:
    """For each head: the layer, its name, the index that serves it, and why."""
    if isinstance(code, Interpreted):
        return code.explanation()
    return [(plan.head.layer, plan.head.name, plan.kind, plan.why) for plan in code.plans]


def summary(code: Emitted | Interpreted) -> list[str]:
    """What there is to say of the model as a whole."""
    if isinstance(code, Interpreted):
        return code.summary()
    numbers = many(len(code.flow.order) - len(code.plans), "number")
    tables = many(code.tables.shape[1], "table")
    lines = [f"{many(len(code.plans), 'head')}, {numbers} a position; what only the token decides is in {tables}"]
    if code.tail:
        count = len(code.tail.independent)
        kept = f"remembered for small values of {many(count, 'number')}" if code.tail.memory else "computed each time"
        lines.append(f"the last {many(len(code.tail.units), 'unit')} and the logits are {kept}")
    if code.proof:
        lines.append(
            f"softmax decides as hard attention does: up to {code.horizon:,} positions no logit is off by more than "
            f"{code.proof.doubt:.1e}, and different ones differ by {code.proof.margin:g} or more"
        )
    else:
        lines.append(f"exact for runs up to {code.horizon:,} positions; a number that does not fit stops the run")
    return lines
