"""How circuits are written as tokens for the circuit evaluator, and how its answers are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from softmachine.codec import Interface, Prompt, Word
from softmachine.errors import ConstructionError, OutgrownError
from softmachine.languages.circuit import Basis, Builder, Circuit, GateKind, simplified
from softmachine.theorems.circuit.tokens import OfCircuit
from softmachine.theorems.shared.special_tokens import PAD
from softmachine.transformer.features import ceil_log2

ZERO, ONE = "x=0", "x=1"
GATES = ("AND", "OR", "NOT")
ARGUMENT, OF = "&", "#"
TOKENS = (ZERO, ONE, *GATES, ARGUMENT, OF, "0", "1", PAD)


def pointer_width(length: int) -> int:
    """p: how many bits a number has in a sequence of this length."""
    return max(2, ceil_log2(length))


def serialised(circuit: Circuit, word: Sequence[str], bits: int) -> tuple[list[str], dict[str, int]]:
    """A circuit of AND, OR and NOT gates and its input as tokens, and the position of each wire (Definition C.1)."""
    number = {wire: format(index, f"0{bits}b") for index, wire in enumerate(circuit.wires)}
    tokens = [ONE if symbol == "1" else ZERO for symbol in word]
    position = {wire: index for index, wire in enumerate(circuit.inputs)}
    for gate in circuit.ordered:
        position[gate.name] = len(tokens)
        tokens.append(str(gate.kind))
        for wire in gate.inputs:
            tokens += [ARGUMENT, *number[wire], OF, *number[gate.name]]
    return tokens, position


@dataclass(frozen=True)
class EvaluatorCodec(OfCircuit):
    """The circuit and its input as tokens, padded to a length; the answer at a wire's token is what it holds.

    The weights depend on the length only; circuit and input are what the transformer reads.
    """

    length: int = 0

    def __post_init__(self) -> None:
        needed = _tokens(self.written, pointer_width(self.length))
        if needed > self.length:
            raise OutgrownError(
                f"circuit {self.source.name!r} takes {needed} tokens, which are more than {self.length}",
                context=self.smallest_length(),
            )

    def smallest_length(self) -> int:
        """The smallest length into which the circuit fits."""
        length = self.length
        while _tokens(self.written, pointer_width(length)) > length:
            length = _tokens(self.written, pointer_width(length))
        return length

    @cached_property
    def written(self) -> Circuit:
        """The circuit of AND, OR and NOT gates that is written down."""
        return without_constants(simplified(self.source, Basis.AC))

    @cached_property
    def position(self) -> dict[str, int]:
        return serialised(self.written, "0" * self.input_length, pointer_width(self.length))[1]

    def prompt(self, word: Word) -> Prompt:
        tokens, _ = serialised(self.written, self.source.word(word), pointer_width(self.length))
        return Prompt((*tokens, *[PAD] * (self.length - len(tokens))), self.length)

    def interface(self) -> Interface:
        return replace(super().interface(), symbols=(ZERO, ONE))


def _tokens(circuit: Circuit, bits: int) -> int:
    """How many tokens a circuit takes."""
    arguments = sum(len(gate.inputs) for gate in circuit.gates)
    return circuit.width + circuit.size + arguments * (2 * bits + 2)


def without_constants(circuit: Circuit) -> Circuit:
    """A circuit in which constants are computed from an input: x or not x, x and not x.

    Raises:
        ConstructionError: If it has no input.
    """
    if not circuit.inputs:
        raise ConstructionError(f"circuit {circuit.name!r} has no input, so that there is nothing to evaluate")
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
