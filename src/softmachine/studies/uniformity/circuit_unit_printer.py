"""Printer of the transformer of Lemma 4.1: threshold circuits with n inputs, by unit-vector addresses.

The programs show that the construction of Lemma 4.1 of "Revisiting Padded Transformer Expressivity" is L-uniform. The
residual stream has constant width, and the precision grows: a search finds the smallest precision b of the unit vectors
that distinguishes every pair of addresses, as in compilation.
"""

from __future__ import annotations

from softmachine.studies.uniformity.circuit_binary_printer import print_clear_outputs, print_value_change
from softmachine.studies.uniformity.circuit_families import AND, NOT, OR, CircuitDescription, wire_at
from softmachine.studies.uniformity.stdlib import TapeIO, bit_length, isqrt, power_of_two
from softmachine.studies.uniformity.weight_printer import (
    print_bit_outputs,
    print_fraction,
    print_identity,
    print_round_to_bit,
)

MIN_BITS = 3


def unit_vector(address: int, scale: int) -> tuple[int, int]:
    """Return μ(k) = (√(1/k), √(1 - 1/k)), k = address + 1, in units of 1/scale (Lemma B.4 of Svete et al. 2026)."""
    square = 4 * scale * scale
    first = isqrt(square // (address + 1))
    second = isqrt(square * address // (address + 1))
    return (first + 1) // 2, (second + 1) // 2


def are_distinguishable(addresses: int, scale: int) -> int:
    """Return 1 if every address has a larger product with itself than with any other, exactly and rounded in F_b."""
    good = 1
    wanted = addresses
    while good == 1 and wanted > 0:  # descending: large addresses are closest to each other
        wanted -= 1
        x, y = unit_vector(wanted, scale)
        own = x * x + y * y
        own_rounded = (x * x + 1) // 2 + (y * y + 1) // 2
        other = addresses
        while good == 1 and other > 0:
            other -= 1
            if other != wanted:
                u, v = unit_vector(other, scale)
                first = x * u
                second = y * v
                if first + second >= own or (first + 1) // 2 + (second + 1) // 2 >= own_rounded:
                    good = 0
    return good


def find_precision(addresses: int) -> int:
    """Return 2ᵇ for the smallest b that distinguishes all addresses."""
    scale = power_of_two(MIN_BITS)
    good = are_distinguishable(addresses, scale)
    while good == 0:
        scale += scale
        good = are_distinguishable(addresses, scale)
    return scale


def print_weights(tape: TapeIO, family: CircuitDescription) -> None:
    """Print the weights of the transformer for n inputs, from 1ⁿ (machine M₁)."""
    n = tape.unary()
    scale = find_precision(family.wires(n)) // 2
    steepness = power_of_two(bit_length(4 * family.max_fan_in(n) - 1))
    tape.put("width 10001\ntokens 11\nembedding 1 0 1\nembedding 1 1001 1\nfeatures 1100\n")
    print_identity(tape, 0, 8, 1)
    tape.put("positions 1000 1011 1\n")
    print_identity(tape, 9, 3, 14)
    tape.put(
        f"block {family.depth(n):b}\n"
        # An argument fetches the bit of the wire that it refers to.
        "layer\n"
        "head all j average-hard\n"
        f"query 0 111 {scale:b}\n"
        f"query 1 1000 {scale:b}\n"
        f"query+ 10 -{scale:b}\n"
        "key 0 1 1\n"
        "key 0 10 1\n"
        "key 1 100 1\n"
        "key 1 101 1\n"
        "key+ 10 1\n"
        "value 0 1001 1\n"
        "output 1010 0 1\n"
        "units 10\n"
    )
    print_round_to_bit(tape, 0, 10, 11)
    tape.put(
        "second 1100 0 10\n"
        "second 1100 1 -10\n"
        # A gate compares the share of its arguments that are 1 with its threshold.
        "layer\n"
        "head all j average-hard\n"
    )
    for c in range(3):
        tape.put(f"query 0 {c + 1:b} {scale:b}\n")
    for c in range(3):
        tape.put(f"query 1 {c + 4:b} {scale:b}\n")
    tape.put(
        f"query+ 10 -{scale:b}\n"
        "key 0 1 1\n"
        "key 0 11 1\n"
        "key 1 100 1\n"
        "key 1 110 1\n"
        "key+ 10 1\n"
        "value 0 1100 1\n"
        "output 1101 0 1\n"
        "units 1100\n"
    )
    print_exceeds(tape, 0, 14, steepness)
    print_exceeds(tape, 2, 16, steepness)
    print_value_change(tape, 9, 15, 10, 12, 13)
    tape.put("second 1001 0 1\nsecond 1001 1 -1\nsecond 1001 10 -1\nsecond 1001 11 1\n")
    print_clear_outputs(tape, 9, 10, 12, 13)
    print_bit_outputs(tape, 9)


def print_exceeds(tape: TapeIO, unit: int, limit: int, steepness: int) -> None:
    """Print two hidden units that compute whether the share of ones exceeds a limit."""
    for k in range(2):
        tape.put(f"first {unit + k:b} 1101 {steepness:b}\nfirst {unit + k:b} {limit:b} -{steepness:b}\n")
    tape.put(f"first+ {unit + 1:b} -1\n")


def print_features(tape: TapeIO, family: CircuitDescription) -> None:
    """Print the position features of position i, from 1ⁿ and i in binary (machine M₂)."""
    n = tape.unary()
    i = tape.binary()
    scale = find_precision(family.wires(n))
    g, which = wire_at(family, n, i)
    place = 0  # an input, a gate, or an argument of one
    if g >= n:
        place = 1 if which == 0 else 2
    x, y = unit_vector(g, scale)
    for c in range(3):
        print_fraction(tape, x if c == place else 0, scale)
    for c in range(3):
        print_fraction(tape, y if c == place else 0, scale)
    source = family.argument(n, g, which - 1) if which > 0 else g
    x, y = unit_vector(source, scale)
    print_fraction(tape, x, scale)
    print_fraction(tape, y, scale)
    tape.put(f"{place == 2:b}\n")
    kind = family.kind(n, g) if place == 1 else AND
    print_limit(tape, family, n, g, kind, 1 if place == 1 and kind != NOT else 0)
    tape.put(f"{place == 1 and kind == NOT:b}\n")
    print_limit(tape, family, n, g, kind, 1 if place == 1 and kind == NOT else 0)


def print_limit(tape: TapeIO, family: CircuitDescription, n: int, g: int, kind: int, here: int) -> None:
    """Print (θ - 1/2)/K, the limit of the share of ones of gate g, if ``here`` is 1; otherwise 2."""
    if here == 1:
        arguments = family.fan_in(n, g)
        needed = family.threshold(n, g)
        if kind == AND:
            needed = arguments
        if kind in (OR, NOT):
            needed = 1
        print_fraction(tape, needed + needed - 1, arguments + arguments)
    else:
        tape.put("10\n")
