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

from collections.abc import Callable
from functools import partial

from softmachine.languages.circuit import Circuit
from softmachine.signals import Program, Signal, constant, loop, named, recogniser, relu, stack
from softmachine.signals.gadgets.bit_addresses import by_bits, doubled, fetched, matching, settled
from softmachine.signals.gadgets.wiring import binary_address
from softmachine.signals.kinds import BIT, SIGN
from softmachine.signals.primitives import token
from softmachine.theorems.circuit.theorem import turn_of_gates
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
from softmachine.theorems.shared.special_tokens import PAD
from softmachine.theorems.theorem import Needs, Theorem
from softmachine.transformer.attention import Weighting


def most_gates(length: int) -> int:
    """How many gates fit into a sequence of this length; no circuit in it is deeper."""
    return length // (2 * pointer_width(length) + 3)


def signals(length: int, *, soft: bool) -> Program:
    """A transformer that says at every input and every gate what it holds, for sequences of this length."""
    weighting = by_bits(soft, length)
    # Step 1. The number that ends at each last bit.
    numbers = _numbers(length, weighting)
    # Step 2. Pointers, by which gates find their arguments and these their wires.
    turn = _turn(numbers, length, weighting)
    # Step 3. Gates look at their arguments, turn after turn.
    value, times = named("value", _is(ONE)), most_gates(length)
    if times:
        value = loop("layers of gates", times=times, carry=value, body=turn)
    return recogniser(f"circuit-evaluator-{length}", TOKENS, value, positions=length)


def _is(*tokens: str) -> Signal:
    """Whether the token is one of some."""
    return token(f"is {' or '.join(tokens)}", {name: (int(name in tokens),) for name in TOKENS})


def _neighbour(name: str, distance: int, length: int) -> Signal:
    """The address of the position at a distance; beyond the ends, the last one."""
    return binary_address(name, pointer_width(length), [min(max(i + distance, 0), length - 1) for i in range(length)])


def _numbers(length: int, weighting: Weighting) -> Signal:
    """At the last bit of every number, the number, the highest bit first (Lemma B.7).

    The loop carries where a bit is in its number (one-hot) and the number so far; from turn t on, the t-th bits are
    right.
    """
    bits, is_bit, is_one = pointer_width(length), _is("0", "1"), _is("1")
    before = [matching(_neighbour("i - 1", -1, length), _neighbour("i", 0, length))]
    begins = fetched("mark before", before, _is(ARGUMENT, OF), weighting)

    def turn(state: Signal) -> Signal:
        found = fetched("predecessor", before, state, weighting)
        place = stack(begins, found[: bits - 1])
        places = [settled(f"is bit {k}", place[k], is_bit) for k in range(bits)]
        digits = [
            settled(f"digit {k}", found[bits + k], is_bit) + settled(f"own digit {k}", place[k], is_one)
            for k in range(bits)
        ]
        return stack(*places, *digits).known(BIT)

    nothing = constant(0, 2 * bits).known(BIT)
    return loop("reading numbers", times=bits, carry=nothing, body=turn)[bits:]


def _turn(numbers: Signal, length: int, weighting: Weighting) -> Callable[[Signal], Signal]:
    """A turn of gates with their pointers, which are addresses of wires as signed bits.

    Inputs and gates have their own address, and arguments have none; arguments read the wire that they are, inputs and
    gates themselves; gates seek their arguments by their own address; arguments serve their gate, inputs themselves.
    """
    bits, here = pointer_width(length), _neighbour("i", 0, length)
    is_input, is_gate, is_argument, others = _is(ZERO, ONE), _is(*GATES), _is(ARGUMENT), _is("0", "1", OF, PAD)

    def ahead(name: str, distance: int, where: Signal) -> Signal:
        """Where a bit is 1, the number that ends at a distance, as signed bits; elsewhere 0."""
        address = _neighbour(f"i + {distance}", distance, length)
        found = fetched(name, [matching(address, here)], numbers, weighting)
        digits = reversed(range(bits))  # Addresses have the lowest bit first.
        return stack(*(doubled(f"{name} {k}", found[k], where) - where for k in digits))

    def gated(k: int) -> Signal:
        """A signed bit of the position at inputs, which are numbered by it; elsewhere 0."""
        return relu(f"input +{k}", here[k] + is_input - 1) - relu(f"input -{k}", is_input - here[k] - 1)

    def everywhere(bit: Signal) -> Signal:
        return stack(*[bit] * bits)

    sources = ahead("source", bits, is_argument)
    targets = ahead("target", 2 * bits + 1, is_argument)
    inputs = stack(*map(gated, range(bits)))
    own = (ahead("gate", 2 * bits + 2, is_gate) + inputs).known(SIGN)
    reads = (own + sources - everywhere(others)).known(SIGN)  # Other tokens read wire 0.
    seeks = (own - everywhere(others) - everywhere(is_argument)).known(SIGN)  # As if they were wire 0.
    serves = (targets + inputs).known(SIGN)
    return partial(
        turn_of_gates,
        given=_is(ONE),
        wire=matching(named("source address", reads), named("own address", own)),
        own_arguments=(matching(named("sought address", seeks), named("target address", serves)),),
        is_argument=is_argument,
        is_plain=_is("AND", "OR"),
        is_not=_is("NOT"),
        wants_one=_is("OR"),
        wants_zero=_is("AND", "NOT"),
        weighting=weighting,
    )


THEOREMS = (
    Theorem(
        "circuit-evaluator",
        "Lemma C.3: one looped transformer that reads any circuit and its input as tokens, constant precision",
        "Revisiting Padded Transformer Expressivity, Lemma C.3",
        Needs(
            "the position and those of four neighbours, ⌈log₂ length⌉ bits each",
            scale="O(log length)",
            also="any F_b from F_2 on",
        ),
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
