"""Printer of the transformer of Theorem 4.1: circuits of AND, OR and NOT with n inputs, by binary addresses.

The programs show that the construction of Theorem 4.1 of "Revisiting Padded Transformer Expressivity" is L-uniform. The
coordinates of the residual stream, with p bits per address, are: the input bit; p bits of the target; flags of the
deciding value of a gate (1, 0) and of gates; p bits of the source; p bits of the own address; the value of the wire;
the output of head "wire"; a flag of arguments; the argument; the output of head "decides"; flags of plain gates and of
NOT.
"""

from __future__ import annotations

from softmachine.studies.uniformity.circuit_families import AND, NOT, OR, CircuitFamily, placed
from softmachine.studies.uniformity.stdlib import Tapes, length
from softmachine.studies.uniformity.weight_printer import (
    both_signs,
    cleared,
    held,
    identity,
    matched,
    settles,
    signed_bits,
    yes_or_no,
    zeros,
)


def address_bits(wires: int) -> int:
    """Return the number of signed bits of an address: at least two, so that zero differs from every address."""
    bits = length(wires - 1)
    return 2 if bits < 2 else bits


def weights(tape: Tapes, family: CircuitFamily) -> None:
    """Print the weights of the transformer for n inputs, from 1ⁿ (machine M₁)."""
    n = tape.unary()
    p = address_bits(family.wires(n))
    wants_one = 1 + p
    wants_zero = wants_one + 1
    gate = wants_zero + 1
    source = gate + 1
    own = source + p
    value = own + p
    wire = value + 1
    is_argument = wire + 1
    argument = is_argument + 1
    decides = argument + 1
    plain = decides + 1
    negated = plain + 1
    tape.line("width", negated + 1)
    tape.line("tokens", "11")
    tape.line("embedding", "1", "0", "1")
    tape.line("embedding", "1", value, "1")
    tape.line("features", value + 2)
    identity(tape, 0, value - 1, 1)
    tape.line("positions", value - 1, is_argument, "1")
    tape.line("positions", value, plain, "1")
    tape.line("positions", value + 1, negated, "1")
    tape.line("block", family.depth(n))
    # An argument fetches the bit of the wire that it refers to.
    tape.line("layer")
    tape.line("head all j average-hard")
    matched(tape, 0, source, p)
    held(tape, 0, own, p)
    tape.line("value", "0", value, "1")
    tape.line("output", wire, "0", "1")
    tape.line("units", "10")
    settles(tape, 0, wire, is_argument)
    tape.line("second", argument, "0", "10")
    tape.line("second", argument, "1", "-10")
    # A gate finds the argument that decides it.
    tape.line("layer")
    tape.line("head all j average-hard")
    row = p + p
    matched(tape, 0, 1, p)
    tape.line("query+", row, "10")
    tape.line("query+", row + 1, "10")
    tape.line("query", row + 2, wants_one, "10")
    tape.line("query", row + 3, wants_zero, "10")
    held(tape, 0, 1, p)
    tape.line("key", row, gate, "-1")
    tape.line("key", row + 1, gate, "-1")
    tape.line("key", row + 2, argument, "1")
    tape.line("key+", row + 2, "-1")
    tape.line("key", row + 3, argument, "-1")
    tape.line("value", "0", argument, "1")
    tape.line("output", decides, "0", "1")
    tape.line("units", "1100")
    settles(tape, 0, decides, plain)
    settles(tape, 2, decides, negated)
    changes(tape, value, negated, wire, argument, decides)
    tape.line("second", value, "0", "10")
    tape.line("second", value, "1", "-10")
    tape.line("second", value, "10", "-10")
    tape.line("second", value, "11", "10")
    clears(tape, value, wire, argument, decides)
    yes_or_no(tape, value)


def changes(tape: Tapes, value: int, negated: int, wire: int, argument: int, decides: int) -> None:
    """Print hidden units 4 to 11: the change of the wire, apart from its gate, and the values to clear."""
    tape.line("first", "100", "0", "1")
    tape.line("first", "100", value, "-1")
    tape.line("first", "100", negated, "1")
    tape.line("first", "101", "0", "-1")
    tape.line("first", "101", value, "1")
    tape.line("first", "101", negated, "-1")
    both_signs(tape, 6, wire)
    both_signs(tape, 8, argument)
    both_signs(tape, 10, decides)


def clears(tape: Tapes, value: int, wire: int, argument: int, decides: int) -> None:
    """Print the output weights of hidden units 4 to 11."""
    tape.line("second", value, "100", "1")
    tape.line("second", value, "101", "-1")
    cleared(tape, 6, wire)
    cleared(tape, 8, argument)
    cleared(tape, 10, decides)


def features(tape: Tapes, family: CircuitFamily) -> None:
    """Print the position features of position i, from 1ⁿ and i in binary (machine M₂)."""
    n = tape.unary()
    i = tape.binary()
    p = address_bits(family.wires(n))
    g, which = placed(family, n, i)
    kind = family.kind(n, g) if g >= n else NOT + 1
    is_gate = 1 if g >= n and which == 0 else 0
    signed_bits(tape, g, p)
    tape.line(1 if kind == OR else 0)
    tape.line(1 if kind in (AND, NOT) else 0)
    tape.line(is_gate)
    source = family.argument(n, g, which - 1) if which > 0 else g
    signed_bits(tape, source, p)
    if which > 0:
        zeros(tape, p)
    else:
        signed_bits(tape, g, p)
    tape.line(1 if which > 0 else 0)
    tape.line(1 if is_gate == 1 and kind < NOT else 0)
    tape.line(1 if is_gate == 1 and kind == NOT else 0)
