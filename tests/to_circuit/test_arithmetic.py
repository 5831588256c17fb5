"""Fixed point on wires: for every input of a small circuit, the numbers are those of the definitions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from softmachine.engines.numerics.fixed_point_array import FixedPointArrays
from softmachine.languages.circuit import truth_table
from softmachine.studies.circuits.fixed_point import FixedPointOps
from softmachine.studies.circuits.numbers import WireArithmetic, WireNumber
from softmachine.studies.circuits.wires import FALSE, TRUE, CircuitBuilder
from tests.arithmetic.fixed_reference import Reference

INPUTS = 6


class Bench:
    """Six inputs, random numbers on their wires, and the value of a number for each of the 64 assignments."""

    def __init__(self, seed: int, bits: int) -> None:
        self.chooser = random.Random(seed)
        self.wires = CircuitBuilder([f"x{k}" for k in range(INPUTS)])
        self.numbers = WireArithmetic(self.wires)
        self.fixed = FixedPointOps(self.numbers, bits)
        self.reference = Reference(bits)

    def random_number(self) -> WireNumber:
        """Up to three bits with weights, or a thermometer of counts, within range."""
        limit = self.fixed.limit
        if self.chooser.random() < 0.5:
            chosen = self.chooser.sample(range(INPUTS), self.chooser.randrange(1, 4))
            terms = [
                self.numbers.from_bit(self.wires.input_wire(k), self.chooser.randrange(-limit, limit + 1))
                for k in chosen
            ]
            number = sum(terms, WireNumber(self.chooser.randrange(-limit, limit + 1)))
        else:
            count = sum((self.numbers.from_bit(self.wires.input_wire(k), 1) for k in range(INPUTS)), WireNumber(0))
            step = self.chooser.randrange(-limit // 4, limit // 4 + 1)
            number = self.numbers.map(count, lambda value: step * value * (value - self.chooser.randrange(3)))
        return self.numbers.map(number, self.fixed.saturate)

    def shown(self, *numbers: WireNumber) -> list[list[int]]:
        """The values of each number, for all assignments, read off the outputs of a circuit."""
        outputs = [
            (f"o{k}_{value}", self.numbers.at_least(number, value))
            for k, number in enumerate(numbers)
            for value in self.numbers.possible_values(number)[1:]
        ]
        table = truth_table(self.wires.build("bench", [*outputs, ("one", TRUE), ("zero", FALSE)]))
        assert table[:, -2].all()
        assert not table[:, -1].any()
        found, column = [], 0
        for number in numbers:
            values = self.numbers.possible_values(number)
            part = table[:, column : column + len(values) - 1]
            assert (part[:, 1:] <= part[:, :-1]).all()  # a thermometer
            found.append([values[int(row.sum())] for row in part])
            column += len(values) - 1
        return found

    def fraction(self, units: int) -> Fraction:
        return units * self.reference.unit

    def units(self, number: Fraction) -> int:
        return int(number / self.reference.unit)


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_sums_go_from_left_to_right_and_saturate(bits: int) -> None:
    saturated = 0
    for seed in range(25):
        bench = Bench(seed, bits)
        terms = [bench.random_number() for _ in range(bench.chooser.randrange(1, 6))]
        total, *shown = bench.shown(bench.fixed.saturating_sum(terms), *terms)
        for row, found in enumerate(total):
            exact = [bench.fraction(column[row]) for column in shown]
            assert bench.fraction(found) == bench.reference.sum(exact)
            saturated += bench.fraction(found) != sum(exact)
    assert saturated > 100


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_products_quotients_and_functions(bits: int) -> None:
    for seed in range(25):
        bench = Bench(1000 + seed, bits)
        fixed, reference = bench.fixed, bench.reference
        x, y = bench.random_number(), bench.random_number()
        weight = bench.chooser.randrange(-fixed.limit, fixed.limit + 1)
        positive = bench.numbers.map(y, lambda value: abs(value) or 1)
        small = FixedPointOps(bench.numbers, max(1, bits - 1))
        results = [
            fixed.multiply(x, y),
            fixed.multiply_by_constant(x, weight),
            fixed.divide(x, positive, small),
            fixed.relu(x),
            fixed.step(x),
            fixed.exp(x),
            bench.numbers.maximum([x, y]),
        ]
        shown = bench.shown(x, y, positive, *results)
        for a, b, c, *found in zip(*shown, strict=True):
            one, other = bench.fraction(a), bench.fraction(b)
            assert found == [
                bench.units(reference.multiply(one, other)),
                bench.units(reference.multiply(one, bench.fraction(weight))),
                int(Reference(small.bits).round(Fraction(a, c)) * 2**small.bits),
                max(a, 0),
                2**bits if a >= 0 else 0,
                FixedPointArrays(bits).exponential_of(a),
                max(a, b),
            ]


def test_what_cancels_is_gone() -> None:
    bench = Bench(1, 3)
    x, y = bench.random_number(), bench.random_number()
    assert x - x == WireNumber(0)
    assert (x + y) - x == y
    assert bench.fixed.saturating_sum([x, bench.fixed.relu(x * -1), bench.fixed.relu(x) * -1]) == WireNumber(0)


def test_wires_that_constants_decide_are_not_made() -> None:
    wires = CircuitBuilder(["x", "y"])
    x, y = wires.input_wire(0), wires.input_wire(1)
    assert wires.conjunction([x, wires.negate(x)]) == FALSE
    assert wires.disjunction([x, wires.negate(x)]) == TRUE
    assert wires.conjunction([x, TRUE]) == x
    assert wires.negate(wires.negate(x)) == x
    assert wires.conjunction([x, y]) == wires.conjunction([y, x])
    assert wires.threshold_gates([(x, 2), (y, -1)], [-1, 0, 1, 2, 3]) == [
        TRUE,
        wires.disjunction([x, wires.negate(y)]),
        x,
        wires.conjunction([x, wires.negate(y)]),
        FALSE,
    ]
