"""One looped transformer that reads any circuit and its input as tokens, and evaluates it (Lemma C.3).

A circuit of AND, OR and NOT gates is written as in Definition C.1: first the inputs, each as a token with its bit; then
every gate, as its type and for each argument ``&`` with the argument's number and ``#`` with the gate's own number,
both in p bits, the highest first. Numbers count the inputs and then the gates, from 0 on. The corrected Example C.1,
(x₁ ∧ x₂) ∨ x₃, with p = 3:

    x x x AND &000#011 &001#011 OR &011#100 &010#100

(The paper's own example points to 010 for AND, which is x₃.) Padding fills the sequence up to its length T, which alone
decides the weights: p = ⌈log₂ T⌉ and the number of turns.

First p turns in which every bit of a number takes over from its predecessor the number so far and where it is in it,
and adds itself (Lemma B.7). Then every ``&`` fetches both its numbers, from fixed distances ahead, and every gate its
own. Then turns of two layers as for binary pointers (``circuit``), as many as gates fit into T: arguments fetch the
bits of wires, gates the argument that decides. The whole runs in F_2.

Needs: the position as signed bits, and those of four neighbours. Costs: 1 layer p times, 2 layers, 2 layers T/(2p+3)
times; width 14p + O(1).
"""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.languages.circuit import Circuit
from softmachine.signals import Program, Signal, attend, constant, loop, named, recogniser, relu, stack
from softmachine.signals.gadgets.bit_addresses import UNIT, by_bits, doubled, matching, settled
from softmachine.signals.gadgets.wiring import binary_address
from softmachine.signals.kinds import BIT, SIGN
from softmachine.signals.primitives import token
from softmachine.theorems.circuit.tokens import PAD
from softmachine.theorems.circuit_evaluator.tokens import (
    ARGUMENT,
    GATES,
    OF,
    ONE,
    TOKENS,
    ZERO,
    EvaluatorCodec,
    pointer_width,
)
from softmachine.theorems.theorem import Theorem
from softmachine.transformer.attention import Mask


def most_gates(length: int) -> int:
    """How many gates fit into a sequence of this length; no circuit in it is deeper."""
    return length // (2 * pointer_width(length) + 3)


def signals(length: int, *, soft: bool) -> Program:
    """A transformer that says at every input and every gate what it holds, for sequences of this length."""
    return recogniser(f"circuit-evaluator-{length}", TOKENS, _Builder(length, soft).value(), positions=length)


def _is(*tokens: str) -> Signal:
    """Whether the token is one of some."""
    return token(f"is {' or '.join(tokens)}", {name: (int(name in tokens),) for name in TOKENS})


