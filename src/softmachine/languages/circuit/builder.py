"""Circuit builder: adds gates one by one and names those that have no name."""

from __future__ import annotations

from collections.abc import Iterable

from softmachine.languages.circuit.circuit import Circuit, Gate, GateKind
from softmachine.support.errors import SourceLocation


class CircuitBuilder:
    """Mutable list of gates; each method adds one and returns its wire.

    Args:
        name: Name of the circuit.
        inputs: Input wires.
        reserved: Names that are not given to unnamed gates.
    """

    def __init__(self, name: str, inputs: Iterable[str] = (), *, reserved: Iterable[str] = ()) -> None:
        self.name = name
        self.inputs = list(inputs)
        self.gates: list[Gate] = []
        self._taken = {*self.inputs, *reserved}
        self._next: dict[str, int] = {}

    def fresh_name(self, stem: str = "n") -> str:
        """Return a name that no wire has."""
        number = self._next.get(stem, 0)
        while f"{stem}{number}" in self._taken:
            number += 1
        self._next[stem] = number + 1
        return f"{stem}{number}"

    def gate(
        self,
        kind: GateKind,
        *inputs: str,
        name: str | None = None,
        threshold: int | None = None,
        place: SourceLocation | None = None,
        stem: str = "n",
    ) -> str:
        """Add a gate of any kind; without a name it gets one that begins with ``stem``."""
        wire = name if name is not None else self.fresh_name(stem)
        self._taken.add(wire)
        self.gates.append(Gate(wire, kind, inputs, threshold, place))
        return wire

    def conjunction(self, *inputs: str, name: str | None = None) -> str:
        """Add an AND gate."""
        return self.gate(GateKind.AND, *inputs, name=name)

    def disjunction(self, *inputs: str, name: str | None = None) -> str:
        """Add an OR gate."""
        return self.gate(GateKind.OR, *inputs, name=name)

    def negation(self, wire: str) -> str:
        """Add a NOT gate."""
        return self.gate(GateKind.NOT, wire)

    def parity(self, *inputs: str, name: str | None = None) -> str:
        """Add an XOR gate."""
        return self.gate(GateKind.XOR, *inputs, name=name)

    def constant(self, value: bool, name: str | None = None) -> str:
        """Add a constant, ONE or ZERO."""
        return self.gate(GateKind.ONE if value else GateKind.ZERO, name=name)

    def build(self, outputs: Iterable[str], place: SourceLocation | None = None) -> Circuit:
        """Return the circuit with these outputs."""
        return Circuit(
            name=self.name,
            inputs=tuple(self.inputs),
            gates=tuple(self.gates),
            outputs=tuple(outputs),
            place=place,
        )
