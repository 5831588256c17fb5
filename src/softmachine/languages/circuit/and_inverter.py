"""And-inverter graphs as AIGER files describe them, and their conversion to circuits.

Literal 2v is variable v, 2v+1 its negation, 0 and 1 are the constants. Both AIGER parsers build an `AndInverterGraph`
and guarantee that every variable that is read is an input or an AND.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from softmachine.languages.circuit.circuit import Circuit, CircuitBuilder, GateKind
from softmachine.support.errors import SourceLocation


class AigerAnd(NamedTuple):
    """An AND of two literals, with the variable that it drives."""

    variable: int
    left: int
    right: int
    place: SourceLocation


class AigerOutput(NamedTuple):
    """An output literal."""

    literal: int
    place: SourceLocation


@dataclass(frozen=True)
class AndInverterGraph:
    """Contents of an AIGER file.

    Args:
        inputs: The input variables.
        ands: The gates.
        outputs: The outputs.
        symbols: Symbol table: ``i0``, ``o0`` and so on, mapped to the names of these inputs and outputs.
        place: Start of the file.
    """

    inputs: Sequence[int]
    ands: Sequence[AigerAnd]
    outputs: Sequence[AigerOutput]
    symbols: Mapping[str, str]
    place: SourceLocation

    def to_circuit(self, name: str) -> Circuit:
        """Convert the graph to a circuit. Wires without a name get a fresh one."""
        return _CircuitConverter(self, name).convert()


class _CircuitConverter:
    """Conversion of one graph to a circuit."""

    def __init__(self, graph: AndInverterGraph, name: str) -> None:
        self.graph = graph
        self.taken = set(graph.symbols.values())
        """Names that are in use or reserved."""
        inputs = [self._input_name(k) for k in range(len(graph.inputs))]
        self.builder = CircuitBuilder(name, inputs, reserved=self.taken)
        self.wires = {2 * variable: wire for variable, wire in zip(graph.inputs, inputs, strict=True)}
        """Wire of each literal that has one."""
        self.named = self._output_names(set(inputs))
        """Literals that carry the name of their output, so that no BUF gate is needed."""

    def convert(self) -> Circuit:
        """Convert: name all gates first, then connect them, because files may list gates in any order."""
        for gate in self.graph.ands:
            literal = 2 * gate.variable
            self.wires[literal] = self.named.get(literal) or self._reserve_name(f"v{gate.variable}")
        for gate in self.graph.ands:
            arguments = [self._wire(literal, gate.place) for literal in (gate.left, gate.right)]
            self.builder.gate(GateKind.AND, *arguments, name=self.wires[2 * gate.variable], place=gate.place)
        return self.builder.build(self._outputs(), self.graph.place)

    def _input_name(self, k: int) -> str:
        return self.graph.symbols.get(f"i{k}") or self._reserve_name(f"i{k}")

    def _reserve_name(self, name: str) -> str:
        """Reserve a name; primes are appended while it is in use."""
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
        """The wires of the outputs; an output whose name differs from its wire's gets a BUF gate."""
        wires = [self._wire(literal, place) for literal, place in self.graph.outputs]
        used = {*self.builder.inputs, *(gate.name for gate in self.builder.gates)}
        for k, wire in enumerate(wires):
            name = self.graph.symbols.get(f"o{k}", wire)
            if name not in used:
                used.add(name)
                wires[k] = self.builder.gate(GateKind.BUF, wire, name=name, place=self.graph.outputs[k].place)
        return wires

    def _wire(self, literal: int, place: SourceLocation) -> str:
        """The wire of a literal; gates for constants and negations are created on first use."""
        if literal not in self.wires:
            name = self.named.get(literal)
            if literal < 2:
                self.wires[literal] = self.builder.constant(literal == 1, name)
            else:
                of = self.wires[literal - 1]
                self.wires[literal] = self.builder.gate(GateKind.NOT, of, name=name, place=place)
        return self.wires[literal]
