"""Printing routines shared by the programs of all families: flags, addresses, fractions, rounding, clearing."""

from __future__ import annotations

from softmachine.studies.uniformity.library import common_divisor
from softmachine.studies.uniformity.programs import Tapes


def signed_bits(tape: Tapes, address: int, width: int) -> None:
    """Print an address as signed bits, the lowest first, one per line."""
    for _ in range(width):
        if address % 2 == 1:
            tape.line("1")
        else:
            tape.line("-1")
        address //= 2


def zeros(tape: Tapes, count: int) -> None:
    """Print ``count`` lines with a 0."""
    for _ in range(count):
        tape.line("0")


def fraction(tape: Tapes, numerator: int, denominator: int) -> None:
    """Print a line with a fraction in lowest terms."""
    divisor = common_divisor(numerator, denominator)
    tape.put(numerator // divisor)
    if divisor < denominator:
        tape.put("/", denominator // divisor)
    tape.put("\n")


def matched(tape: Tapes, row: int, first: int, width: int) -> None:
    """Print query rows that match signed bits, stored from coordinate ``first`` (Lemma B.3 of Svete et al. 2026)."""
    for k in range(width):
        tape.line("query", row + k + k, first + k, "10")
        tape.line("query+", row + k + k + 1, "10")


def held(tape: Tapes, row: int, first: int, width: int) -> None:
    """Print key rows of signed bits, stored from coordinate ``first`` (Lemma B.3 of Svete et al. 2026)."""
    for k in range(width):
        tape.line("key", row + k + k, first + k, "1")
        tape.line("key+", row + k + k + 1, "-1")


def settles(tape: Tapes, unit: int, number: int, where: int) -> None:
    """Print two hidden units that round a number to a bit where another is 1; the knees are at 5/4 and 7/4."""
    tape.line("first", unit, number, "1")
    tape.line("first", unit, where, "1")
    tape.line("first+", unit, "-101/100")
    tape.line("first", unit + 1, number, "1")
    tape.line("first", unit + 1, where, "1")
    tape.line("first+", unit + 1, "-111/100")


def both_signs(tape: Tapes, unit: int, coordinate: int) -> None:
    """Print two hidden units that represent a number: ReLU(x) and ReLU(-x)."""
    tape.line("first", unit, coordinate, "1")
    tape.line("first", unit + 1, coordinate, "-1")


def cleared(tape: Tapes, unit: int, coordinate: int) -> None:
    """Print the weights that subtract the two units of a coordinate from it, which sets it to 0."""
    tape.line("second", coordinate, unit, "-1")
    tape.line("second", coordinate, unit + 1, "1")


def identity(tape: Tapes, first: int, count: int, coordinate: int) -> None:
    """Print the embedding of ``count`` features, starting at ``first``, into coordinates starting at ``coordinate``."""
    for k in range(count):
        tape.line("positions", first + k, coordinate + k, "1")


def yes_or_no(tape: Tapes, coordinate: int) -> None:
    """Print the unembedding to two outputs: whether a bit is 0, and whether it is 1."""
    tape.line("outputs", "10")
    tape.line("unembedding", "0", coordinate, "-1")
    tape.line("unembedding+", "0", "1/10")
    tape.line("unembedding", "1", coordinate, "1")
    tape.line("unembedding+", "1", "-1/10")
