"""Layout of a circuit in a sequence: inputs first, then every gate followed by its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from softmachine.languages.circuit import Basis, Circuit, Gate, GateKind, simplified
from softmachine.transformer.wired_features import NO_ADDRESS


@dataclass(frozen=True)
class Slot:
    """The contents of one position: an input, a gate, or an argument of a gate.

    Args:
        source: The address of the wire that an argument refers to; otherwise of the wire at this position.
        target: The address of the gate that an argument belongs to; otherwise of the wire at this position.
        gate: The gate that is computed here, or whose argument this is; None for an input.
        is_argument: Whether this is an argument.
    """

    source: int
    target: int
    gate: Gate | None = None
    is_argument: bool = False

    @property
    def own(self) -> int:
        """The address of the wire at this position; NO_ADDRESS at an argument."""
        return NO_ADDRESS if self.is_argument else self.target

    @property
    def is_gate(self) -> bool:
        """Whether a gate is computed here."""
        return self.gate is not None and not self.is_argument


@dataclass(frozen=True)
class Layout:
    """A circuit of one basis in a sequence. The wires have addresses 0, 1, …: the inputs, then the gates in order."""

    circuit: Circuit

    @staticmethod
    def of(circuit: Circuit, basis: Basis) -> Layout:
        """Lay out a circuit, simplified to a basis."""
        return Layout(simplified(circuit, basis))

    @cached_property
    def address(self) -> dict[str, int]:
        """The address of each wire."""
        return {wire: index for index, wire in enumerate(self.circuit.wires)}

    @cached_property
    def places(self) -> tuple[Slot, ...]:
        """The contents of each position."""
        found = [Slot(index, index) for index in range(self.circuit.width)]
        for gate in self.circuit.ordered:
            own = self.address[gate.name]
            found.append(Slot(own, own, gate))
            found += [Slot(self.address[wire], own, gate, is_argument=True) for wire in gate.inputs]
        return tuple(found)

    @cached_property
    def position(self) -> dict[str, int]:
        """The position of each wire."""
        wires = self.circuit.wires
        return {wires[place.own]: index for index, place in enumerate(self.places) if place.own != NO_ADDRESS}

    def table(self, entry: Callable[[Slot], int]) -> tuple[int, ...]:
        """Return a table with an entry for each position."""
        return tuple(map(entry, self.places))

    def gates(self, *kinds: GateKind) -> tuple[int, ...]:
        """Return flags of the positions of gates of these kinds."""
        return self.table(lambda place: int(place.is_gate and place.gate is not None and place.gate.kind in kinds))

    def parts(self, *kinds: GateKind) -> tuple[int, ...]:
        """Return flags of the positions of gates of these kinds and of their arguments."""
        return self.table(lambda place: int(place.gate is not None and place.gate.kind in kinds))
