"""Codecs of circuits: the input followed by padding; the answer at a wire's position is its value.

Layout of a circuit in a sequence: inputs first, then every gate followed by its arguments.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from softmachine.languages.circuit import Basis, Circuit, Gate, GateKind, evaluate_wires, simplified
from softmachine.languages.run_view import Scene, Stretch, Wires
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.shared.recogniser_codec import PAD
from softmachine.transformer.table_features import NO_ADDRESS


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


class Addresses(StrEnum):
    """How wires are addressed, which determines the supported gates."""

    BINARY = "binary"
    """Signed bits; AND, OR and NOT gates."""
    UNIT = "unit"
    """Unit vectors; threshold gates as well."""

    @property
    def basis(self) -> Basis:
        """The supported gates."""
        return Basis.AC if self is Addresses.BINARY else Basis.TC


@dataclass(frozen=True)
class OfCircuit(AnsweringCodec[Circuit]):
    """Base class of the codecs of circuits: the answer at a wire's position is its value."""

    @property
    @abstractmethod
    def written(self) -> Circuit:
        """The circuit that is computed, in the supported gates."""

    @property
    @abstractmethod
    def position(self) -> Mapping[str, int]:
        """The position of each of its wires."""

    @property
    def input_length(self) -> int:
        return self.source.width

    @property
    def output_positions(self) -> list[int]:
        """The positions of the outputs."""
        return [self.position[wire] for wire in self.written.outputs]

    def interface(self) -> Interface:
        """Describe the inputs and outputs: a bit per input wire; a single output is a verdict."""
        positions = self.output_positions
        return Interface(
            symbols=self.alphabet,
            meaning="At a wire it is whether the value of the wire is 1; elsewhere it is undefined.",
            inputs=self.source.inputs,
            outputs=tuple(zip(self.source.outputs, positions, strict=True)),
            verdict=positions[0] if len(positions) == 1 else None,
        )

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """Yield the value of every wire; None at other positions."""
        held = wire_values(self.written, self.source.word(word))
        at = {position: wire for wire, position in self.position.items()}
        for position in range(len(self.prompt(word).tokens)):
            yield held[at[position]] if position in at else None

    @property
    def lines(self) -> Sequence[str]:
        """The gates."""
        return tuple(map(str, self.written.ordered))

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """Return the circuit with the values of its wires, and at every gate's position its line."""
        written, focus = self.written, self.output_positions[0]
        return wires_scene(written, self.source.word(word), self.position, self.lines, focus, shown)

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """Parse the outputs; a circuit with one output accepts if it is 1."""
        bits = [said[position] == "true" for position in self.output_positions]
        verdict = "halt" if len(bits) != 1 else "accept" if bits[0] else "reject"
        text = "".join("1" if bit else "0" for bit in bits)
        return Outcome(verdict=verdict, output=text, word=self.source.word(word))


@dataclass(frozen=True)
class CircuitCodec(OfCircuit):
    """Codec of a circuit in position embeddings: the input, then padding for every gate and argument."""

    addresses: Addresses = Addresses.BINARY

    @cached_property
    def layout(self) -> Layout:
        """The layout of the wires."""
        return Layout.of(self.source, self.addresses.basis)

    @property
    def written(self) -> Circuit:
        return self.layout.circuit

    @property
    def position(self) -> Mapping[str, int]:
        return self.layout.position

    def prompt(self, word: Word) -> Prompt:
        symbols = self.source.word(word)
        return Prompt((*symbols, *[PAD] * (len(self.layout.places) - self.input_length)), self.input_length)


def wires_scene(
    circuit: Circuit,
    word: Sequence[str],
    position: Mapping[str, int],
    lines: Sequence[str],
    focus: int,
    shown: Stretch,
) -> Scene:
    """Return the view of a circuit with the values and positions of its wires; its lines are its gates in order."""
    levels, held = circuit.level_of, wire_values(circuit, word)
    number = {wire: index for index, wire in enumerate(circuit.wires)}
    gates = {gate.name: gate for gate in circuit.gates}
    at = {place: wire for wire, place in position.items()}
    positions = [at.get(place) for place in range(shown.first, shown.first + len(shown.tokens))]
    wires = Wires(
        wires=[_wire(wire, gates.get(wire), levels[wire], held[wire] == "true", number) for wire in circuit.wires],
        outputs=[number[wire] for wire in circuit.outputs],
        positions=[-1 if wire is None else number[wire] for wire in positions],
    )
    line = {gate.name: index for index, gate in enumerate(circuit.ordered)}
    active = [None if wire is None else line.get(wire) for wire in positions]
    return Scene(lines, active, picture=wires, focus=focus)


def _wire(
    name: str, gate: Gate | None, level: int, held: bool, number: Mapping[str, int]
) -> tuple[str, str, int, bool, Sequence[int]]:
    """Return a wire in the format of pictures."""
    inputs = () if gate is None else gate.inputs
    return name, "input" if gate is None else str(gate.kind), level, held, [number[wire] for wire in inputs]


def wire_values(circuit: Circuit, word: Sequence[str]) -> dict[str, str]:
    """Return the value of every wire for an input, as the answers "true" and "false"."""
    import numpy as np

    inputs = np.array([[int(symbol == "1")] for symbol in word], dtype=np.uint64).reshape(len(word), 1)
    held = evaluate_wires(circuit, inputs, circuit.wires)
    return {wire: "true" if int(bits[0]) & 1 else "false" for wire, bits in zip(circuit.wires, held, strict=True)}
