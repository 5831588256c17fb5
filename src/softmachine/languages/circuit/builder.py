"""A circuit in the making: gates are added one by one, and get names of their own where none is given."""

from __future__ import annotations

from collections.abc import Iterable

from softmachine.languages.circuit.circuit import Circuit
from softmachine.languages.circuit.gates import Gate, GateKind
from softmachine.support.errors import Place


class Builder:
    """Gates so far; each method adds one and returns its wire.

    Args:
        name: What to call the circuit.
        inputs: Its inputs.
        reserved: Names that must not be given to a gate that has none.
    """

    def __init__(self, name: str, inputs: Iterable[str] = (), *, reserved: Iterable[str] = ()) -> None:
        self.name = name
        self.inputs = list(inputs)
        self.gates: list[Gate] = []
        self._taken = {*self.inputs, *reserved}
        self._next: dict[str, int] = {}

    def fresh(self, stem: str = "n") -> str:
        """A name that no wire has."""
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
        place: Place | None = None,
        stem: str = "n",
    ) -> str:
        """A gate of any kind; without a name it gets one that begins with ``stem``."""
        wire = name if name is not None else self.fresh(stem)
        self._taken.add(wire)
        self.gates.append(Gate(wire, kind, inputs, threshold, place))
        return wire

    def conjunction(self, *inputs: str, name: str | None = None) -> str:
        """AND."""
        return self.gate(GateKind.AND, *inputs, name=name)

    def disjunction(self, *inputs: str, name: str | None = None) -> str:
        """OR."""
        return self.gate(GateKind.OR, *inputs, name=name)

    def negation(self, wire: str) -> str:
        """NOT."""
        return self.gate(GateKind.NOT, wire)

    def parity(self, *inputs: str, name: str | None = None) -> str:
        """XOR."""
        return self.gate(GateKind.XOR, *inputs, name=name)

    def constant(self, value: bool, name: str | None = None) -> str:
        """ONE or ZERO."""
        return self.gate(GateKind.ONE if value else GateKind.ZERO, name=name)

    def build(self, outputs: Iterable[str], place: Place | None = None) -> Circuit:
        """The circuit with these outputs."""
        return Circuit(
            name=self.name,
            inputs=tuple(self.inputs),
            gates=tuple(self.gates),
            outputs=tuple(outputs),
            place=place,
        )
