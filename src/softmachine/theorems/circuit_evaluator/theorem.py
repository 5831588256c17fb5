"""One looped transformer that reads any circuit and its input as tokens, and evaluates it (Lemma C.3).

A circuit of AND, OR and NOT gates is written as in Definition C.1: first the inputs, each as a token with its bit; then
every gate, as its type and for each argument ``&`` with the argument's number and ``#`` with the gate's own number,
both in p bits, the highest first. Numbers count the inputs and then the gates, from 0 on. The corrected Example C.1,
(x₁ ∧ x₂) ∨ x₃, with p = 3:

    x x x AND &000#011 &001#011 OR &011#100 &010#100

(The paper's own example points to 010 for AND, which is x₃.) Padding fills the sequence up to its length T. The layers
depend on T alone, by p = ⌈log₂ T⌉; the depth L of the circuit only says how often they are repeated.

First p turns in which every bit of a number takes over from its predecessor the number so far and where it is in it,
and adds itself (Lemma B.7, the transformer that the lemma calls "read"). Then every ``&`` fetches both its numbers,
from fixed distances ahead, and every gate its own. Then L turns of two layers as for binary pointers (``circuit``; the
lemma's "step"): arguments fetch the bits of wires, gates the argument that decides. The whole runs in F_2.

Needs: the position as signed bits, and those of four neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from softmachine.ir import Program, Signal, constant, loop, named, recogniser, relu, stack
from softmachine.ir.gadgets.bit_addresses import by_bits, doubled, fetched, matching, settled
from softmachine.ir.gadgets.wiring import binary_address
from softmachine.ir.kinds import BIT, SIGN
from softmachine.ir.primitives import token
from softmachine.languages.circuit import Circuit
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
from softmachine.theorems.cost import Cost, Expression, ceil_log2, largest, let, parameter
from softmachine.theorems.shared.special_tokens import PAD
from softmachine.theorems.theorem import Needs, Theorem
from softmachine.transformer.attention import Weighting

Reading = Callable[..., Signal]
"""From names of tokens to whether one of them stands here: what the evaluator knows of its input."""


def signals(length: int, turns: int, *, soft: bool) -> Program:
    """A transformer that says at every input and every gate what it holds: circuits of some length and depth."""
    value = evaluated(is_token, length, turns, soft=soft)
    return recogniser(f"circuit-evaluator-{length}", TOKENS, value, positions=length)


def is_token(*tokens: str, vocabulary: Sequence[str] = TOKENS) -> Signal:
    """Whether the token is one of some."""
    return token(f"is {' or '.join(tokens)}", {name: (int(name in tokens),) for name in vocabulary})


def evaluated(reads: Reading, length: int, turns: int, *, soft: bool) -> Signal:
    """What every wire holds after so many turns, of the circuit that is read."""
    weighting = by_bits(soft, length)
    # Step 1. The number that ends at each last bit.
    numbers = _numbers(reads, length, weighting)
    # Step 2. Pointers, by which gates find their arguments and these their wires.
    turn = _turn(reads, numbers, length, weighting)
    # Step 3. Gates look at their arguments, turn after turn.
    value = named("value", reads(ONE))
    return loop("layers of gates", times=turns, carry=value, body=turn) if turns else value


def _neighbour(name: str, distance: int, length: int) -> Signal:
    """The address of the position at a distance; beyond the ends, the last one."""
    return binary_address(name, pointer_width(length), [min(max(i + distance, 0), length - 1) for i in range(length)])


def _numbers(reads: Reading, length: int, weighting: Weighting) -> Signal:
    """At the last bit of every number, the number, the highest bit first (Lemma B.7).

    The loop carries where a bit is in its number (one-hot) and the number so far; from turn t on, the t-th bits are
    right.
    """
    bits, is_bit, is_one = pointer_width(length), reads("0", "1"), reads("1")
    before = [matching(_neighbour("i - 1", -1, length), _neighbour("i", 0, length))]
    begins = fetched("mark before", before, reads(ARGUMENT, OF), weighting)

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


def _turn(reads: Reading, numbers: Signal, length: int, weighting: Weighting) -> Callable[[Signal], Signal]:
    """A turn of gates with their pointers, which are addresses of wires as signed bits.

    Inputs and gates have their own address, and arguments have none; arguments read the wire that they are, inputs and
    gates themselves; gates seek their arguments by their own address; arguments serve their gate, inputs themselves.
    """
    bits, here = pointer_width(length), _neighbour("i", 0, length)
    is_input, is_gate, is_argument, others = reads(ZERO, ONE), reads(*GATES), reads(ARGUMENT), reads("0", "1", OF, PAD)

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
    read = (own + sources - everywhere(others)).known(SIGN)  # Other tokens read wire 0.
    seeks = (own - everywhere(others) - everywhere(is_argument)).known(SIGN)  # As if they were wire 0.
    serves = (targets + inputs).known(SIGN)
    return partial(
        turn_of_gates,
        given=reads(ONE),
        wire=matching(named("source address", read), named("own address", own)),
        own_arguments=(matching(named("sought address", seeks), named("target address", serves)),),
        is_argument=is_argument,
        is_plain=reads("AND", "OR"),
        is_not=reads("NOT"),
        wants_one=reads("OR"),
        wants_zero=reads("AND", "NOT"),
        weighting=weighting,
    )


ADDRESS = let("p", largest(2, ceil_log2(parameter("T", "tokens", lambda codec: codec.length))))
DEPTH = parameter("L", "depth of the circuit", lambda codec: codec.written.depth)


def cost(address: Expression, turns: Expression) -> Cost:
    """The cost for addresses of p bits and turns of gates."""
    return Cost({}, {"layers": address + 2 + 2 * turns, "width": 16 * address + 16, "precision": 2})


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
        cost(ADDRESS, DEPTH),
        Circuit,
        ("hard", "soft"),
        codec=EvaluatorCodec,
        signals=lambda codec, attention: signals(codec.length, codec.written.depth, soft=attention == "soft"),
        steps=(
            "In p turns every bit of a number takes over the number so far from its predecessor, and adds itself.",
            "Every argument fetches its two numbers from fixed distances ahead, and every gate its own.",
            "Then arguments fetch the bits of wires and gates what decides, as often as the circuit is deep.",
        ),
        length="how many tokens the circuit, its input and padding have",
        rank=3,
    ),
)
