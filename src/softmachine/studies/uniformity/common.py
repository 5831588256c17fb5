"""What the programs of all families print alike: flags, addresses, fractions, and how a loop clears what it stored."""

from __future__ import annotations

from softmachine.studies.uniformity.library import common_divisor
from softmachine.studies.uniformity.programs import Tapes


def signed_bits(tape: Tapes, address: int, width: int) -> None:
    """An address as signed bits, the lowest first, a line each."""
    for _ in range(width):
        if address % 2 == 1:
            tape.line("1")
        else:
            tape.line("-1")
        address //= 2


def zeros(tape: Tapes, count: int) -> None:
    """So many lines with a 0."""
    for _ in range(count):
        tape.line("0")


def fraction(tape: Tapes, numerator: int, denominator: int) -> None:
    """A fraction in lowest terms, on a line of its own."""
    divisor = common_divisor(numerator, denominator)
    tape.put(numerator // divisor)
    if divisor < denominator:
        tape.put("/", denominator // divisor)
    tape.put("\n")


def matched(tape: Tapes, row: int, first: int, width: int) -> None:
    """Rows of a query that wants the signed bits at coordinates from ``first`` on (Lemma B.3)."""
    for k in range(width):
        tape.line("query", row + k + k, first + k, "10")
        tape.line("query+", row + k + k + 1, "10")


def held(tape: Tapes, row: int, first: int, width: int) -> None:
    """Rows of a key that holds the signed bits at coordinates from ``first`` on (Lemma B.3)."""
    for k in range(width):
        tape.line("key", row + k + k, first + k, "1")
        tape.line("key+", row + k + k + 1, "-1")


def settles(tape: Tapes, unit: int, number: int, where: int) -> None:
    """Two hidden units that round a number to a bit where another one is 1: from 5/4 and from 7/4 on."""
    tape.line("first", unit, number, "1")
    tape.line("first", unit, where, "1")
    tape.line("first+", unit, "-101/100")
    tape.line("first", unit + 1, number, "1")
    tape.line("first", unit + 1, where, "1")
    tape.line("first+", unit + 1, "-111/100")


def both_signs(tape: Tapes, unit: int, coordinate: int) -> None:
    """Two hidden units that hold a number: ReLU(x) and ReLU(-x)."""
    tape.line("first", unit, coordinate, "1")
    tape.line("first", unit + 1, coordinate, "-1")


def cleared(tape: Tapes, unit: int, coordinate: int) -> None:
    """A coordinate becomes 0: what its two units hold is taken away."""
    tape.line("second", coordinate, unit, "-1")
    tape.line("second", coordinate, unit + 1, "1")


def identity(tape: Tapes, first: int, count: int, coordinate: int) -> None:
    """Features from ``first`` on have coordinates of their own, from ``coordinate`` on."""
    for k in range(count):
        tape.line("positions", first + k, coordinate + k, "1")


def yes_or_no(tape: Tapes, coordinate: int) -> None:
    """Two outputs: whether a bit is 0, and whether it is 1."""
    tape.line("outputs", "10")
    tape.line("unembedding", "0", coordinate, "-1")
    tape.line("unembedding+", "0", "1/10")
    tape.line("unembedding", "1", coordinate, "1")
    tape.line("unembedding+", "1", "-1/10")
