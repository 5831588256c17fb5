from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from softmachine.languages import circuit
from softmachine.languages.circuit import Circuit, evaluate, truth_table
from softmachine.support.errors import UsageError
from softmachine.theorems.read_source import read_source


def number(value: int, bits: int) -> str:
    return format(value, f"0{bits}b")


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("generator", "expected"),
    [
        (circuit.adder, lambda a, b, n: number(a + b, n + 1)),
        (circuit.lookahead_adder, lambda a, b, n: number(a + b, n + 1)),
        (circuit.multiplier, lambda a, b, n: number(a * b, 2 * n)),
        (circuit.comparator, lambda a, b, n: f"{a < b:d}{a == b:d}{a > b:d}"),
    ],
)
def test_arithmetic_is_right_for_all_numbers(
    generator: Callable[[int], Circuit], expected: Callable[[int, int, int], str], bits: int
) -> None:
    made = generator(bits)
    for a in range(1 << bits):
        for b in range(1 << bits):
            assert evaluate(made, number(a, bits) + number(b, bits)) == expected(a, b, bits)


@pytest.mark.parametrize("generator", [circuit.adder, circuit.lookahead_adder, circuit.multiplier])
def test_arithmetic_is_right_for_large_numbers(generator: Callable[[int], Circuit]) -> None:
    made, choose = generator(32), random.Random(0)
    for _ in range(50):
        a, b = choose.getrandbits(32), choose.getrandbits(32)
        wanted = a * b if generator is circuit.multiplier else a + b
        assert evaluate(made, number(a, 32) + number(b, 32)) == number(wanted, len(made.outputs))


@pytest.mark.parametrize("inputs", range(1, 11))
def test_counting_circuits_count(inputs: int) -> None:
    half = inputs // 2
    sort, parity, majority = circuit.sorting_network(inputs), circuit.parity(inputs), circuit.majority(inputs)
    some = circuit.threshold(inputs, half)
    tables = [truth_table(made) for made in (sort, parity, majority, some)]
    for row in range(1 << inputs):
        ones = row.bit_count()
        assert list(tables[0][row]) == [k < ones for k in range(inputs)]
        assert [table[row][0] for table in tables[1:]] == [ones % 2 == 1, 2 * ones > inputs, ones >= half]


def test_addition_by_lookahead_has_constant_depth() -> None:
    assert {circuit.lookahead_adder(bits).depth for bits in (3, 8, 20)} == {4}
    assert circuit.adder(20).depth > circuit.adder(10).depth


def test_the_interrupt_controller_serves_the_highest_channel_of_the_first_bus() -> None:
    made, choose = read_source("interrupt-controller"), random.Random(1)
    assert isinstance(made, Circuit)
    assert (made.width, len(made.outputs), made.size) == (36, 7, 160)
    for _ in range(500):
        rate = choose.choice([0.1, 0.3, 0.6])
        word = "".join(str(int(choose.random() < (0.7 if k < 9 else rate))) for k in range(36))
        enabled, *buses = (word[k : k + 9] for k in (0, 9, 18, 27))
        requested = [[one == other == "1" for one, other in zip(bus, enabled, strict=True)] for bus in buses]
        leader = next((bus for bus in requested if any(bus)), None)
        expected = "0000000"
        if leader:
            channel = max(k for k in range(9) if leader[k])
            expected = "".join(str(int(bus[channel])) for bus in requested) + number(channel + 1, 4)
        assert evaluate(made, word) == expected


def test_an_invalid_width_is_refused() -> None:
    for bits in (0, -1, 5000):
        with pytest.raises(UsageError, match="between 1 and 4096"):
            circuit.adder(bits)
