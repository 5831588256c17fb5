"""ISCAS ``.bench`` format: parser and printer.

Lines ``INPUT_NAME(a)``, ``OUTPUT_TYPE(y)`` and ``y = NAND(a, b)``; ``#`` begins a comment. The gates are AND, OR, NOT,
XOR, XNOR, NAND, NOR and BUFF (or BUF), and the constants ``y = vdd`` and ``y = gnd`` as some tools write them.
Extensions of softmachine: ``MAJ(…)``, and ``THR3(…)`` for a threshold of 3. ``DFF`` is a memory element: such a circuit
is not combinational and is rejected.
"""

from __future__ import annotations

import re

from softmachine.languages.circuit.circuit import CONSTANT_KINDS, Circuit, CircuitBuilder, Gate, GateKind
from softmachine.languages.circuit.lines import SourceLine, check_names, source_lines
from softmachine.languages.source import default_name
from softmachine.support.errors import SourceLocation

KINDS = {
    **{str(kind): kind for kind in GateKind if kind not in CONSTANT_KINDS | {GateKind.THR}},
    "BUFF": GateKind.BUF,
    "INV": GateKind.NOT,
}
CONSTANTS = {"vdd": GateKind.ONE, "gnd": GateKind.ZERO, "vcc": GateKind.ONE}
FORBIDDEN_CHARACTERS = ",=#"
SYNTAX_HINT = "lines are like INPUT(a), OUTPUT(y) and y = NAND(a, b)"


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Circuit:
    """Parse a bench file."""
    builder = CircuitBuilder(name or default_name(source) or "circuit")
    outputs: list[str] = []
    for line in source_lines(text, source, comment="#"):
        if "=" in line.text:
            _gate(builder, line)
        elif match := re.fullmatch(r"\s*(INPUT|OUTPUT)\s*\((.*)\)\s*", line.text, re.IGNORECASE):
            (builder.inputs if match[1].upper() == "INPUT" else outputs).append(_wire(match[2], line))
        else:
            raise line.error("this is neither an input, an output nor a gate", SYNTAX_HINT)
    return builder.build(outputs, SourceLocation(source))


def _gate(builder: CircuitBuilder, line: SourceLine) -> None:
    left, _, right = line.text.partition("=")
    wire = _wire(left, line)
    if right.strip().lower() in CONSTANTS:
        builder.gate(CONSTANTS[right.strip().lower()], name=wire, place=line.place)
        return
    match = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", right)
    if match is None:
        what = "look-up tables are not supported" if right.split()[:1] == ["LUT"] else "this is not a gate"
        raise line.error(what, "a gate is like y = NAND(a, b)")
    word, inputs = match[1].upper(), [_wire(part, line) for part in match[2].split(",")] if match[2].strip() else []
    threshold = re.fullmatch(r"THR_?([0-9]{1,9})", word)
    if word.startswith("DFF"):
        raise line.error(
            f"{word} is a memory element; only combinational circuits are supported",
            "cut the circuit at its memory elements: make their outputs inputs, and their inputs outputs",
        )
    if not threshold and word not in KINDS:
        raise line.error(f"there is no gate {match[1]}", f"the gates are {' '.join(KINDS)} and THR1, THR2, …")
    kind = GateKind.THR if threshold else KINDS[word]
    builder.gate(kind, *inputs, name=wire, threshold=int(threshold[1]) if threshold else None, place=line.place)


def _wire(text: str, line: SourceLine) -> str:
    """Parse the name of a wire."""
    wire = text.strip()
    if not wire or any(character.isspace() for character in wire) or "," in wire:
        raise line.error(
            f"{wire!r} is not the name of a wire" if wire else "the name of a wire is missing", SYNTAX_HINT
        )
    return wire


def to_text(circuit: Circuit) -> str:
    """Format a circuit as a bench file."""
    check_names(circuit, "bench", FORBIDDEN_CHARACTERS)
    lines = [f"# {circuit.name}"] if circuit.name.isprintable() else []
    lines += [f"INPUT({wire})" for wire in circuit.inputs]
    lines += [f"OUTPUT({wire})" for wire in circuit.outputs]
    return "\n".join([*lines, *map(_format_gate, circuit.gates)]) + "\n"


def _format_gate(gate: Gate) -> str:
    if gate.kind in CONSTANT_KINDS:
        return f"{gate.name} = {'vdd' if gate.kind is GateKind.ONE else 'gnd'}"
    words = {GateKind.BUF: "BUFF", GateKind.THR: f"THR{max(gate.effective_threshold, 0)}"}
    return f"{gate.name} = {words.get(gate.kind, gate.kind)}({', '.join(gate.inputs)})"
