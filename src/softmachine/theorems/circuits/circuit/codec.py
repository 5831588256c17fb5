"""Codecs of circuits: the input followed by padding; the answer at a wire's position is its value.

In the layout of a circuit, inputs come first, then every gate followed by its arguments.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from softmachine.languages.circuit import Basis, Circuit, Gate, GateKind, evaluate_wires, simplify
from softmachine.languages.run_view import RunView, TokenWindow, WiresPicture
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.shared.recogniser_codec import PAD_TOKEN
from softmachine.transformer.table_features import NO_ADDRESS


@dataclass(frozen=True)
class PositionContent:
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
    def own_address(self) -> int:
        """The address of the wire at this position; NO_ADDRESS at an argument."""
        return NO_ADDRESS if self.is_argument else self.target

    @property
    def is_gate(self) -> bool:
        """Whether a gate is computed here."""
        return self.gate is not None and not self.is_argument


@dataclass(frozen=True)
class CircuitLayout:
    """A circuit of one basis in a sequence. The wires have addresses 0, 1, …: the inputs, then the gates in order."""

    circuit: Circuit

    @staticmethod
    def of_circuit(circuit: Circuit, basis: Basis) -> CircuitLayout:
        """Lay out a circuit, simplified to a basis."""
        return CircuitLayout(simplify(circuit, basis))

    @cached_property
    def wire_address(self) -> dict[str, int]:
        """The address of each wire."""
        return {wire: index for index, wire in enumerate(self.circuit.wires)}

    @cached_property
    def contents(self) -> tuple[PositionContent, ...]:
        """The contents of each position."""
        found = [PositionContent(index, index) for index in range(self.circuit.width)]
        for gate in self.circuit.sorted_gates:
            own = self.wire_address[gate.name]
            found.append(PositionContent(own, own, gate))
            found += [PositionContent(self.wire_address[wire], own, gate, is_argument=True) for wire in gate.inputs]
        return tuple(found)

    @cached_property
    def wire_position(self) -> dict[str, int]:
        """The position of each wire."""
        wires = self.circuit.wires
        return {
            wires[place.own_address]: index
            for index, place in enumerate(self.contents)
            if place.own_address != NO_ADDRESS
        }

    def table(self, entry: Callable[[PositionContent], int]) -> tuple[int, ...]:
        """Return a table with an entry for each position."""
        return tuple(map(entry, self.contents))

    def gates(self, *kinds: GateKind) -> tuple[int, ...]:
        """Return flags of the positions of gates of these kinds."""
        return self.table(lambda place: int(place.is_gate and place.gate is not None and place.gate.kind in kinds))

    def gates_and_arguments(self, *kinds: GateKind) -> tuple[int, ...]:
        """Return flags of the positions of gates of these kinds and of their arguments."""
        return self.table(lambda place: int(place.gate is not None and place.gate.kind in kinds))


class AddressEncoding(StrEnum):
    """How wires are addressed, which determines the supported gates."""

    BINARY = "binary"
    """Signed bits; AND, OR and NOT gates."""
    UNIT = "unit"
    """Unit vectors; threshold gates as well."""

    @property
    def basis(self) -> Basis:
        """The supported gates."""
        return Basis.AC if self is AddressEncoding.BINARY else Basis.TC


@dataclass(frozen=True)
class CircuitCodecBase(AnsweringCodec[Circuit]):
    """Base class of the codecs of circuits: the answer at a wire's position is its value."""

    @property
    @abstractmethod
    def computed_circuit(self) -> Circuit:
        """The circuit that is computed, in the supported gates."""

    @property
    @abstractmethod
    def wire_positions(self) -> Mapping[str, int]:
        """The position of each of its wires."""

    @property
    def input_length(self) -> int:
        return self.source.width

    @property
    def output_positions(self) -> list[int]:
        """The positions of the outputs."""
        return [self.wire_positions[wire] for wire in self.computed_circuit.outputs]

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
        held = wire_values(self.computed_circuit, self.source.word(word))
        at = {position: wire for wire, position in self.wire_positions.items()}
        for position in range(len(self.prompt(word).tokens)):
            yield held[at[position]] if position in at else None

    @property
    def source_lines(self) -> Sequence[str]:
        """The gates."""
        return tuple(map(str, self.computed_circuit.sorted_gates))

    def describe_output(self, output: str, position: int) -> str:
        """Describe the value of the wire at a position."""
        wires = {place: wire for wire, place in self.wire_positions.items()}
        return f"wire {wires[position]} is {output}" if position in wires else output

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """Return the circuit with the values of its wires, and at every gate's position its line."""
        written, focus = self.computed_circuit, self.output_positions[0]
        return wires_view(written, self.source.word(word), self.wire_positions, self.source_lines, focus, window)

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """Parse the outputs; a circuit with one output accepts if it is 1."""
        bits = [emitted[position] == "true" for position in self.output_positions]
        verdict = "halt" if len(bits) != 1 else "accept" if bits[0] else "reject"
        text = "".join("1" if bit else "0" for bit in bits)
        return Outcome(verdict=verdict, output=text, word=self.source.word(word))


