"""AIGER format for and-inverter graphs: ASCII (``.aag``) and binary (``.aig``), distinguished by the first word.

The header ``aag M I L O A`` gives the largest variable and the numbers of inputs, latches, outputs and ANDs; the lines
after it are literals: 2v is variable v, 2v+1 its negation, 0 and 1 are constants. Names follow as ``i0 name`` and
``o0 name``, then comments after a line ``c``. Latches are memory elements, so files with latches are rejected. The
writer emits ASCII.
"""

from __future__ import annotations

from softmachine.languages.circuit.aiger_ascii import read as read_ascii
from softmachine.languages.circuit.aiger_binary import read as read_binary
from softmachine.languages.circuit.circuit import Circuit
from softmachine.languages.circuit.network import Basis, Network, used
from softmachine.languages.circuit.simplify import as_network
from softmachine.languages.source import name_of

BINARY = "aig "
"""First bytes of a binary file."""


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Circuit:
    """Parse an AIGER file; the text of a binary file is its bytes decoded as Latin-1, one character per byte."""
    graph = (read_binary if text.startswith(BINARY) else read_ascii)(text, source)
    return graph.circuit(name or name_of(source) or "circuit")


def to_text(circuit: Circuit) -> str:
    """Format a circuit as ASCII AIGER: gates become two-input ANDs and negations, and lose their names."""
    network, wires = as_network(circuit, Basis.AIG)
    literal = _literals(network, [wires[wire] for wire in circuit.outputs])
    ands = [number for number in literal if network.nodes[number][0] == "and"]
    outputs = [literal[wires[wire]] for wire in circuit.outputs]
    lines = [f"aag {circuit.width + len(ands)} {circuit.width} 0 {len(outputs)} {len(ands)}"]
    lines += [str(literal[number]) for number in network.inputs]
    lines += map(str, outputs)
    for number in ands:
        one, other = sorted((literal[argument] for argument in network.nodes[number][1]), reverse=True)
        lines.append(f"{literal[number]} {one} {other}")
    lines += [f"i{k} {wire}" for k, wire in enumerate(circuit.inputs) if _nameable(wire)]
    lines += [f"o{k} {wire}" for k, wire in enumerate(circuit.outputs) if _nameable(wire)]
    return "\n".join([*lines, "c", circuit.name if _nameable(circuit.name) else "circuit"]) + "\n"


def _literals(network: Network, outputs: list[int]) -> dict[int, int]:
    """Assign a literal to each gate that the outputs depend on, and to all inputs."""
    literal = {0: 0, 1: 1, **{number: 2 * k for k, number in enumerate(network.inputs, start=1)}}
    variable = len(network.inputs)
    for number in used(network, outputs):
        kind, arguments, _ = network.nodes[number]
        if kind == "and":
            variable += 1
            literal[number] = 2 * variable
        elif kind == "not":
            literal[number] = literal[arguments[0]] + 1
    return literal


def _nameable(name: str) -> bool:
    return name.isprintable() and name == name.strip() != ""
