"""Programs and their compiled machines agree; unsupported constructs are refused."""

from __future__ import annotations

from math import gcd, isqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.studies.uniformity import stdlib
from softmachine.studies.uniformity.python_to_machine import ProgramError, compile_machine
from softmachine.studies.uniformity.stdlib import Program, TapeIO, run_in_python
from softmachine.studies.uniformity.transducer import BLANK, INPUT, ONE, RIGHT, Action, Transducer, encode_input
from softmachine.support.errors import SoftmachineError


def arithmetic(tape: TapeIO) -> None:
    """All operations of programs on two numbers."""
    n = tape.unary()
    a = tape.binary()
    b = tape.binary()
    tape.put(
        f"numbers {a + b:b} {a * b:b} {a // b:b} {a % b:b} {a // 2:b} {stdlib.bit_length(a):b} {stdlib.isqrt(a):b}\n"
        f"others {stdlib.gcd(a, b):b} {stdlib.power_of_two(n):b} {stdlib.get_bit(a, n):b}\n"
        f"{a if a < b else b:b} {a == b:b} {a - b if a >= b else b - a:b}\n"
    )
    for k in range(1, n):
        for j in range(k):
            tape.put(f"{k:b}-{j:b};")
    if n in (2, 5):
        tape.put("two or five\n")
    if (a == b or not b <= 3) and (n != 2 or a > b):
        a += a
        tape.put(f"yes {a:b}\n")
    elif n > 3:
        b -= b
        tape.put(f"no {b:b}\n")


ARITHMETIC = compile_machine("arithmetic", arithmetic)
NUMBERS = st.one_of(st.integers(0, 9), st.integers(0, 10**9))


@given(st.integers(0, 6), NUMBERS, NUMBERS.map(lambda b: b + 1))
@settings(deadline=None, max_examples=150)
def test_a_machine_prints_what_its_program_prints(n: int, a: int, b: int) -> None:
    assert ARITHMETIC.start(encode_input(n, a, b)).read_output() == run_in_python(arithmetic, (), n, a, b)


@given(NUMBERS, NUMBERS.map(lambda b: b + 1))
def test_the_library_computes_what_it_says(a: int, b: int) -> None:
    assert stdlib.multiply(a, b) == a * b
    assert stdlib.divide(a, b) == divmod(a, b)
    assert stdlib.bit_length(a) == a.bit_length()
    assert stdlib.isqrt(a) == isqrt(a)
    assert stdlib.gcd(a, b) == gcd(a, b)
    assert [stdlib.get_bit(a, k) for k in range(4)] == [a >> k & 1 for k in range(4)]


def count(tape: TapeIO) -> None:
    n = tape.unary()
    tape.put(f"{n:b}\n")


def test_the_meter_counts_the_cells_that_heads_were_on() -> None:
    """n and a copy of it: the mark, ⌊log₂ n⌋ + 1 bits, and the empty cell behind them, on two tapes."""
    counter = compile_machine("a count", count)
    assert counter.num_tapes == 2
    for n in range(1, 300):
        work = counter.start(encode_input(n))
        assert work.read_output() == f"{n:b}\n"
        assert work.cells == 2 * (n.bit_length() + 2)


def below(tape: TapeIO) -> None:
    n = tape.unary()
    tape.put(f"{n - 3:b}\n")


def test_a_machine_gets_stuck_below_zero() -> None:
    less = compile_machine("n - 3", below)
    assert less.start(encode_input(5)).read_output() == "10\n"
    with pytest.raises(SoftmachineError, match="got stuck"):
        less.start(encode_input(2)).read_output()


def endless(tape: TapeIO) -> None:
    n = 1
    while n > 0:
        n += n


def test_a_machine_that_needs_too_much_space_is_stopped() -> None:
    with pytest.raises(SoftmachineError, match="needs more than 4,096 cells"):
        compile_machine("2ⁿ", endless).start("").read_output()


def lists(tape: TapeIO) -> None:
    _ = [1, 2]


def decimal(tape: TapeIO) -> None:
    n = tape.unary()
    tape.put(f"{n}\n")


def forever(tape: TapeIO) -> None:
    forever(tape)


def early(tape: TapeIO) -> None:
    if tape.unary() > 3:
        return
    tape.put("small\n")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (lists, "unsupported construct .*1, 2"),
        (decimal, "unsupported construct .*n"),
        (forever, "is recursive"),
        (early, "returns before its end"),
    ],
)
def test_what_is_no_program_is_refused(program: Program, reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        compile_machine("nothing", program)


def test_no_machine_writes_on_its_input() -> None:
    with pytest.raises(ValueError, match="writes on the input tape"):
        Transducer("nothing", 0, (INPUT, INPUT, INPUT), ({}, {}, {ONE: Action(BLANK, RIGHT, 0)}))
