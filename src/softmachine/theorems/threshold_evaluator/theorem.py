"""One looped transformer that reads any circuit with threshold gates, in constant width: wide-TC^d circuit evaluation.

Lemma C.3 is about AND, OR and NOT in constant precision. Theorem 5.1 (b) needs the same for thresholds, in logarithmic
precision and constant width; for that the paper cites Merrill and Sabharwal, whose construction has layer norm. This
one does without: numbers are integers in one coordinate, and they are found by squares.

A circuit is written as for ``circuit-evaluator``, and every gate says after its type how many ones it asks for:

    x x x THR ≥010 &000#011 &001#011 &010#011

The score 2ak - k² of an address a and a key k is largest at k = a, by at least 1. No layer can square a number that it
has read, so the key fetches k² from position k, which has it as a feature.

First p = ⌈log₂ T⌉ turns, in which every bit doubles the number so far of its predecessor, and adds itself (Lemma B.7
with one coordinate). Two layers fetch numbers from fixed distances ahead and then squares. Then two layers for each
layer of gates: arguments fetch the bits of wires; a gate takes the mean of its K arguments' bits and of 1/2 - θ, which
stands at the gate itself: (ones - θ + 1/2)/(K + 1) is positive exactly if there are enough ones, and nobody has to know
K.

Needs: i, i² and the positions of five neighbours as features.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, attend, constant, loop, named, position, recogniser, relu, stack
from softmachine.ir.gadgets.bit_addresses import settled
from softmachine.ir.gadgets.retrieval import Squared, here
from softmachine.ir.gadgets.wiring import flag
from softmachine.ir.kinds import BIT, integer
from softmachine.languages.circuit import Circuit
from softmachine.theorems.circuit_evaluator.theorem import ADDRESS, DEPTH, Reading, is_token
from softmachine.theorems.circuit_evaluator.tokens import (
    ARGUMENT,
    GATES,
    ONE,
    THRESHOLD,
    WITH_THRESHOLDS,
    ZERO,
    ThresholdEvaluatorCodec,
    pointer_width,
)
from softmachine.theorems.cost import Cost, Expression
from softmachine.theorems.theorem import Guide, Needs, Theorem
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax
from softmachine.transformer.features import I_SQUARED, Constant


def signals(length: int, turns: int, *, soft: bool) -> Program:
    """A transformer that says at every input and every gate what it holds: circuits of some length and depth."""
    value = evaluated(partial(is_token, vocabulary=WITH_THRESHOLDS), length, turns, soft=soft)
    return recogniser(f"threshold-evaluator-{length}", WITH_THRESHOLDS, value, positions=length)


def evaluated(reads: Reading, length: int, turns: int, *, soft: bool) -> Signal:
    """What every wire holds after so many turns, of the circuit that is read."""
    numbers = _Numbers(length, soft=soft)
    turn = _turn(reads, numbers)
    value = named("value", reads(ONE))
    return loop("layers of gates", times=turns, carry=value, body=turn) if turns else value


class _Numbers:
    """Numbers below 2^p, one coordinate each, and how they find positions.

    Softmax with scale 4p + 8 leaves less than T·e^-(4p+8) to all other keys. A number that was read is then wrong by
    less than 2^(-p-6), so that the scores of any two keys are still at least 1/2 apart.
    """

    def __init__(self, length: int, *, soft: bool) -> None:
        self.length, self.bits = length, pointer_width(length)
        self.end = 1 << self.bits
        """2^p: no number and no position is as large."""
        self.weighting: Weighting = softmax(Constant(4 * self.bits + 8)) if soft else AVERAGE_HARD

    def found(self, name: str, number: Signal, held: Squared, value: Signal, *, single: bool = True) -> Signal:
        """What ``value`` is where a number is held; its mean if there are several such keys. Gap: 1."""
        query, key = stack(2 * number, constant(-1)), stack(held.value, held.square)
        return attend(
            name, query=query, key=key, value=value, mask=Mask.ALL, weighting=self.weighting, gap=1, single=single
        )

    def neighbour(self, name: str, distance: int, value: Signal) -> Signal:
        """What ``value`` is at the position at a distance; beyond the ends, at the last one."""
        places = [min(max(i + distance, 0), self.length - 1) for i in range(self.length)]
        return self.found(name, flag(f"i {distance:+}", places), here(), value)

    def where(self, name: str, number: Signal, bit: Signal, *, below: int = 0) -> Signal:
        """A number where a bit is 1, and 0 elsewhere."""
        limit = below or self.end
        return relu(name, number - limit + limit * bit).known(integer(0, limit - 1))


def _read(reads: Reading, numbers: _Numbers) -> Signal:
    """At the last bit of every number, the number, the highest bit first (Lemma B.7)."""
    is_bit, is_one = reads("0", "1"), reads("1")

    def turn(so_far: Signal) -> Signal:
        doubled = 2 * numbers.neighbour("predecessor", -1, so_far) + is_one
        return numbers.where("number so far", doubled, is_bit)

    nothing = constant(0).known(integer(0, numbers.end - 1))
    return loop("reading numbers", times=numbers.bits, carry=nothing, body=turn)


def _turn(reads: Reading, numbers: _Numbers) -> Callable[[Signal], Signal]:
    """A turn of gates, with what leads arguments to wires and gates to their arguments."""
    bits, end = numbers.bits, numbers.end
    is_input, is_gate, is_argument = reads(ZERO, ONE), reads(*GATES, THRESHOLD), reads(ARGUMENT)
    # Step 1. The number that ends at each last bit.
    ends = _read(reads, numbers)

    # Step 2. Every argument has its two numbers, every gate its own and what it asks for.
    def ahead(name: str, distance: int, where: Signal) -> Signal:
        return numbers.where(name, numbers.neighbour(f"{name} ahead", distance, ends), where)

    source = named("source", ahead("source", bits, is_argument))
    asked = ahead("asked for", bits + 1, is_gate)
    gate = ahead("gate", 3 * bits + 3, is_gate)
    target = ahead("target", 2 * bits + 1, is_argument)
    # Step 3. Squares, by which they are found.
    known = named("own number", (gate + target).known(integer(0, end - 1)))
    square = numbers.found("square", known, here(), position(I_SQUARED))
    own = numbers.where("square of gate", square, is_gate, below=end**2)
    served = numbers.where("square of target", square, is_argument, below=end**2)
    place, place_square = here().value, here().square
    inputs = numbers.where("input", place, is_input)
    input_squares = numbers.where("square of input", place_square, is_input, below=end**2)
    nowhere = end**2
    wires = Squared(
        named("wire number", gate + inputs),
        named("square of wire number", own + input_squares + nowhere - nowhere * (is_input + is_gate)),
    )
    members = Squared(known, named("square of own number", own + served + nowhere - nowhere * (is_gate + is_argument)))
    deficit = named("1/2 - asked for", Fraction(1, 2) * is_gate - asked)
    is_not, is_plain = reads("NOT"), reads("AND", "OR", THRESHOLD)
    steepness = 4 * numbers.end

    def enough(name: str, balance: Signal, where: Signal) -> Signal:
        """Where a bit is 1, whether the balance is positive; it is at least 1/(2K + 2) away from 0."""
        rise = steepness * balance - 2 * steepness + 2 * steepness * where
        decided = relu(f"{name}: rises", rise) - relu(f"{name}: is 1", rise - 1)
        return named(name, decided.known(BIT), restores=Fraction(1, 4) * rise)

    def turn(value: Signal) -> Signal:
        # Step 4. An argument fetches the bit of the wire that it is.
        argument = settled("argument", numbers.found("wire", source, wires, value), is_argument)
        # Step 5. A gate weighs the ones among its arguments against what it asks for.
        balance = numbers.found("balance", gate, members, argument + deficit, single=False)
        plain, inverted = enough("enough", balance, is_plain), enough("enough at NOT", balance, is_not)
        return (reads(ONE) + plain + is_not - inverted).known(BIT)

    return turn


GUIDE = (
    Guide(
        "Which number ends here?",
        "Lemma B.7 in one coordinate: every bit doubles what its predecessor has, and adds itself. After p turns the "
        "last bit of every number has the number.",
        ("predecessor", "number so far", "reading numbers"),
    ),
    Guide(
        "Who is it about?",
        "Arguments fetch their wire and their gate, gates their own number and what they ask for, from fixed distances "
        "ahead; and then squares, because a score 2ak - k² finds a.",
        ("source…", "target…", "gate…", "asked for…", "square…", "own number", "wire number"),
    ),
    Guide(
        "What does the wire hold?",
        "An argument fetches the bit of the wire that it is.",
        ("wire", "argument"),
    ),
    Guide(
        "Are there enough ones?",
        "A gate takes the mean of its arguments' bits and of 1/2 - θ, its own: positive if there are enough.",
        ("balance", "1/2 - asked for", "enough", "enough at NOT"),
    ),
    Guide("Once more", "Two layers for each layer of gates, as often as the circuit is deep.", ("layers of gates",)),
)


def cost(address: Expression, turns: Expression) -> Cost:
    """The cost for numbers of p bits and turns of gates."""
    return Cost({}, {"layers": address + 3 + 2 * turns, "width": 33, "precision": 2 * address + 1})


THEOREMS = (
    Theorem(
        "threshold-evaluator",
        "Theorem 5.1 (b): one looped transformer that reads any circuit with thresholds as tokens, constant width",
        "Revisiting Padded Transformer Expressivity, Theorem 5.1 (b) and Lemma C.3",
        Needs(
            "i, i² and the positions of five neighbours",
            scale="4⌈log₂ length⌉ + 8",
            also="F_b from b = 2⌈log₂ length⌉ + 1 on",
        ),
        cost(ADDRESS, DEPTH),
        Circuit,
        ("hard", "soft"),
        codec=ThresholdEvaluatorCodec,
        signals=lambda codec, attention: signals(codec.length, codec.written.depth, soft=attention == "soft"),
        steps=(
            "In p turns every bit of a number doubles the number so far of its predecessor, and adds itself.",
            "Every argument fetches its two numbers from fixed distances ahead, every gate its own and its threshold.",
            "Numbers fetch their squares, by which they are found: 2ak - k² is largest at k = a.",
            "Arguments fetch the bits of wires.",
            "A gate weighs the ones among its arguments against its threshold; as often as the circuit is deep.",
        ),
        guide=GUIDE,
        length="how many tokens the circuit, its input and padding have",
        rank=4,
    ),
)
