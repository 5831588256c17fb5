"""The direct connection language of a family of circuits, decided by a machine (section A.2).

It has the tuples (1ⁿ, i, j, t) such that wire i of C_n has type t and is wired to gate j: is an argument of it. A
family whose connection language is decided in logarithmic space is L-uniform. The output is wired to itself, with a
type of its own.
"""

from __future__ import annotations

from softmachine.languages.circuit import Circuit, GateKind
from softmachine.studies.uniformity.circuits import CircuitFamily
from softmachine.studies.uniformity.programs import Tapes

GIVEN, OUTPUT = 4, 5
"""The types of wires that no gate has: inputs, and the output. Those of gates are 0 to 3."""
_TYPES = {GateKind.AND: 0, GateKind.OR: 1, GateKind.NOT: 2, GateKind.THR: 3}


def connections(tape: Tapes, family: CircuitFamily) -> None:
    """Whether (1ⁿ, i, j, t) is in the connection language: prints 1 or 0."""
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
    """All (i, j, t) of a circuit: what the machine should say yes to."""
    number = {wire: index for index, wire in enumerate(circuit.wires)}
    types = [GIVEN] * circuit.width + [_TYPES[gate.kind] for gate in circuit.ordered]
    last = number[circuit.outputs[0]]
    found = {(last, last, OUTPUT)}
    for gate in circuit.ordered:
        found |= {(number[wire], number[gate.name], types[number[wire]]) for wire in gate.inputs}
    return found