@dataclass(frozen=True)
class CircuitCodec(CircuitCodecBase):
    """Codec of a circuit in position embeddings: the input, then padding for every gate and argument."""

    addresses: AddressEncoding = AddressEncoding.BINARY

    @cached_property
    def layout(self) -> CircuitLayout:
        """The layout of the wires."""
        return CircuitLayout.of_circuit(self.source, self.addresses.basis)

    @property
    def computed_circuit(self) -> Circuit:
        return self.layout.circuit

    @property
    def wire_positions(self) -> Mapping[str, int]:
        return self.layout.wire_position

    def prompt(self, word: Word) -> Prompt:
        symbols = self.source.word(word)
        return Prompt((*symbols, *[PAD_TOKEN] * (len(self.layout.contents) - self.input_length)), self.input_length)


def wires_view(
    circuit: Circuit,
    word: Sequence[str],
    position: Mapping[str, int],
    lines: Sequence[str],
    focus: int,
    window: TokenWindow,
) -> RunView:
    """Return the view of a circuit with the values and positions of its wires; its lines are its gates in order."""
    levels, held = circuit.levels, wire_values(circuit, word)
    number = {wire: index for index, wire in enumerate(circuit.wires)}
    gates = {gate.name: gate for gate in circuit.gates}
    at = {place: wire for wire, place in position.items()}
    positions = [at.get(place) for place in range(window.first, window.first + len(window.tokens))]
    wires = WiresPicture(
        wires=[
            _picture_of_wire(wire, gates.get(wire), levels[wire], held[wire] == "true", number)
            for wire in circuit.wires
        ],
        outputs=[number[wire] for wire in circuit.outputs],
        positions=[-1 if wire is None else number[wire] for wire in positions],
    )
    line = {gate.name: index for index, gate in enumerate(circuit.sorted_gates)}
    active = [None if wire is None else line.get(wire) for wire in positions]
    return RunView(lines, active, picture=wires, focus_position=focus)


def _picture_of_wire(
    name: str, gate: Gate | None, level: int, value: bool, number: Mapping[str, int]
) -> tuple[str, str, int, bool, Sequence[int]]:
    """Return a wire in the format of pictures."""
    inputs = () if gate is None else gate.inputs
    return name, "input" if gate is None else str(gate.kind), level, value, [number[wire] for wire in inputs]


def wire_values(circuit: Circuit, word: Sequence[str]) -> dict[str, str]:
    """Return the value of every wire for an input, as the answers "true" and "false"."""
    import numpy as np

    inputs = np.array([[int(symbol == "1")] for symbol in word], dtype=np.uint64).reshape(len(word), 1)
    held = evaluate_wires(circuit, inputs, circuit.wires)
    return {wire: "true" if int(bits[0]) & 1 else "false" for wire, bits in zip(circuit.wires, held, strict=True)}
