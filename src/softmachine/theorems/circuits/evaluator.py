"""Circuit evaluation by one looped transformer that reads any circuit and its input as tokens (Lemma C.3).

All numbers refer to "Revisiting Padded Transformer Expressivity" (Svete et al. 2026). A circuit of AND, OR and NOT
gates is serialised as in Definition C.1: first the inputs, each as a token with its bit; then every gate, as its type
and for each argument ``&`` with the argument's number and ``#`` with the gate's own number, both in p bits, most
significant first. The inputs and then the gates are numbered from 0. The corrected Example C.1, (x₁ ∧ x₂) ∨ x₃, with p
= 3:

    x x x AND &000#011 &001#011 OR &011#100 &010#100

(The paper's own example points to 010 for AND, which is x₃.) Padding fills the sequence up to its length T. The layers
only depend on T, by p = ⌈log₂ T⌉; the depth L of the circuit determines the number of iterations.

In p iterations every bit of a number copies the prefix of the number and its index in it from its predecessor, and
appends itself (Lemma B.7, the transformer that the lemma calls "read"). Then every ``&`` fetches its two numbers from
fixed distances ahead, and every gate its own. L iterations of two layers follow as for binary pointers (``circuit``;
the lemma's "step"): arguments fetch the bits of wires, gates an argument that determines them. The precision is F_2.

Needs: the position as signed bits, and those of four neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

from softmachine.ir import Program, Signal, constant, loop, named, recogniser, relu, stack
from softmachine.ir.gadgets.binary_addresses import (
    address_scores,
    address_weighting,
    binary_address_features,
    fetch_by_scores,
    round_to_bit,
    round_to_bit_doubled,
)
from softmachine.ir.primitives import token
from softmachine.ir.ranges import BIT, SIGN
from softmachine.languages.circuit import Basis, Circuit, CircuitBuilder, Gate, GateKind, simplify
from softmachine.support.errors import ConstructionError, ContextTooShortError
from softmachine.theorems.circuits.circuit.codec import CircuitCodecBase
from softmachine.theorems.circuits.circuit.theorem import evaluate_gates_once
from softmachine.theorems.codec import Interface, Prompt, Word
from softmachine.theorems.cost import Cost, Expression, ceil_log2, define, largest, parameter
from softmachine.theorems.shared.recogniser_codec import PAD_TOKEN
from softmachine.theorems.theorem import Requirements, Theorem
from softmachine.transformer import features
from softmachine.transformer.attention import Weighting

ZERO, ONE = "x=0", "x=1"
GATES = ("AND", "OR", "NOT")
ARGUMENT_MARK, GATE_MARK = "&", "#"
THRESHOLD, THRESHOLD_MARK = "THR", "≥"
TOKENS = (ZERO, ONE, *GATES, ARGUMENT_MARK, GATE_MARK, "0", "1", PAD_TOKEN)
THRESHOLD_TOKENS = (ZERO, ONE, *GATES, THRESHOLD, THRESHOLD_MARK, ARGUMENT_MARK, GATE_MARK, "0", "1", PAD_TOKEN)


def pointer_width(length: int) -> int:
    """Return p, the number of bits of a number in a sequence of this length."""
    return max(2, features.ceil_log2(length))


def serialise(
    circuit: Circuit, word: Sequence[str], bits: int, *, basis: Basis = Basis.AC, order: bool = False
) -> tuple[list[str], dict[str, int]]:
    """Serialise a circuit and its input; return the tokens and the position of each wire (Definition C.1).

    With threshold gates, the type of every gate is followed by its threshold: for AND the number of arguments, for OR
    and NOT one. Gates are in topological order, or as they are listed; the evaluators accept any order.
    """
    gates = circuit.gates if order else circuit.sorted_gates
    wires = (*circuit.inputs, *(gate.name for gate in gates))
    number = {wire: format(index, f"0{bits}b") for index, wire in enumerate(wires)}
    tokens = [ONE if symbol == "1" else ZERO for symbol in word]
    position = {wire: index for index, wire in enumerate(circuit.inputs)}
    for gate in gates:
        position[gate.name] = len(tokens)
        tokens.append(str(gate.kind))
        if basis is Basis.TC:
            tokens += [THRESHOLD_MARK, *format(gate_threshold(gate), f"0{bits}b")]
        for wire in gate.inputs:
            tokens += [ARGUMENT_MARK, *number[wire], GATE_MARK, *number[gate.name]]
    return tokens, position


def gate_threshold(gate: Gate) -> int:
    """Return the threshold of a gate; NOT is 1 if there are fewer ones."""
    return {GateKind.AND: len(gate.inputs), GateKind.THR: gate.effective_threshold}.get(gate.kind, 1)


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
class EvaluatorCodec(CircuitCodecBase):
    """The circuit and its input as tokens, padded to a length; the answer at a wire's token is its value.

    The layers only depend on the length, and the number of iterations on the depth; circuit and input are in the
    prompt.
    """

    length: int = 0
    basis: ClassVar[Basis] = Basis.AC

    def __post_init__(self) -> None:
        needed = token_count(self.computed_circuit, pointer_width(self.length), self.basis)
        if needed > self.length:
            raise ContextTooShortError(
                f"circuit {self.source.name!r} takes {needed} tokens, more than the context of {self.length}",
                context=self.smallest_length(),
            )

    def smallest_length(self) -> int:
        """Return the smallest length into which the circuit fits."""
        return fitting_length(self.computed_circuit, self.length, self.basis)

    @cached_property
    def computed_circuit(self) -> Circuit:
        """The serialised circuit, in the supported gates."""
        return without_constants(simplify(self.source, self.basis))

    @cached_property
    def wire_positions(self) -> dict[str, int]:
        return self._serialise("0" * self.input_length)[1]

    def prompt(self, word: Word) -> Prompt:
        tokens, _ = self._serialise(self.source.word(word))
        return Prompt((*tokens, *[PAD_TOKEN] * (self.length - len(tokens))), self.length)

    def _serialise(self, word: Sequence[str]) -> tuple[list[str], dict[str, int]]:
        return serialise(self.computed_circuit, word, pointer_width(self.length), basis=self.basis)

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
    builder = CircuitBuilder(circuit.name, circuit.inputs, reserved=circuit.wires)
    builder.gates += [gate for gate in circuit.gates if gate.inputs]
    first = circuit.inputs[0]
    inverse = builder.negation(first)
    for gate in constants:
        kind = GateKind.OR if gate.kind is GateKind.ONE else GateKind.AND
        builder.gate(kind, first, inverse, name=gate.name)
    return builder.build(circuit.outputs)


TokenTest = Callable[..., Signal]
"""Maps token names to a bit: whether the token at this position is one of them."""


def signals(length: int, iterations: int, *, soft: bool) -> Program:
    """Build the evaluator of circuits of a length and depth; it outputs the value of every input and gate."""
    value = wire_values_after(is_token, length, iterations, soft=soft)
    return recogniser(f"circuit-evaluator-{length}", TOKENS, value, positions=length)


def is_token(*tokens: str, vocabulary: Sequence[str] = TOKENS) -> Signal:
    """Whether the token is one of ``tokens``."""
    return token(f"is {' or '.join(tokens)}", {name: (int(name in tokens),) for name in vocabulary})


def wire_values_after(is_token: TokenTest, length: int, iterations: int, *, soft: bool) -> Signal:
    """The value of every wire of the circuit after ``iterations`` iterations."""
    weighting = address_weighting(soft, length)
    # Step 1. The number that ends at each last bit.
    numbers = _parse_numbers(is_token, length, weighting)
    # Step 2. The addresses of the arguments of gates and of their wires.
    turn = _evaluate_once(is_token, numbers, length, weighting)
    # Step 3. Gates are evaluated, iteration by iteration.
    value = named("value", is_token(ONE))
    return loop("layers of gates", iterations=iterations, initial=value, body=turn) if iterations else value


def _neighbour(name: str, distance: int, length: int) -> Signal:
    """The address of the position at a distance, clamped to the sequence."""
    return binary_address_features(
        name, pointer_width(length), [min(max(i + distance, 0), length - 1) for i in range(length)]
    )


def _parse_numbers(is_token: TokenTest, length: int, weighting: Weighting) -> Signal:
    """The number at the last bit of every number, most significant bit first (Lemma B.7).

    The loop carries the index of a bit in its number (one-hot) and the prefix of the number; after iteration t, they
    are correct at the t-th bits.
    """
    bits, is_bit, is_one = pointer_width(length), is_token("0", "1"), is_token("1")
    before = [address_scores(_neighbour("i - 1", -1, length), _neighbour("i", 0, length))]
    begins = fetch_by_scores("mark before", before, is_token(ARGUMENT_MARK, GATE_MARK), weighting)

    def turn(state: Signal) -> Signal:
        found = fetch_by_scores("predecessor", before, state, weighting)
        place = stack(begins, found[: bits - 1])
        places = [round_to_bit(f"is bit {k}", place[k], is_bit) for k in range(bits)]
        digits = [
            round_to_bit(f"digit {k}", found[bits + k], is_bit) + round_to_bit(f"own digit {k}", place[k], is_one)
            for k in range(bits)
        ]
        return stack(*places, *digits).with_range(BIT)

    nothing = constant(0, 2 * bits).with_range(BIT)
    return loop("reading numbers", iterations=bits, initial=nothing, body=turn)[bits:]


def _evaluate_once(
    is_token: TokenTest, numbers: Signal, length: int, weighting: Weighting
) -> Callable[[Signal], Signal]:
    """Return one iteration of gates, with pointers as signed bits.

    Inputs and gates have an own address, arguments have none. Arguments read their wire, inputs and gates themselves.
    Gates find their arguments by their own address: the key of an argument is its gate, that of an input is itself.
    """
    bits, here = pointer_width(length), _neighbour("i", 0, length)
    is_input, is_gate, is_argument, others = (
        is_token(ZERO, ONE),
        is_token(*GATES),
        is_token(ARGUMENT_MARK),
        is_token("0", "1", GATE_MARK, PAD_TOKEN),
    )

    def ahead(name: str, distance: int, where: Signal) -> Signal:
        """The number that ends at a distance, as signed bits, where a bit is 1; elsewhere 0."""
        address = _neighbour(f"i + {distance}", distance, length)
        found = fetch_by_scores(name, [address_scores(address, here)], numbers, weighting)
        digits = reversed(range(bits))  # Addresses have the least significant bit first.
        return stack(*(round_to_bit_doubled(f"{name} {k}", found[k], where) - where for k in digits))

    def gated(k: int) -> Signal:
        """A signed bit of the position at inputs, which are numbered by it; elsewhere 0."""
        return relu(f"input +{k}", here[k] + is_input - 1) - relu(f"input -{k}", is_input - here[k] - 1)

    def everywhere(bit: Signal) -> Signal:
        return stack(*[bit] * bits)

    sources = ahead("source", bits, is_argument)
    targets = ahead("target", 2 * bits + 1, is_argument)
    inputs = stack(*map(gated, range(bits)))
    own = (ahead("gate", 2 * bits + 2, is_gate) + inputs).with_range(SIGN)
    read = (own + sources - everywhere(others)).with_range(SIGN)  # Other tokens read wire 0.
    seeks = (own - everywhere(others) - everywhere(is_argument)).with_range(SIGN)  # Like wire 0.
    serves = (targets + inputs).with_range(SIGN)
    return partial(
        evaluate_gates_once,
        initial=is_token(ONE),
        addresses=address_scores(named("source address", read), named("own address", own)),
        own_arguments=(address_scores(named("sought address", seeks), named("target address", serves)),),
        is_argument=is_argument,
        is_and_or=is_token("AND", "OR"),
        is_not=is_token("NOT"),
        wants_one=is_token("OR"),
        wants_zero=is_token("AND", "NOT"),
        weighting=weighting,
    )


ADDRESS_BITS = define("p", largest(2, ceil_log2(parameter("T", "tokens", lambda codec: codec.length))))
DEPTH = parameter("L", "depth of the circuit", lambda codec: codec.computed_circuit.depth)


def cost(address: Expression, iterations: Expression) -> Cost:
    """Return the cost for addresses of p bits and a number of iterations of gates."""
    return Cost({}, {"layers": address + 2 + 2 * iterations, "width": 16 * address + 16, "precision": 2})


THEOREMS = (
    Theorem(
        "circuit-evaluator",
        "Circuit evaluation: one looped transformer that reads circuit and input as tokens, constant precision",
        "Revisiting Padded Transformer Expressivity, Lemma C.3",
        Requirements(
            "the position and those of four neighbours, ⌈log₂ length⌉ bits each",
            scale="O(log length)",
            remark="any F_b with b ≥ 2",
        ),
        cost(ADDRESS_BITS, DEPTH),
        Circuit,
        ("hard", "soft"),
        codec=EvaluatorCodec,
        signals=lambda codec, attention: signals(codec.length, codec.computed_circuit.depth, soft=attention == "soft"),
        steps=(
            "In p iterations every bit of a number copies the prefix from its predecessor, and appends itself.",
            "Every argument fetches its two numbers from fixed distances ahead, and every gate its own.",
            "Then arguments fetch the bits of wires, and gates an argument that determines them, once per level.",
        ),
        length="the number of tokens of circuit, input and padding",
        rank=3,
    ),
)
