"""Circuits and graphs used by several tests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from softmachine.languages.circuit import Builder, Circuit, GateKind
from softmachine.languages.graph import Graph

UNARY = {GateKind.NOT, GateKind.BUF}
CONSTANT = {GateKind.ZERO, GateKind.ONE}
VARIABLE = tuple(kind for kind in GateKind if kind not in CONSTANT)

BENCH = """# half adder, and more
INPUT(a)
INPUT(b)
OUTPUT(sum)
OUTPUT(carry)
OUTPUT(most)
sum = XOR(a, b)  # x
carry = AND(a, b)
most = THR2(a, b, b)
"""
BLIF = """# half adder, and more
.model half \\
adder
.inputs a b
.outputs sum carry odd
.names a b sum
10 1
01 1
.names a b carry
11 1
.names a b sum odd
1-0 1
011 1
.end
"""
AIGER = """aag 5 2 0 2 3
2
4
10
6
6 2 4
8 3 5
10 7 9
i0 a
i1 b
o0 sum
o1 carry
c
half adder
"""
BRISTOL = """3 5
2 1 1
1 2

2 1 0 1 2 XOR
2 1 0 1 3 AND
1 1 2 4 EQW
"""
EDGES = "# x\na b\nb c\nd e  # y\n"


def random_circuit(
    seed: int,
    *,
    inputs: int,
    gates: int,
    outputs: int = 1,
    fan_in: int = 4,
    kinds: Sequence[GateKind] = VARIABLE,
) -> Circuit:
    """A random circuit: each gate reads random wires before it, and the outputs are among the last."""
    choose = random.Random(seed)
    builder = Builder(f"random-{seed}", [f"x{k}" for k in range(inputs)])
    wires = list(builder.inputs)
    for k in range(gates):
        wires.append(_random_gate(choose, builder, wires, kinds, fan_in, f"g{k}"))
    last = wires[-max(outputs, len(wires) // 2) :]
    return builder.build(choose.sample(last, min(outputs, len(last))))


def random_layered(
    seed: int, *, inputs: int, layers: int, width: int, fan_in: int = 4, kinds: Sequence[GateKind] = VARIABLE
) -> Circuit:
    """A random circuit in layers of one width: gates read only from the layer before; the last layer is the output."""
    choose = random.Random(seed)
    builder = Builder(f"layered-{seed}", [f"x{k}" for k in range(inputs)])
    layer = list(builder.inputs)
    possible = [kind for kind in kinds if kind not in CONSTANT]
    for number in range(1, layers + 1):
        names = [f"g{number}.{k}" for k in range(width)]
        layer = [_random_gate(choose, builder, layer, possible, fan_in, name) for name in names]
    return builder.build(layer)


def _random_gate(
    choose: random.Random, builder: Builder, wires: list[str], kinds: Sequence[GateKind], fan_in: int, name: str
) -> str:
    kind = choose.choice(kinds) if wires else GateKind.ONE
    if kind in CONSTANT:
        return builder.gate(kind, name=name)
    count = 1 if kind in UNARY else choose.randint(1, fan_in)
    at_least = choose.randint(1, count) if kind is GateKind.THR else None
    return builder.gate(kind, *(choose.choice(wires) for _ in range(count)), name=name, threshold=at_least)


def from_networkx(graph: Any, name: str | None = None) -> Graph:
    """Convert a networkx graph (of any class); vertices are named by ``str``."""
    return Graph(
        name=name or str(getattr(graph, "name", "")) or "graph",
        vertices=tuple(map(str, graph.nodes)),
        edges=tuple((str(one), str(other)) for one, other in graph.edges()),
        directed=graph.is_directed(),
    )
