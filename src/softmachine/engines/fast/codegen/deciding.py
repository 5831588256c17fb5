"""The code that finds the output of the largest logit."""

from __future__ import annotations

from softmachine.engines.fast.analysis.flow import Flow
from softmachine.engines.fast.codegen.tail import Tail
from softmachine.engines.fast.codegen.writing import HERE, Writer


def decision(writer: Writer, flow: Flow, tail: Tail | None) -> None:
    """Find the output of the largest logit."""
    if tail is None:
        _largest(writer, flow)
        return
    names = []
    for direction in tail.directions:
        names.append(writer.fresh("z"))
        products = (f"{coefficient} * {writer.atom(number, HERE)}" for number, coefficient in direction)
        writer.write(f"{names[-1]} = {' + '.join(products)}")
    compute = [
        *(f"directions[{k}] = {name}" for k, name in enumerate(names)),
        f"out = decide(token, directions, hidden, logits, {', '.join(f'tail{k}' for k in range(len(tail.data)))})",
    ]
    if not tail.memory:
        for line in compute:
            writer.write(line)
        return
    span = 2 * tail.reach + 2
    chosen = [names[k] for k in tail.independent]
    within = " and ".join(f"{-tail.reach} <= {name} <= {tail.reach + 1}" for name in chosen) or "True"
    index = f"token * {tail.memory}"
    for k, name in enumerate(chosen):
        index += f" + ({name} + {tail.reach}) * {span**k}"
    writer.write("at = -1")
    writer.write("out = -1")
    writer.write(f"if {within}:")
    writer.write(f"    at = {index}")
    writer.write("    out = memory[at]")
    writer.write("if out < 0:")
    for line in compute:
        writer.write(f"    {line}")
    writer.write("    if at >= 0 and out >= 0:")
    writer.write("        memory[at] = out")


def _largest(writer: Writer, flow: Flow) -> None:
    """Compare the logits one by one."""
    linear = writer.numbers.linear(list(flow.logits))
    writer.write("out, ties = 0, 1")
    for o, form in enumerate(flow.logits):
        if linear is not None:
            n, d = writer.fresh("l"), "1"
            writer.write(f"{n} = {writer.numerator(linear[o])}")
        else:
            n, d = writer.fraction(form)
        if o == 0:
            writer.write("logits[:] = 0")
            writer.write("logits[0] = 1")
            writer.write(f"best, best_d = {n}, {d}")
            continue
        writer.write(f"sign, bad = compared({n}, {d}, best, best_d)")
        writer.doubt("bad")
        writer.write("if sign > 0:")
        writer.write("    logits[:] = 0")
        writer.write(f"    logits[{o}] = 1")
        writer.write(f"    best, best_d, out, ties = {n}, {d}, {o}, 1")
        writer.write("elif sign == 0:")
        writer.write("    ties += 1")
        writer.write(f"    logits[{o}] = 1")
    writer.write("if ties > 1:")
    writer.write("    out = -2")
