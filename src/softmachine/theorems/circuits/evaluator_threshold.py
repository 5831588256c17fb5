"""Evaluation of threshold circuits by one looped transformer of constant width: wide-TC^d circuit evaluation.

All numbers refer to "Revisiting Padded Transformer Expressivity" (Svete et al. 2026). Lemma C.3 is about AND, OR and
NOT in constant precision. Theorem 5.1 (b) needs the same for thresholds, in logarithmic precision and constant width;
for this the paper cites Merrill and Sabharwal, whose construction uses layer norm. This construction does not: numbers
are integers in one coordinate, and attention finds them by their squares.

A circuit is serialised as for ``circuit-evaluator``, with the threshold of every gate after its type:

    x x x THR ≥010 &000#011 &001#011 &010#011

The score 2ak - k² of an address a and a key k is largest at k = a, by at least 1. No layer can square a number, so the
key fetches k² from position k, where it is a feature.

In p = ⌈log₂ T⌉ iterations every bit doubles the prefix of its predecessor and adds itself (Lemma B.7 with one
coordinate). Two layers fetch numbers from fixed distances ahead and then squares. Two layers per layer of gates follow:
arguments fetch the bits of wires; a gate takes the mean of its K arguments' bits and of 1/2 - θ, the value at the gate
itself: (ones - θ + 1/2)/(K + 1) is positive iff there are enough ones, for any K.

Needs: i, i² and the positions of five neighbours as features.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, attend, constant, loop, named, position, recogniser, relu, stack
from softmachine.ir.gadgets.binary_addresses import position_flag, round_to_bit
from softmachine.ir.gadgets.lookup import WithSquare, position_with_square
from softmachine.ir.ranges import BIT, integer
from softmachine.languages.circuit import Circuit
from softmachine.theorems.circuits.evaluator import (
    ADDRESS_BITS,
    ARGUMENT_MARK,
    DEPTH,
    GATES,
    ONE,
    THRESHOLD,
    THRESHOLD_TOKENS,
    ZERO,
    ThresholdEvaluatorCodec,
    TokenTest,
    is_token,
    pointer_width,
)
from softmachine.theorems.cost import Cost, Expression
from softmachine.theorems.theorem import Requirements, Theorem, TourStep
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax_weighting
from softmachine.transformer.features import I_SQUARED, Constant


def signals(length: int, iterations: int, *, soft: bool) -> Program:
    """Build the evaluator of circuits of a length and depth; it outputs the value of every input and gate."""
    value = wire_values_after(partial(is_token, vocabulary=THRESHOLD_TOKENS), length, iterations, soft=soft)
    return recogniser(f"circuit-evaluator-threshold-{length}", THRESHOLD_TOKENS, value, positions=length)


def wire_values_after(is_token: TokenTest, length: int, iterations: int, *, soft: bool) -> Signal:
    """The value of every wire of the circuit after ``iterations`` iterations."""
    numbers = _NumberAttention(length, soft=soft)
    turn = _evaluate_once(is_token, numbers)
    value = named("value", is_token(ONE))
    return loop("layers of gates", iterations=iterations, initial=value, body=turn) if iterations else value


class _NumberAttention:
    """Numbers below 2^p, one coordinate each, and attention by number.

    Softmax with scale 4p + 8 gives less than T·e^-(4p+8) to all other keys. The error of a retrieved number is then
    less than 2^(-p-6), so that the scores of any two keys still differ by at least 1/2.
    """

    def __init__(self, length: int, *, soft: bool) -> None:
        self.length, self.bits = length, pointer_width(length)
        self.end = 1 << self.bits
        """2^p, an exclusive upper bound of all numbers and positions."""
        self.weighting: Weighting = softmax_weighting(Constant(4 * self.bits + 8)) if soft else AVERAGE_HARD

    def fetch(self, name: str, number: Signal, held: WithSquare, value: Signal, *, single: bool = True) -> Signal:
        """The value at the key with a number; the mean if there are several such keys. Gap: 1."""
        query, key = stack(2 * number, constant(-1)), stack(held.value, held.square)
        return attend(
            name, query=query, key=key, value=value, mask=Mask.ALL, weighting=self.weighting, gap=1, single_key=single
        )

    def fetch_neighbour(self, name: str, distance: int, value: Signal) -> Signal:
        """The value at the position at a distance, clamped to the sequence."""
        places = [min(max(i + distance, 0), self.length - 1) for i in range(self.length)]
        return self.fetch(name, position_flag(f"i {distance:+}", places), position_with_square(), value)

    def keep_where(self, name: str, number: Signal, bit: Signal, *, below: int = 0) -> Signal:
        """A number where a bit is 1, else 0."""
        limit = below or self.end
        return relu(name, number - limit + limit * bit).with_range(integer(0, limit - 1))


def _parse_numbers(is_token: TokenTest, numbers: _NumberAttention) -> Signal:
    """The number at the last bit of every number, most significant bit first (Lemma B.7)."""
    is_bit, is_one = is_token("0", "1"), is_token("1")

    def turn(so_far: Signal) -> Signal:
        doubled = 2 * numbers.fetch_neighbour("predecessor", -1, so_far) + is_one
        return numbers.keep_where("number so far", doubled, is_bit)

    nothing = constant(0).with_range(integer(0, numbers.end - 1))
    return loop("reading numbers", iterations=numbers.bits, initial=nothing, body=turn)


def _evaluate_once(is_token: TokenTest, numbers: _NumberAttention) -> Callable[[Signal], Signal]:
    """Return one iteration of gates, with the addresses of wires and arguments."""
    bits, end = numbers.bits, numbers.end
    is_input, is_gate, is_argument = is_token(ZERO, ONE), is_token(*GATES, THRESHOLD), is_token(ARGUMENT_MARK)
    # Step 1. The number that ends at each last bit.
    ends = _parse_numbers(is_token, numbers)

    # Step 2. Every argument fetches its two numbers, every gate its own and its threshold.
    def ahead(name: str, distance: int, where: Signal) -> Signal:
        return numbers.keep_where(name, numbers.fetch_neighbour(f"{name} ahead", distance, ends), where)

    source = named("source", ahead("source", bits, is_argument))
    threshold = ahead("threshold", bits + 1, is_gate)
    gate = ahead("gate", 3 * bits + 3, is_gate)
    target = ahead("target", 2 * bits + 1, is_argument)
    # Step 3. Squares, for attention by number.
    known = named("own number", (gate + target).with_range(integer(0, end - 1)))
    square = numbers.fetch("square", known, position_with_square(), position(I_SQUARED))
    own = numbers.keep_where("square of gate", square, is_gate, below=end**2)
    served = numbers.keep_where("square of target", square, is_argument, below=end**2)
    place, place_square = position_with_square().value, position_with_square().square
    inputs = numbers.keep_where("input", place, is_input)
    input_squares = numbers.keep_where("square of input", place_square, is_input, below=end**2)
    nowhere = end**2
    wires = WithSquare(
        named("wire number", gate + inputs),
        named("square of wire number", own + input_squares + nowhere - nowhere * (is_input + is_gate)),
    )
    members = WithSquare(
        known, named("square of own number", own + served + nowhere - nowhere * (is_gate + is_argument))
    )
    deficit = named("1/2 - threshold", Fraction(1, 2) * is_gate - threshold)
    is_not, is_plain = is_token("NOT"), is_token("AND", "OR", THRESHOLD)
    steepness = 4 * numbers.end

    def enough(name: str, balance: Signal, where: Signal) -> Signal:
        """Whether the balance is positive, where a bit is 1; its absolute value is at least 1/(2K + 2)."""
        rise = steepness * balance - 2 * steepness + 2 * steepness * where
        decided = relu(f"{name}: rises", rise) - relu(f"{name}: is 1", rise - 1)
        return named(name, decided.with_range(BIT))

    def turn(value: Signal) -> Signal:
        # Step 4. An argument fetches the bit of its wire.
        argument = round_to_bit("argument", numbers.fetch("wire", source, wires, value), is_argument)
        # Step 5. A gate compares the ones among its arguments with its threshold.
        balance = numbers.fetch("balance", gate, members, argument + deficit, single=False)
        plain, inverted = enough("enough", balance, is_plain), enough("enough at NOT", balance, is_not)
        return (is_token(ONE) + plain + is_not - inverted).with_range(BIT)

    return turn


TOUR = (
    TourStep(
        "Which number ends here?",
        "Lemma B.7 of Svete et al. 2026 in one coordinate: every bit doubles the value of its predecessor, and adds "
        "itself. After p iterations the last bit of every number has the number.",
        ("predecessor", "number so far", "reading numbers"),
    ),
    TourStep(
        "Which wire and gate does it refer to?",
        "Arguments fetch their wire and their gate, gates their own number and their threshold, from fixed distances "
        "ahead; and then squares, because the score 2ak - k² is largest at k = a.",
        ("source…", "target…", "gate…", "threshold…", "square…", "own number", "wire number"),
    ),
    TourStep(
        "What does the wire hold?",
        "An argument fetches the bit of its wire.",
        ("wire", "argument"),
    ),
    TourStep(
        "Are there enough ones?",
        "A gate takes the mean of its arguments' bits and of 1/2 - θ, its own: positive if there are enough.",
        ("balance", "1/2 - threshold", "enough", "enough at NOT"),
    ),
    TourStep("Iterate", "Two layers per layer of gates, as often as the circuit is deep.", ("layers of gates",)),
)


def cost(address: Expression, iterations: Expression) -> Cost:
    """Return the cost for numbers of p bits and a number of iterations of gates."""
    return Cost({}, {"layers": address + 3 + 2 * iterations, "width": 33, "precision": 2 * address + 1})


THEOREMS = (
    Theorem(
        "circuit-evaluator-threshold",
        "Circuit evaluation with thresholds: one looped transformer that reads circuits as tokens, constant width",
        "Revisiting Padded Transformer Expressivity, Theorem 5.1 (b) and Lemma C.3",
        Requirements(
            "i, i² and the positions of five neighbours",
            scale="4⌈log₂ length⌉ + 8",
            remark="F_b with b ≥ 2⌈log₂ length⌉ + 1",
        ),
        cost(ADDRESS_BITS, DEPTH),
        Circuit,
        ("hard", "soft"),
        codec=ThresholdEvaluatorCodec,
        signals=lambda codec, attention: signals(codec.length, codec.computed_circuit.depth, soft=attention == "soft"),
        steps=(
            "In p iterations every bit of a number doubles the value of its predecessor, and adds itself.",
            "Every argument fetches its two numbers from fixed distances ahead, every gate its own and its threshold.",
            "Numbers fetch their squares, for attention by number: 2ak - k² is largest at k = a.",
            "Arguments fetch the bits of wires.",
            "A gate compares the ones among its arguments with its threshold; as often as the circuit is deep.",
        ),
        tour=TOUR,
        length="the number of tokens of circuit, input and padding",
        rank=4,
    ),
)