class _Builder:
    """The stages, for sequences of one length."""

    def __init__(self, length: int, soft: bool) -> None:
        self.length = length
        self.bits = pointer_width(length)
        self.weighting = by_bits(soft, length)
        self.here = self.neighbour("i", 0)
        self.is_input, self.is_gate, self.is_argument = _is(ZERO, ONE), _is(*GATES), _is(ARGUMENT)

    def neighbour(self, name: str, distance: int) -> Signal:
        """The address of the position at a distance; beyond the ends, the last one."""
        last = self.length - 1
        return binary_address(name, self.bits, [min(max(i + distance, 0), last) for i in range(self.length)])

    def fetch(self, name: str, pairs: list[tuple[Signal, Signal]], value: Signal) -> Signal:
        """What ``value`` is where queries and keys agree best."""
        query, key = (stack(*side) for side in zip(*pairs, strict=True))
        weighting = self.weighting
        return attend(
            name, query=query, key=key, value=value, mask=Mask.ALL, weighting=weighting, gap=UNIT, single=True
        )

    def value(self) -> Signal:
        """What inputs and gates hold in the end."""
        return self.evaluated(self.pointers(self.numbers()))

    def numbers(self) -> Signal:
        """At the last bit of every number, the number, the highest bit first (Lemma B.7).

        The loop carries where a bit is in its number (one-hot) and the number so far; from turn t on, the t-th bits are
        right.
        """
        is_bit, is_one = _is("0", "1"), _is("1")
        before = [matching(self.neighbour("i - 1", -1), self.here)]
        begins = self.fetch("mark before", before, _is(ARGUMENT, OF))

        def turn(state: Signal) -> Signal:
            found = self.fetch("predecessor", before, state)
            place = stack(begins, found[: self.bits - 1])
            places = [settled(f"is bit {k}", place[k], is_bit) for k in range(self.bits)]
            digits = [
                settled(f"digit {k}", found[self.bits + k], is_bit) + settled(f"own digit {k}", place[k], is_one)
                for k in range(self.bits)
            ]
            return stack(*places, *digits).known(BIT)

        nothing = constant(0, 2 * self.bits).known(BIT)
        return loop("reading numbers", times=self.bits, carry=nothing, body=turn)[self.bits :]

    def pointers(self, numbers: Signal) -> _Pointers:
        """Addresses of wires at inputs, gates and arguments, as signed bits."""
        first, second = self.bits, 2 * self.bits + 1

        def ahead(name: str, distance: int, where: Signal) -> list[Signal]:
            """Where a bit is 1, the number that ends at a distance, as signed bits; elsewhere 0."""
            address = self.neighbour(f"i + {distance}", distance)
            found = self.fetch(name, [matching(address, self.here)], numbers)
            digits = reversed(range(self.bits))  # Addresses have the lowest bit first.
            return [doubled(f"{name} {k}", found[k], where) - where for k in digits]

        sources = ahead("source", first, self.is_argument)
        targets = ahead("target", second, self.is_argument)
        gates = ahead("gate", second + 1, self.is_gate)
        inputs = [self.gated(k) for k in range(self.bits)]
        others = _is("0", "1", OF, PAD)
        own = [(gates[k] + inputs[k]).known(SIGN) for k in range(self.bits)]
        return _Pointers(
            own=named("own address", stack(*own)),
            reads=named(
                "source address", stack(*((own[k] + sources[k] - others).known(SIGN) for k in range(self.bits)))
            ),
            seeks=named(
                "sought address", stack(*((own[k] - others - self.is_argument).known(SIGN) for k in range(self.bits)))
            ),
            serves=named("target address", stack(*((targets[k] + inputs[k]).known(SIGN) for k in range(self.bits)))),
        )

    def gated(self, k: int) -> Signal:
        """A signed bit of the position at inputs, which are numbered by it; elsewhere 0."""
        sign, where = self.here[k], self.is_input
        return relu(f"input +{k}", sign + where - 1) - relu(f"input -{k}", where - sign - 1)

    def evaluated(self, pointers: _Pointers) -> Signal:
        """What inputs and gates hold, when as many turns have been made as there can be gates."""
        given, is_plain, is_not = _is(ONE), _is("AND", "OR"), _is("NOT")
        wants_one, wants_zero = _is("OR"), _is("AND", "NOT")

        def turn(value: Signal) -> Signal:
            wire = self.fetch("wire", [matching(pointers.reads, pointers.own)], value)
            argument = settled("argument", wire, self.is_argument)
            pairs = [
                matching(pointers.seeks, pointers.serves),
                (UNIT * wants_one, argument - 1),
                (UNIT * wants_zero, -argument),
            ]
            decides = self.fetch("decides", pairs, argument)
            plain, same = settled("AND or OR", decides, is_plain), settled("not NOT", decides, is_not)
            return (given + plain + is_not - same).known(BIT)

        start = named("value", given)
        times = most_gates(self.length)
        return loop("layers of gates", times=times, carry=start, body=turn) if times else start


@dataclass(frozen=True)
class _Pointers:
    """Addresses of wires as signed bits.

    Args:
        own: At inputs and gates, their own; elsewhere none.
        reads: At arguments, the wire that they are; at inputs and gates their own; elsewhere wire 0.
        seeks: At inputs and gates, their own; elsewhere wire 0.
        serves: At arguments, their gate; at inputs their own; elsewhere none.
    """

    own: Signal
    reads: Signal
    seeks: Signal
    serves: Signal


THEOREMS = (
    Theorem(
        "circuit-evaluator",
        "Lemma C.3: one looped transformer that reads any circuit and its input as tokens, constant precision",
        "Revisiting Padded Transformer Expressivity, Lemma C.3",
        "the position and those of four neighbours, ⌈log₂ length⌉ bits each; any F_b from F_2 on",
        "1 layer p times, 2 layers, 2 layers T/(2p+3) times, for T tokens and p = ⌈log₂ T⌉; width 14p + O(1)",
        Circuit,
        ("hard", "soft"),
        codec=EvaluatorCodec,
        signals=lambda codec, attention: signals(codec.length, soft=attention == "soft"),
        steps=(
            "In p turns every bit of a number takes over the number so far from its predecessor, and adds itself.",
            "Every argument fetches its two numbers from fixed distances ahead, and every gate its own.",
            "Then arguments fetch the bits of wires and gates the argument that decides, turn after turn.",
        ),
        length="how many tokens the circuit, its input and padding have",
        rank=3,
    ),
)
