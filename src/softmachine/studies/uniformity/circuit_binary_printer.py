"""Printer of the transformer of Theorem 4.1: circuits of AND, OR and NOT with n inputs, by binary addresses.

The programs show that the construction of Theorem 4.1 of "Revisiting Padded Transformer Expressivity" is L-uniform. The
coordinates of the residual stream, with p bits per address, are: the input bit; p bits of the target; flags of the
deciding value of a gate (1, 0) and of gates; p bits of the source; p bits of the own address; the value of the wire;
the output of head "wire"; a flag of arguments; the argument; the output of head "decides"; flags of plain gates and of
NOT.
"""

from __future__ import annotations

from softmachine.studies.uniformity.circuit_families import AND, NOT, OR, CircuitDescription, wire_at
from softmachine.studies.uniformity.stdlib import TapeIO, bit_length
from softmachine.studies.uniformity.weight_printer import (
    print_address_keys,
    print_address_query,
    print_bit_outputs,
    print_both_signs,
    print_clear,
    print_identity,
    print_round_to_bit,
    print_signed_bits,
    print_zeros,
)


def address_bits(wires: int) -> int:
    """Return the number of signed bits of an address: at least two, so that zero differs from every address."""
    bits = bit_length(wires - 1)
    return 2 if bits < 2 else bits


def print_weights(tape: TapeIO, family: CircuitDescription) -> None:
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
    print_identity(tape, 0, value - 1, 1)
    tape.line("positions", value - 1, is_argument, "1")
    tape.line("positions", value, plain, "1")
    tape.line("positions", value + 1, negated, "1")
    tape.line("block", family.depth(n))
    # An argument fetches the bit of the wire that it refers to.
    tape.line("layer")
    tape.line("head all j average-hard")
    print_address_query(tape, 0, source, p)
    print_address_keys(tape, 0, own, p)
    tape.line("value", "0", value, "1")
    tape.line("output", wire, "0", "1")
    tape.line("units", "10")
    print_round_to_bit(tape, 0, wire, is_argument)
    tape.line("second", argument, "0", "10")
    tape.line("second", argument, "1", "-10")
    # A gate finds the argument that decides it.
    tape.line("layer")
    tape.line("head all j average-hard")
    row = p + p
    print_address_query(tape, 0, 1, p)
    tape.line("query+", row, "10")
    tape.line("query+", row + 1, "10")
    tape.line("query", row + 2, wants_one, "10")
    tape.line("query", row + 3, wants_zero, "10")
    print_address_keys(tape, 0, 1, p)
    tape.line("key", row, gate, "-1")
    tape.line("key", row + 1, gate, "-1")
    tape.line("key", row + 2, argument, "1")
    tape.line("key+", row + 2, "-1")
    tape.line("key", row + 3, argument, "-1")
    tape.line("value", "0", argument, "1")
    tape.line("output", decides, "0", "1")
    tape.line("units", "1100")
    print_round_to_bit(tape, 0, decides, plain)
    print_round_to_bit(tape, 2, decides, negated)
    print_value_change(tape, value, negated, wire, argument, decides)
    tape.line("second", value, "0", "10")
    tape.line("second", value, "1", "-10")
    tape.line("second", value, "10", "-10")
    tape.line("second", value, "11", "10")
    print_clear_outputs(tape, value, wire, argument, decides)
    print_bit_outputs(tape, value)


def print_value_change(tape: TapeIO, value: int, negated: int, wire: int, argument: int, decides: int) -> None:
    """Print hidden units 4 to 11: the change of the wire, apart from its gate, and the values to clear."""
    tape.line("first", "100", "0", "1")
    tape.line("first", "100", value, "-1")
    tape.line("first", "100", negated, "1")
    tape.line("first", "101", "0", "-1")
    tape.line("first", "101", value, "1")
    tape.line("first", "101", negated, "-1")
    print_both_signs(tape, 6, wire)
    print_both_signs(tape, 8, argument)
    print_both_signs(tape, 10, decides)


def print_clear_outputs(tape: TapeIO, value: int, wire: int, argument: int, decides: int) -> None:
    """Print the output weights of hidden units 4 to 11."""
    tape.line("second", value, "100", "1")
    tape.line("second", value, "101", "-1")
    print_clear(tape, 6, wire)
    print_clear(tape, 8, argument)
    print_clear(tape, 10, decides)


def print_features(tape: TapeIO, family: CircuitDescription) -> None:
    """Print the position features of position i, from 1ⁿ and i in binary (machine M₂)."""
    n = tape.unary()
    i = tape.binary()
    p = address_bits(family.wires(n))
    g, which = wire_at(family, n, i)
    kind = family.kind(n, g) if g >= n else NOT + 1
    is_gate = 1 if g >= n and which == 0 else 0
    print_signed_bits(tape, g, p)
    tape.line(1 if kind == OR else 0)
    tape.line(1 if kind in (AND, NOT) else 0)
    tape.line(is_gate)
    source = family.argument(n, g, which - 1) if which > 0 else g
    print_signed_bits(tape, source, p)
    if which > 0:
        print_zeros(tape, p)
    else:
        print_signed_bits(tape, g, p)
    tape.line(1 if which > 0 else 0)
    tape.line(1 if is_gate == 1 and kind < NOT else 0)
    tape.line(1 if is_gate == 1 and kind == NOT else 0)
