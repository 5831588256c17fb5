"""Codecs of circuits: the input followed by padding; the answer at a wire's position is its value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from softmachine.languages.circuit import Basis, Circuit, Gate, evaluate_wires
from softmachine.languages.scene import Scene, Stretch, Wires
from softmachine.theorems.circuit.layout import Layout
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.shared.special_tokens import PAD


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
