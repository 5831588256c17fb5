"""Bristol fashion, the circuit format of multi-party computation: parser and printer.

The header gives the numbers of gates and wires, then the number of input values and the bits of each, then the same for
the output values. Each line after it is a gate: the numbers of wires it reads and drives, these wires, and AND, XOR,
INV, EQ (a constant), EQW (a copy) or MAND (several ANDs at once). Inputs are the first wires, outputs the last ones.
"""

from __future__ import annotations

from softmachine.languages.circuit.circuit import Circuit, CircuitBuilder, GateKind
from softmachine.languages.circuit.lines import SourceLine, source_lines
from softmachine.languages.circuit.structural_hashing import FALSE, TRUE, Basis, reachable_nodes, to_network
from softmachine.languages.source import default_name
from softmachine.support.errors import SourceError, SourceLocation

KINDS = {"AND": GateKind.AND, "XOR": GateKind.XOR, "INV": GateKind.NOT, "NOT": GateKind.NOT, "EQW": GateKind.BUF}
NAMES = {"and": "AND", "xor": "XOR", "not": "INV"}
HEADER_HINT = (
    "first the numbers of gates and wires, then the number of inputs and the bits of each, then those of the outputs"
)


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Circuit:
    """Parse a Bristol-fashion file."""
    lines = list(source_lines(text, source, comment="#"))
    if len(lines) < 3:
        raise SourceError("the file has no header of three lines", place=SourceLocation(source), hint=HEADER_HINT)
    first = lines[0]
    gates, wires = first.parse_number(0, "the number of gates"), first.parse_number(1, "the number of wires")
    if len(first.fields) != 2:
        raise first.error("the first line has two numbers", HEADER_HINT)
    inputs, outputs = _parse_sizes(lines[1], "input"), _parse_sizes(lines[2], "output")
    if inputs > wires or outputs > wires:
        raise first.error(f"there are {wires} wires, but {inputs} bits of input and {outputs} of output", field=1)
    if len(lines) - 3 != gates:
        raise first.error(f"the header declares {gates} gates, but {len(lines) - 3} follow", field=0)
    builder = CircuitBuilder(name or default_name(source) or "circuit", [f"w{k}" for k in range(inputs)])
    for line in lines[3:]:
        _gate(builder, line, wires)
    return builder.build([f"w{k}" for k in range(wires - outputs, wires)], first.place)


def _parse_sizes(line: SourceLine, what: str) -> int:
    """Parse a line of value sizes; returns the total number of bits."""
    count = line.parse_number(0, f"the number of {what} values")
    if len(line.fields) != count + 1:
        raise line.error(
            f"the line declares {count} {what} values, but has {len(line.fields) - 1} numbers after that",
            "this is Bristol fashion; the older Bristol format has another header",
        )
    return sum(line.parse_number(k + 1, f"the bits of {what} {k}") for k in range(count))


def _gate(builder: CircuitBuilder, line: SourceLine, wires: int) -> None:
    reads, drives = (
        line.parse_number(0, "how many wires a gate reads"),
        line.parse_number(1, "how many wires a gate drives"),
    )
    word = line.fields[-1].upper()
    if len(line.fields) != 3 + reads + drives:
        raise line.error(
            f"the gate reads {reads} and drives {drives} wires, so the line should have {3 + reads + drives} fields",
            "a gate is like: 2 1 0 1 2 XOR",
        )
    most = wires - 1
    if word == "EQ" and reads == drives == 1:
        value = line.parse_number(2, "a constant", maximum=1)
        builder.constant(value == 1, f"w{line.parse_number(3, 'a wire', maximum=most)}")
        return
    numbers = [line.parse_number(2 + k, "a wire", maximum=most) for k in range(reads + drives)]
    names = [f"w{number}" for number in numbers]
    if word == "MAND" and reads == 2 * drives:
        for k, wire in enumerate(names[reads:]):
            builder.gate(GateKind.AND, names[k], names[drives + k], name=wire, place=line.place)
        return
    if word not in KINDS or drives != 1:
        raise line.error(
            f"there is no gate {word[:40]} that drives {drives} wires", f"the gates are {', '.join(KINDS)}"
        )
    if reads != (1 if KINDS[word] in (GateKind.NOT, GateKind.BUF) else 2):
        raise line.error(f"{word} does not read {reads} wires", field=0)
    builder.gate(KINDS[word], *names[:reads], name=names[-1], place=line.place)


def to_text(circuit: Circuit) -> str:
    """Format a circuit with one input value and one output value; the names of wires are lost."""
    network, wires = to_network(circuit, Basis.XAG)
    outputs = [wires[wire] for wire in circuit.outputs]
    number = {gate: k for k, gate in enumerate(network.inputs)}
    gates = []
    for gate in reachable_nodes(network, outputs):
        if gate in number:
            continue
        kind, arguments, _ = network.nodes[gate]
        number[gate] = len(number)
        if gate in (FALSE, TRUE):
            gates.append(f"1 1 {gate} {number[gate]} EQ")
        else:
            read = " ".join(str(number[argument]) for argument in arguments)
            gates.append(f"{len(arguments)} 1 {read} {number[gate]} {NAMES[kind]}")
    total = len(number)
    gates += [f"1 1 {number[gate]} {total + k} EQW" for k, gate in enumerate(outputs)]
    header = [f"{len(gates)} {total + len(outputs)}", f"1 {circuit.width}", f"1 {len(outputs)}", ""]
    return "\n".join([*header, *gates]) + "\n"
