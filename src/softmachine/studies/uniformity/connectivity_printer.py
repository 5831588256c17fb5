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
    tape.put(
        f"width {some + 1:b}\n"
        "tokens 11\n"
        f"embedding 0 {reached:b} 1\n"
        "embedding 1 0 1\n"
        f"embedding 1 {reached:b} 1\n"
        f"embedding 10 {reached:b} 1\n"
        f"features {triple:b}\n"
    )
    print_identity(tape, 0, triple, 1)
    tape.put(
        "block 1\n"
        "layer\n"
        "units 1\n"
        "first 0 0 -1\n"
        "first 0 1 -1\n"
        "first+ 0 1\n"
        f"second {reached:b} 0 -1\n"
        # Every iteration doubles the length of the paths.
        f"block {p:b}\n"
        "layer\n"
    )
    print_half_path(tape, p, 2, k, triple, reached, before)
    print_half_path(tape, p, k, j, triple, reached, after)
    tape.put("units 10\n")
    print_path_sum(tape, 0, triple, before)
    tape.put("first+ 0 -1001/100\n")
    print_path_sum(tape, 1, triple, before)
    tape.put(f"first+ 1 -1011/100\nsecond {both:b} 0 10\nsecond {both:b} 1 -10\nlayer\n")
    print_pair_query(tape, p, 2, j)
    row = 4 * p
    tape.put(f"query+ {row + 2:b} 10\n")
    print_pair_keys(tape, p, pair)
    tape.put(f"key {row + 2:b} {both:b} 1\nkey+ {row + 2:b} -1\nvalue 0 {both:b} 1\noutput {some:b} 0 1\nunits 1100\n")
    print_round_to_bit(tape, 0, pair, some)
    tape.put(f"first 10 {reached:b} -1\nfirst 11 {reached:b} 1\n")
    for c in range(4):
        print_both_signs(tape, 4 + c + c, before + c)
    tape.put(f"second {reached:b} 0 10\nsecond {reached:b} 1 -10\nsecond {reached:b} 10 1\nsecond {reached:b} 11 -1\n")
    for c in range(4):
        print_clear(tape, 4 + c + c, before + c)
    print_bit_outputs(tape, reached)


def print_half_path(tape: TapeIO, p: int, one: int, other: int, avoided: int, reached: int, into: int) -> None:
    """Print a head that fetches whether a path of half the length leads from one vertex to another."""
    print_pair_query(tape, p, one, other)
    print_pair_keys(tape, p, avoided)
    tape.put(f"value 0 {reached:b} 1\noutput {into:b} 0 1\n")


def print_pair_query(tape: TapeIO, p: int, one: int, other: int) -> None:
    """Print a query for the position of a pair of vertices."""
    tape.put("head all j average-hard\n")
    print_address_query(tape, 0, one, p)
    print_address_query(tape, p + p, other, p)
    tape.put(f"query+ {4 * p:b} 10\nquery+ {4 * p + 1:b} 10\n")


def print_pair_keys(tape: TapeIO, p: int, avoided: int) -> None:
    """Print the keys: i and j of every position without the flag ``avoided``."""
    print_address_keys(tape, 0, 2, p)
    print_address_keys(tape, p + p, 2 + p, p)
    tape.put(f"key {4 * p:b} {avoided:b} -1\nkey {4 * p + 1:b} {avoided:b} -1\n")


def print_path_sum(tape: TapeIO, unit: int, triple: int, before: int) -> None:
    """Print a hidden unit that adds two paths and the flag of triples."""
    tape.put(f"first {unit:b} {triple:b} 1\nfirst {unit:b} {before:b} 1\nfirst {unit:b} {before + 1:b} 1\n")


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
    tape.put(f"{is_pair == 1 and one == other:b}\n")
    print_signed_bits(tape, one, p)
    print_signed_bits(tape, other, p)
    tape.put(f"{is_pair:b}\n")
    print_signed_bits(tape, between, p)
    tape.put(f"{1 - is_pair:b}\n")
