"""Fixed point on wires: for every input of a small circuit, the numbers are those of the definitions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from softmachine.engines.numerics.fixed_point_array import Grid
from softmachine.languages.circuit import truth_table
from softmachine.studies.circuits.fixed_point import FixedNumbers
from softmachine.studies.circuits.numbers import Number, Numbers
from softmachine.studies.circuits.wires import FALSE, TRUE, Wires
from tests.arithmetic.fixed_reference import Reference

INPUTS = 6


class Bench:
    """Six inputs, random numbers on their wires, and the value of a number for each of the 64 assignments."""

    def __init__(self, seed: int, bits: int) -> None:
        self.chooser = random.Random(seed)
        self.wires = Wires([f"x{k}" for k in range(INPUTS)])
        self.numbers = Numbers(self.wires)
        self.fixed = FixedNumbers(self.numbers, bits)
        self.reference = Reference(bits)

    def random_number(self) -> Number:
        """Up to three bits with weights, or a thermometer of counts, within range."""
        limit = self.fixed.limit
        if self.chooser.random() < 0.5:
            chosen = self.chooser.sample(range(INPUTS), self.chooser.randrange(1, 4))
            terms = [self.numbers.bit(self.wires.input(k), self.chooser.randrange(-limit, limit + 1)) for k in chosen]
            number = sum(terms, Number(self.chooser.randrange(-limit, limit + 1)))
        else:
            count = sum((self.numbers.bit(self.wires.input(k), 1) for k in range(INPUTS)), Number(0))
            step = self.chooser.randrange(-limit // 4, limit // 4 + 1)
            number = self.numbers.mapped(count, lambda value: step * value * (value - self.chooser.randrange(3)))
        return self.numbers.mapped(number, self.fixed.saturated)

    def shown(self, *numbers: Number) -> list[list[int]]:
        """The values of each number, for all assignments, read off the outputs of a circuit."""
        outputs = [
            (f"o{k}_{value}", self.numbers.at_least(number, value))
            for k, number in enumerate(numbers)
            for value in self.numbers.values(number)[1:]
        ]
        table = truth_table(self.wires.circuit("bench", [*outputs, ("one", TRUE), ("zero", FALSE)]))
        assert table[:, -2].all()
        assert not table[:, -1].any()
        found, column = [], 0
        for number in numbers:
            values = self.numbers.values(number)
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
        total, *shown = bench.shown(bench.fixed.total(terms), *terms)
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
        positive = bench.numbers.mapped(y, lambda value: abs(value) or 1)
        small = FixedNumbers(bench.numbers, max(1, bits - 1))
        results = [
            fixed.product(x, y),
            fixed.scaled(x, weight),
            fixed.quotient(x, positive, small),
            fixed.rectified(x),
            fixed.stepped(x),
            fixed.exponential(x),
            bench.numbers.largest([x, y]),
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
                Grid(bits).power(a),
                max(a, b),
            ]


def test_what_cancels_is_gone() -> None:
    bench = Bench(1, 3)
    x, y = bench.random_number(), bench.random_number()
    assert x - x == Number(0)
    assert (x + y) - x == y
    assert bench.fixed.total([x, bench.fixed.rectified(x * -1), bench.fixed.rectified(x) * -1]) == Number(0)


def test_wires_that_constants_decide_are_not_made() -> None:
    wires = Wires(["x", "y"])
    x, y = wires.input(0), wires.input(1)
    assert wires.every([x, wires.opposite(x)]) == FALSE
    assert wires.some([x, wires.opposite(x)]) == TRUE
    assert wires.every([x, TRUE]) == x
    assert wires.opposite(wires.opposite(x)) == x
    assert wires.every([x, y]) == wires.every([y, x])
    assert wires.thresholds([(x, 2), (y, -1)], [-1, 0, 1, 2, 3]) == [
        TRUE,
        wires.some([x, wires.opposite(y)]),
        x,
        wires.every([x, wires.opposite(y)]),
        FALSE,
    ]
