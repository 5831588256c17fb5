"""Program that decides the direct connection language of a family of circuits.

The language (section A.2 of "Revisiting Padded Transformer Expressivity") consists of the tuples (1ⁿ, i, j, t) such
that wire i of C_n has type t and is an argument of gate j. A family whose connection language is decided in logarithmic
space is L-uniform. The output is connected to itself, with a separate type.
"""

from __future__ import annotations

from softmachine.languages.circuit import Circuit, GateKind
from softmachine.studies.uniformity.circuits import CircuitFamily
from softmachine.studies.uniformity.programs import Tapes

GIVEN, OUTPUT = 4, 5
"""Types of inputs and of the output. Those of gates are 0 to 3."""
_TYPES = {GateKind.AND: 0, GateKind.OR: 1, GateKind.NOT: 2, GateKind.THR: 3}


def connections(tape: Tapes, family: CircuitFamily) -> None:
    """Print 1 if (1ⁿ, i, j, t) is in the connection language, otherwise 0."""
    n = tape.unary()
    i = tape.binary()
    j = tape.binary()
    kind = tape.binary()
    wires = family.wires(n)
    found = 0
    if i < wires and j < wires:
        if kind == OUTPUT:
            found = 1 if i + 1 == wires and j == i else 0
        elif kind == (family.kind(n, i) if i >= n else GIVEN) and j >= n:
            for k in range(family.fan_in(n, j)):
                if family.argument(n, j, k) == i:
                    found = 1
    tape.line(found)


def connection_language(circuit: Circuit) -> set[tuple[int, int, int]]:
    """Return all (i, j, t) of a circuit: the tuples that the machine accepts."""
    number = {wire: index for index, wire in enumerate(circuit.wires)}
    types = [GIVEN] * circuit.width + [_TYPES[gate.kind] for gate in circuit.ordered]
    last = number[circuit.outputs[0]]
    found = {(last, last, OUTPUT)}
    for gate in circuit.ordered:
        found |= {(number[wire], number[gate.name], types[number[wire]]) for wire in gate.inputs}
    return found
