"""Codecs of circuit evaluators: circuit and input as tokens (Definition C.1 of Svete et al. 2026)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from softmachine.languages.circuit import Basis, Builder, Circuit, Gate, GateKind, simplified
from softmachine.support.errors import ConstructionError, OutgrownError
from softmachine.theorems.circuit.tokens import OfCircuit
from softmachine.theorems.codec import Interface, Prompt, Word
from softmachine.theorems.shared.special_tokens import PAD
from softmachine.transformer import features

ZERO, ONE = "x=0", "x=1"
GATES = ("AND", "OR", "NOT")
ARGUMENT, OF = "&", "#"
THRESHOLD, AT_LEAST = "THR", "≥"
TOKENS = (ZERO, ONE, *GATES, ARGUMENT, OF, "0", "1", PAD)
WITH_THRESHOLDS = (ZERO, ONE, *GATES, THRESHOLD, AT_LEAST, ARGUMENT, OF, "0", "1", PAD)


def pointer_width(length: int) -> int:
    """Return p, the number of bits of a number in a sequence of this length."""
    return max(2, features.ceil_log2(length))


def serialised(
    circuit: Circuit, word: Sequence[str], bits: int, *, basis: Basis = Basis.AC, listed: bool = False
) -> tuple[list[str], dict[str, int]]:
    """Serialise a circuit and its input; return the tokens and the position of each wire (Definition C.1).

    With threshold gates, the type of every gate is followed by its threshold: for AND the number of arguments, for OR
    and NOT one. Gates are in topological order, or as they are listed; the evaluators accept any order.
    """
    gates = circuit.gates if listed else circuit.ordered
    wires = (*circuit.inputs, *(gate.name for gate in gates))
    number = {wire: format(index, f"0{bits}b") for index, wire in enumerate(wires)}
    tokens = [ONE if symbol == "1" else ZERO for symbol in word]
    position = {wire: index for index, wire in enumerate(circuit.inputs)}
    for gate in gates:
        position[gate.name] = len(tokens)
        tokens.append(str(gate.kind))
        if basis is Basis.TC:
            tokens += [AT_LEAST, *format(asked(gate), f"0{bits}b")]
        for wire in gate.inputs:
            tokens += [ARGUMENT, *number[wire], OF, *number[gate.name]]
    return tokens, position


def asked(gate: Gate) -> int:
    """Return the threshold of a gate; NOT is 1 if there are fewer ones."""
    return {GateKind.AND: len(gate.inputs), GateKind.THR: gate.at_least}.get(gate.kind, 1)


def fitting_length(circuit: Circuit, length: int, basis: Basis) -> int:
    """Return the smallest length, at least ``length``, into which a circuit of a basis fits with its input."""
    while (needed := token_count(circuit, pointer_width(length), basis)) > length:
        length = needed
    return length


def token_count(circuit: Circuit, bits: int, basis: Basis) -> int:
    """Return the number of tokens of a circuit."""
    arguments = sum(len(gate.inputs) for gate in circuit.gates)
    gates = circuit.size * (1 if basis is Basis.AC else bits + 2)
    return circuit.width + gates + arguments * (2 * bits + 2)


@dataclass(frozen=True)
class EvaluatorCodec(OfCircuit):
    """The circuit and its input as tokens, padded to a length; the answer at a wire's token is its value.

    The layers only depend on the length, and the number of iterations on the depth; circuit and input are in the
    prompt.
    """

    length: int = 0
    basis: ClassVar[Basis] = Basis.AC

    def __post_init__(self) -> None:
        needed = token_count(self.written, pointer_width(self.length), self.basis)
        if needed > self.length:
            raise OutgrownError(
                f"circuit {self.source.name!r} takes {needed} tokens, more than the context of {self.length}",
                context=self.smallest_length(),
            )

    def smallest_length(self) -> int:
        """Return the smallest length into which the circuit fits."""
        return fitting_length(self.written, self.length, self.basis)

    @cached_property
    def written(self) -> Circuit:
        """The serialised circuit, in the supported gates."""
        return without_constants(simplified(self.source, self.basis))

    @cached_property
    def position(self) -> dict[str, int]:
        return self._serialised("0" * self.input_length)[1]

    def prompt(self, word: Word) -> Prompt:
        tokens, _ = self._serialised(self.source.word(word))
        return Prompt((*tokens, *[PAD] * (self.length - len(tokens))), self.length)

    def _serialised(self, word: Sequence[str]) -> tuple[list[str], dict[str, int]]:
        return serialised(self.written, word, pointer_width(self.length), basis=self.basis)

    def interface(self) -> Interface:
        return replace(super().interface(), symbols=(ZERO, ONE))


@dataclass(frozen=True)
class ThresholdEvaluatorCodec(EvaluatorCodec):
    """The same with threshold gates, and the threshold of each gate."""

    basis: ClassVar[Basis] = Basis.TC


def without_constants(circuit: Circuit) -> Circuit:
    """Replace constants by gates of an input: x or not x, x and not x.

    Raises:
        ConstructionError: If the circuit has no input.
    """
    if not circuit.inputs:
        raise ConstructionError(f"circuit {circuit.name!r} has no input")
    constants = [gate for gate in circuit.gates if not gate.inputs]
    if not constants:
        return circuit
    builder = Builder(circuit.name, circuit.inputs, reserved=circuit.wires)
    builder.gates += [gate for gate in circuit.gates if gate.inputs]
    first = circuit.inputs[0]
    inverse = builder.negation(first)
    for gate in constants:
        kind = GateKind.OR if gate.kind is GateKind.ONE else GateKind.AND
        builder.gate(kind, first, inverse, name=gate.name)
    return builder.build(circuit.outputs)
