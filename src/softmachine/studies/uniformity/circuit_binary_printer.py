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
    tape.put(f"width {negated + 1:b}\ntokens 11\nembedding 1 0 1\nembedding 1 {value:b} 1\nfeatures {value + 2:b}\n")
    print_identity(tape, 0, value - 1, 1)
    tape.put(
        f"positions {value - 1:b} {is_argument:b} 1\n"
        f"positions {value:b} {plain:b} 1\n"
        f"positions {value + 1:b} {negated:b} 1\n"
        f"block {family.depth(n):b}\n"
        # An argument fetches the bit of the wire that it refers to.
        "layer\n"
        "head all j average-hard\n"
    )
    print_address_query(tape, 0, source, p)
    print_address_keys(tape, 0, own, p)
    tape.put(f"value 0 {value:b} 1\noutput {wire:b} 0 1\nunits 10\n")
    print_round_to_bit(tape, 0, wire, is_argument)
    tape.put(
        f"second {argument:b} 0 10\n"
        f"second {argument:b} 1 -10\n"
        # A gate finds the argument that decides it.
        "layer\n"
        "head all j average-hard\n"
    )
    row = p + p
    print_address_query(tape, 0, 1, p)
    tape.put(
        f"query+ {row:b} 10\n"
        f"query+ {row + 1:b} 10\n"
        f"query {row + 2:b} {wants_one:b} 10\n"
        f"query {row + 3:b} {wants_zero:b} 10\n"
    )
    print_address_keys(tape, 0, 1, p)
    tape.put(
        f"key {row:b} {gate:b} -1\n"
        f"key {row + 1:b} {gate:b} -1\n"
        f"key {row + 2:b} {argument:b} 1\n"
        f"key+ {row + 2:b} -1\n"
        f"key {row + 3:b} {argument:b} -1\n"
        f"value 0 {argument:b} 1\n"
        f"output {decides:b} 0 1\n"
        "units 1100\n"
    )
    print_round_to_bit(tape, 0, decides, plain)
    print_round_to_bit(tape, 2, decides, negated)
    print_value_change(tape, value, negated, wire, argument, decides)
    tape.put(f"second {value:b} 0 10\nsecond {value:b} 1 -10\nsecond {value:b} 10 -10\nsecond {value:b} 11 10\n")
    print_clear_outputs(tape, value, wire, argument, decides)
    print_bit_outputs(tape, value)


def print_value_change(tape: TapeIO, value: int, negated: int, wire: int, argument: int, decides: int) -> None:
    """Print hidden units 4 to 11: the change of the wire, apart from its gate, and the values to clear."""
    tape.put(
        "first 100 0 1\n"
        f"first 100 {value:b} -1\n"
        f"first 100 {negated:b} 1\n"
        "first 101 0 -1\n"
        f"first 101 {value:b} 1\n"
        f"first 101 {negated:b} -1\n"
    )
    print_both_signs(tape, 6, wire)
    print_both_signs(tape, 8, argument)
    print_both_signs(tape, 10, decides)


def print_clear_outputs(tape: TapeIO, value: int, wire: int, argument: int, decides: int) -> None:
    """Print the output weights of hidden units 4 to 11."""
    tape.put(f"second {value:b} 100 1\nsecond {value:b} 101 -1\n")
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
    tape.put(f"{kind == OR:b}\n{kind in (AND, NOT):b}\n{is_gate:b}\n")
    source = family.argument(n, g, which - 1) if which > 0 else g
    print_signed_bits(tape, source, p)
    if which > 0:
        print_zeros(tape, p)
    else:
        print_signed_bits(tape, g, p)
    tape.put(f"{which > 0:b}\n{is_gate == 1 and kind < NOT:b}\n{is_gate == 1 and kind == NOT:b}\n")
