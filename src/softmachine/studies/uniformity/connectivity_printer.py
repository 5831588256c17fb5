"""Printer of the transformer of Theorem C.1: connectivity of graphs with n vertices.

The programs show that the construction of Theorem C.1 of "Revisiting Padded Transformer Expressivity" is L-uniform. The
coordinates of the residual stream of T_n, with p = ⌈log₂ n⌉, are: the edge; whether i = j; p bits of i and of j; a flag
of pairs; p bits of k; a flag of triples; whether j is known to be reachable; the outputs of the three heads and "path
over k".
"""

from __future__ import annotations

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
)


def print_weights(tape: TapeIO) -> None:
    """Print the weights of the transformer for n vertices, from 1ⁿ (machine M₁)."""
    n = tape.unary()
    p = bit_length(n - 1)
    j = 2 + p
    pair = j + p
    k = pair + 1
    triple = k + p
    reached = triple + 1
    before = reached + 1  # from i to k
    after = before + 1  # from k to j
    both = after + 1
    some = both + 1  # from i to j over some k
    tape.line("width", some + 1)
    tape.line("tokens", "11")
    tape.line("embedding", "0", reached, "1")
    tape.line("embedding", "1", "0", "1")
    tape.line("embedding", "1", reached, "1")
    tape.line("embedding", "10", reached, "1")
    tape.line("features", triple)
    print_identity(tape, 0, triple, 1)
    tape.line("block", "1")
    tape.line("layer")
    tape.line("units", "1")
    tape.line("first", "0", "0", "-1")
    tape.line("first", "0", "1", "-1")
    tape.line("first+", "0", "1")
    tape.line("second", reached, "0", "-1")
    # Every iteration doubles the length of the paths.
    tape.line("block", p)
    tape.line("layer")
    print_half_path(tape, p, 2, k, triple, reached, before)
    print_half_path(tape, p, k, j, triple, reached, after)
    tape.line("units", "10")
    print_path_sum(tape, 0, triple, before)
    tape.line("first+", "0", "-1001/100")
    print_path_sum(tape, 1, triple, before)
    tape.line("first+", "1", "-1011/100")
    tape.line("second", both, "0", "10")
    tape.line("second", both, "1", "-10")
    tape.line("layer")
    print_pair_query(tape, p, 2, j)
    row = 4 * p
    tape.line("query+", row + 2, "10")
    print_pair_keys(tape, p, pair)
    tape.line("key", row + 2, both, "1")
    tape.line("key+", row + 2, "-1")
    tape.line("value", "0", both, "1")
    tape.line("output", some, "0", "1")
    tape.line("units", "1100")
    print_round_to_bit(tape, 0, pair, some)
    tape.line("first", "10", reached, "-1")
    tape.line("first", "11", reached, "1")
    for c in range(4):
        print_both_signs(tape, 4 + c + c, before + c)
    tape.line("second", reached, "0", "10")
    tape.line("second", reached, "1", "-10")
    tape.line("second", reached, "10", "1")
    tape.line("second", reached, "11", "-1")
    for c in range(4):
        print_clear(tape, 4 + c + c, before + c)
    print_bit_outputs(tape, reached)


def print_half_path(tape: TapeIO, p: int, one: int, other: int, avoided: int, reached: int, into: int) -> None:
    """Print a head that fetches whether a path of half the length leads from one vertex to another."""
    print_pair_query(tape, p, one, other)
    print_pair_keys(tape, p, avoided)
    tape.line("value", "0", reached, "1")
    tape.line("output", into, "0", "1")


def print_pair_query(tape: TapeIO, p: int, one: int, other: int) -> None:
    """Print a query for the position of a pair of vertices."""
    tape.line("head all j average-hard")
    print_address_query(tape, 0, one, p)
    print_address_query(tape, p + p, other, p)
    tape.line("query+", 4 * p, "10")
    tape.line("query+", 4 * p + 1, "10")


def print_pair_keys(tape: TapeIO, p: int, avoided: int) -> None:
    """Print the keys: i and j of every position without the flag ``avoided``."""
    print_address_keys(tape, 0, 2, p)
    print_address_keys(tape, p + p, 2 + p, p)
    tape.line("key", 4 * p, avoided, "-1")
    tape.line("key", 4 * p + 1, avoided, "-1")


def print_path_sum(tape: TapeIO, unit: int, triple: int, before: int) -> None:
    """Print a hidden unit that adds two paths and the flag of triples."""
    tape.line("first", unit, triple, "1")
    tape.line("first", unit, before, "1")
    tape.line("first", unit, before + 1, "1")


def print_features(tape: TapeIO) -> None:
    """Print the position features of position i, from 1ⁿ and i in binary (machine M₂)."""
    n = tape.unary()
    position = tape.binary()
    p = bit_length(n - 1)
    pairs = n * n
    is_pair = 1
    one = position // n
    other = position % n
    between = other
    if position >= pairs:
        is_pair = 0
        position -= pairs
        one = position // pairs
        between = position // n % n
    tape.line(1 if is_pair == 1 and one == other else 0)
    print_signed_bits(tape, one, p)
    print_signed_bits(tape, other, p)
    tape.line(is_pair)
    print_signed_bits(tape, between, p)
    tape.line(1 - is_pair)
