"""Random circuits, and families of circuits."""

from __future__ import annotations

import random
from collections.abc import Sequence

from softmachine.languages.circuit import Circuit, CircuitBuilder, GateKind
from softmachine.languages.family import CircuitFamily, parse
from softmachine.testing.randomness import Seed, generator

UNARY = {GateKind.NOT, GateKind.BUF}
CONSTANT = {GateKind.ZERO, GateKind.ONE}
VARIABLE = tuple(kind for kind in GateKind if kind not in CONSTANT)
"""The kinds of gates with inputs."""


def random_circuit(
    rng: Seed,
    *,
    inputs: int,
    gates: int,
    outputs: int = 1,
    fan_in: int = 4,
    kinds: Sequence[GateKind] = VARIABLE,
) -> Circuit:
    """Draw a circuit: each gate reads random earlier wires, and the outputs are among the last wires.

    Args:
        rng: The random generator, or a seed.
        inputs: The number of inputs.
        gates: The number of gates.
        outputs: The maximum number of outputs.
        fan_in: The maximum number of inputs of a gate.
        kinds: The kinds of gates.
    """
    choose = generator(rng)
    builder = CircuitBuilder(f"random-{rng}" if isinstance(rng, int) else "random", [f"x{k}" for k in range(inputs)])
    wires = list(builder.inputs)
    for k in range(gates):
        wires.append(_random_gate(choose, builder, wires, kinds, fan_in, f"g{k}"))
    last = wires[-max(outputs, len(wires) // 2) :]
    return builder.build(choose.sample(last, min(outputs, len(last))))


def random_layered(
    rng: Seed, *, inputs: int, layers: int, width: int, fan_in: int = 4, kinds: Sequence[GateKind] = VARIABLE
) -> Circuit:
    """Draw a circuit in layers: a gate reads only from the layer before its own, and the last layer is the output.

    Args:
        rng: The random generator, or a seed.
        inputs: The number of inputs.
        layers: The number of layers.
        width: The number of gates per layer.
        fan_in: The maximum number of inputs of a gate.
        kinds: The kinds of gates; constants are left out.
    """
    choose = generator(rng)
    builder = CircuitBuilder(f"layered-{rng}" if isinstance(rng, int) else "layered", [f"x{k}" for k in range(inputs)])
    layer = list(builder.inputs)
    possible = [kind for kind in kinds if kind not in CONSTANT]
    for number in range(1, layers + 1):
        names = [f"g{number}.{k}" for k in range(width)]
        layer = [_random_gate(choose, builder, layer, possible, fan_in, name) for name in names]
    return builder.build(layer)


def _random_gate(
    choose: random.Random, builder: CircuitBuilder, wires: list[str], kinds: Sequence[GateKind], fan_in: int, name: str
) -> str:
    kind = choose.choice(kinds) if wires else GateKind.ONE
    if kind in CONSTANT:
        return builder.gate(kind, name=name)
    count = 1 if kind in UNARY else choose.randint(1, fan_in)
    at_least = choose.randint(1, count) if kind is GateKind.THR else None
    return builder.gate(kind, *(choose.choice(wires) for _ in range(count)), name=name, threshold=at_least)


def random_family(rng: Seed) -> CircuitFamily:
    """Draw a family of circuits with one or two layers of gates over all inputs or over some, thresholds included."""
    rng = generator(rng)
    kinds = ["AND", "OR", "NOT", "THR(n/2 + 1)", f"THR({rng.randint(1, 3)})"]
    lines, wires = [], ["x"]
    for level in range(rng.randint(1, 2)):
        kind = rng.choice(kinds)
        name = rng.choice(wires)
        several = f"[{name}(i) for i in 0..n-1{rng.choice(['', ' if i % 2 = 0', ' if i < 2'])}]"
        lines.append(f"g{level}(j) = {kind} {f'{name}(j)' if kind == 'NOT' else several} for j in 0..n-1")
        wires.append(f"g{level}")
    return parse("\n".join(["family random", "depth log", *lines, f"output {wires[-1]}(0)"]))
