"""A priority interrupt controller, the kind of circuit that the benchmark c432 of ISCAS '85 is.

Three buses of nine request lines, A before B before C, share nine enable lines. The bus of highest priority that has an
enabled request chooses the channel: the highest-numbered one that is requested there. The outputs say for each bus
whether it requests that channel and is served, and the channel's number in binary. (The function of c432 is described
in Hansen, Yalcin and Hayes, "Unveiling the ISCAS-85 Benchmarks", 1999; the gates here are our own.)
"""

from __future__ import annotations

from collections.abc import Sequence

from softmachine.languages.circuit.builder import Builder
from softmachine.languages.circuit.circuit import Circuit
from softmachine.languages.circuit.gates import GateKind

BUSES = "ABC"
WIDEST = 5
"""The fan-in of its gates."""


def interrupt_controller(channels: int = 9) -> Circuit:
    """The controller for so many channels: with 9 of them it has 36 inputs, 7 outputs and 160 gates, as c432 has.

    The inputs are E0 …, A0 …, B0 …, C0 …. The outputs are PA, PB, PC, and the number of the channel that is served,
    from 1 on, the highest bit first; all are 0 if nothing is requested.
    """
    lines = {letter: [f"{letter}{k}" for k in range(channels)] for letter in f"E{BUSES}"}
    builder = Builder(f"interrupt-controller-{channels}", [wire for letter in lines for wire in lines[letter]])
    idle = {
        bus: [builder.gate(GateKind.NAND, *pair) for pair in zip(lines[bus], lines["E"], strict=True)] for bus in BUSES
    }
    some_a, some_b = (_some_not(builder, idle[bus]) for bus in "AB")
    busy = builder.disjunction(some_a, some_b)
    asked = {bus: [builder.negation(wire) for wire in idle[bus]] for bus in BUSES}
    candidate = [
        builder.disjunction(
            asked["A"][k],
            builder.gate(GateKind.NOR, idle["B"][k], some_a),
            builder.gate(GateKind.NOR, idle["C"][k], busy),
        )
        for k in range(channels)
    ]
    passed = _passed_over(builder, candidate)
    served = [builder.negation(wire) for wire in passed]
    grants = [_granted(builder, served, asked[bus], f"P{bus}") for bus in BUSES]
    digits = [
        _some_not(builder, [wire for k, wire in enumerate(passed, start=1) if k >> digit & 1], f"Chan{digit}")
        for digit in reversed(range(channels.bit_length()))
    ]
    return builder.build([*grants, *digits])


def _passed_over(builder: Builder, candidate: Sequence[str]) -> list[str]:
    """For each channel whether it is no candidate, or a higher one is."""
    *lower, highest = candidate
    clear = builder.negation(highest)
    passed = [clear]
    for wire in reversed(lower):
        passed.append(builder.gate(GateKind.NAND, wire, clear))
        if len(passed) < len(candidate):
            clear = builder.conjunction(builder.negation(wire), clear)
    return passed[::-1]


def _granted(builder: Builder, served: Sequence[str], asked: Sequence[str], name: str) -> str:
    """Whether the channel that is served is asked for on a bus."""
    return _some_not(builder, [builder.gate(GateKind.NAND, *pair) for pair in zip(served, asked, strict=True)], name)


def _some_not(builder: Builder, wires: Sequence[str], name: str | None = None) -> str:
    """Whether some wire is 0, with gates of small fan-in."""
    groups = [wires[k : k + WIDEST] for k in range(0, len(wires), WIDEST)]
    if len(groups) == 1:
        return builder.gate(GateKind.NAND, *wires, name=name)
    return builder.disjunction(*(builder.gate(GateKind.NAND, *group) for group in groups), name=name)
