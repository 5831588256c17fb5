"""And-inverter graphs, as files of AIGER describe them, on their way to a circuit.

Literal 2v is variable v, 2v+1 its negation, 0 and 1 are the constants. The readers of both formats of AIGER make one of
these; whoever makes one has seen to it that every variable which is read is an input or an AND.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from softmachine.languages.circuit.builder import Builder
from softmachine.languages.circuit.circuit import Circuit
from softmachine.languages.circuit.gates import GateKind
from softmachine.support.errors import Place


class And(NamedTuple):
    """An AND of two literals, and the variable that it drives."""

    variable: int
    one: int
    other: int
    place: Place


class Output(NamedTuple):
    """A literal that is an output."""

    literal: int
    place: Place


@dataclass(frozen=True)
class AndInverterGraph:
    """What a file says.

    Args:
        inputs: The variables that are inputs.
        ands: The gates.
        outputs: The outputs.
        symbols: The names of inputs and outputs that have one: ``i0``, ``o0`` and so on, and the name.
        place: Where the file begins.
    """

    inputs: Sequence[int]
    ands: Sequence[And]
    outputs: Sequence[Output]
    symbols: Mapping[str, str]
    place: Place

    def circuit(self, name: str) -> Circuit:
        """The circuit. Wires without a name get one that no other has."""
        return _Maker(self, name).circuit()


class _Maker:
    """A graph on its way to a circuit."""

    def __init__(self, graph: AndInverterGraph, name: str) -> None:
        self.graph = graph
        self.taken = set(graph.symbols.values())
        """The names that no wire may be given."""
        inputs = [self._input_name(k) for k in range(len(graph.inputs))]
        self.builder = Builder(name, inputs, reserved=self.taken)
        self.wires = {2 * variable: wire for variable, wire in zip(graph.inputs, inputs, strict=True)}
        """The wire of each literal that has one."""
        self.named = self._output_names(set(inputs))
        """The literals that are called as the output is that they are, so that no gate passes them on."""

    def circuit(self) -> Circuit:
        """All of it: gates first get their names, then their arguments, because files may list them in any order."""
        for gate in self.graph.ands:
            literal = 2 * gate.variable
            self.wires[literal] = self.named.get(literal) or self._unused(f"v{gate.variable}")
        for gate in self.graph.ands:
            arguments = [self._wire(literal, gate.place) for literal in (gate.one, gate.other)]
            self.builder.gate(GateKind.AND, *arguments, name=self.wires[2 * gate.variable], place=gate.place)
        return self.builder.build(self._outputs(), self.graph.place)

    def _input_name(self, k: int) -> str:
        return self.graph.symbols.get(f"i{k}") or self._unused(f"i{k}")

    def _unused(self, name: str) -> str:
        """The name, with primes if another wire has it."""
        while name in self.taken:
            name += "'"
        self.taken.add(name)
        return name

    def _output_names(self, inputs: set[str]) -> dict[int, str]:
        named: dict[int, str] = {}
        for k, (literal, _) in enumerate(self.graph.outputs):
            name = self.graph.symbols.get(f"o{k}")
            if name and name not in inputs and literal not in named and literal not in self.wires:
                named[literal] = name
                inputs.add(name)
        return named

    def _outputs(self) -> list[str]:
        """The wires of the outputs; one that has a name of its own and is another wire is passed on by a gate."""
        wires = [self._wire(literal, place) for literal, place in self.graph.outputs]
        used = {*self.builder.inputs, *(gate.name for gate in self.builder.gates)}
        for k, wire in enumerate(wires):
            wanted = self.graph.symbols.get(f"o{k}", wire)
            if wanted not in used:
                used.add(wanted)
                wires[k] = self.builder.gate(GateKind.BUF, wire, name=wanted, place=self.graph.outputs[k].place)
        return wires

    def _wire(self, literal: int, place: Place) -> str:
        """The wire of a literal; constants and negations get a gate when they are first read."""
        if literal not in self.wires:
            name = self.named.get(literal)
            if literal < 2:
                self.wires[literal] = self.builder.constant(literal == 1, name)
            else:
                of = self.wires[literal - 1]
                self.wires[literal] = self.builder.gate(GateKind.NOT, of, name=name, place=place)
        return self.wires[literal]
