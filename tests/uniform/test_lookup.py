"""Lemma B.1: functions on logarithmically many bits as circuits of depth 3, printed in logarithmic space."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from softmachine.languages.circuit import evaluate
from softmachine.studies.uniformity.python_to_machine import compile_machine
from softmachine.studies.uniformity.stdlib import (
    BitFunction,
    bit_length,
    isqrt,
    parse_circuit,
    print_table,
    run_in_python,
)
from softmachine.studies.uniformity.transducer import encode_input


class Square:
    """The square of a number of ⌊log₂ n⌋ + 1 bits."""

    @staticmethod
    def bits(n: int) -> int:
        """The bits of n."""
        return bit_length(n)

    @staticmethod
    def outputs(n: int) -> int:
        """Twice as many."""
        return 2 * bit_length(n)

    @staticmethod
    def value(x: int) -> int:
        """x²."""
        return x * x


class Root:
    """The integer square root of a number of ⌊log₂ n⌋ + 1 bits."""

    @staticmethod
    def bits(n: int) -> int:
        """The bits of n."""
        return bit_length(n)

    @staticmethod
    def outputs(n: int) -> int:
        """Half as many, rounded up."""
        return (bit_length(n) + 1) // 2

    @staticmethod
    def value(x: int) -> int:
        """⌊√x⌋."""
        return isqrt(x)


@pytest.mark.parametrize("function", [Square(), Root()])
def test_a_function_on_logarithmically_many_bits_is_a_circuit_of_depth_3(function: BitFunction) -> None:
    """Size at most n^c + c log₂ n + m with 2^bits = n^c, in O(log n) cells: at seven sizes."""
    printer = compile_machine("a table", print_table, function)
    cells = []
    for n in (1, 3, 7, 15, 31, 63, 127):
        work = printer.start(encode_input(n))
        text = work.read_output()
        assert text == run_in_python(print_table, (function,), n)
        bits, outputs = function.bits(n), function.outputs(n)
        circuit = parse_circuit("table", bits, outputs, text)
        assert circuit.depth <= 3
        assert circuit.size <= 2**bits + bits + outputs
        for x in range(2**bits):
            given = f"{x:0{bits}b}"[::-1]
            assert int(evaluate(circuit, given)[::-1], 2) == (x * x if isinstance(function, Square) else math.isqrt(x))
        cells.append(work.cells)
    grown = [later - earlier for earlier, later in pairwise(cells)]
    assert max(grown[2:]) <= max(grown[:2]) + 8
    assert cells[-1] < 3 * cells[1]
