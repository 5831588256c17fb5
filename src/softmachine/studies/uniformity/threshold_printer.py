"""Printer of the transformer of Theorem 5.1 (b): an evaluator of threshold circuits with T tokens, of constant width.

The programs show that the construction of Theorem 5.1 (b) of "Revisiting Padded Transformer Expressivity" is L-uniform.
The width is 33 for every T. The magnitudes grow: 2^p and 4^p, with p = ⌈log₂ T⌉, encode "not here" and "nowhere".

The coordinates of the residual stream are: the input; i + 3p + 3, i, i² and i - 1; the number read so far and the
predecessor's; flags of bits 1 and of bits; the output of head "gate", a flag of gates, the own number of gates;
i + 2p + 1, the number there, a flag of arguments, the own number of gates and arguments, its square, the key of
members; i + p, the number there, the source; a flag of inputs, number and square of the wire; its value, "wire",
"argument"; i + p + 1, the number there, 1/2 minus the threshold; the balance; flags of plain gates and of NOT.
"""

from __future__ import annotations

from softmachine.studies.uniformity.circuit_binary_printer import address_bits, print_clear_outputs, print_value_change
from softmachine.studies.uniformity.evaluator_printer import clip_position
from softmachine.studies.uniformity.stdlib import TapeIO, power, power_of_two
from softmachine.studies.uniformity.weight_printer import print_bit_outputs, print_identity, print_round_to_bit


def print_weights(tape: TapeIO, exponent: int) -> None:
    """Print the weights of the evaluator for n tokens, with ⌈log₂ n⌉^exponent iterations, from 1ⁿ (machine M₁)."""
    n = tape.unary()
    p = address_bits(n)
    nowhere = power_of_two(p + p)
    tape.put("width 100001\ntokens 1100\n")
    for token in range(12):
        print_embedding(tape, token, nowhere)
    tape.put("features 111\n")
    print_identity(tape, 0, 4, 1)
    tape.put("positions 100 1100 1\npositions 101 10010 1\npositions 110 11011 1\n")
    print_layers(tape, p, power(p, exponent))


def print_embedding(tape: TapeIO, token: int, nowhere: int) -> None:
    """Print the embedding of a token: x=0, x=1, AND, OR, NOT, THR, ≥, &, #, 0, 1 or padding."""
    if token == 1:
        tape.put(f"embedding {token:b} 0 1\n")
    if token in (2, 3, 4, 5):
        tape.put(
            f"embedding {token:b} 1010 1\n"
            f"embedding {token:b} 11101 1/10\n"
            f"embedding {token:b} {32 if token == 4 else 31:b} 1\n"
        )
    else:
        if token == 10:
            tape.put(f"embedding {token:b} 111 1\n")
        if token in (9, 10):
            tape.put(f"embedding {token:b} 1000 1\n")
        if token == 7:
            tape.put(f"embedding {token:b} 1110 1\n")
        else:
            tape.put(f"embedding {token:b} 10001 {nowhere:b}\n")
        if token < 2:
            tape.put(f"embedding {token:b} 10101 1\n")
        else:
            tape.put(f"embedding {token:b} 10111 {nowhere:b}\n")
    if token == 1:
        tape.put(f"embedding {token:b} 11000 1\n")


def print_layers(tape: TapeIO, p: int, turns: int) -> None:
    """Print all layers, for numbers of p bits, and the outputs."""
    end = power_of_two(p)
    nowhere = end * end
    tape.put("block 1\nlayer\nunits 10\n")
    print_gated(tape, 0, 2, 21, end)
    print_gated(tape, 1, 3, 21, nowhere)
    tape.put(f"second 10110 0 1\nsecond 10111 1 1\nblock {p:b}\nlayer\n")
    print_fetch(tape, 4, 5, 6)
    tape.put(
        "units 101\n"
        "first 0 110 10\n"
        "first 0 111 1\n"
        f"first 0 1000 {end:b}\n"
        f"first+ 0 -{end:b}\n"
        "first 1 101 -1\n"
        "first 10 101 1\n"
        "first 11 110 1\n"
        "first 100 110 -1\n"
        "second 101 0 1\n"
        "second 101 1 1\n"
        "second 101 10 -1\n"
        "second 110 11 -1\n"
        "second 110 100 1\n"
        "block 1\n"
    )
    print_fetch_layers(tape, end, nowhere)
    tape.put(f"block {turns:b}\n")
    print_gate_iteration(tape, 4 * end)
    print_bit_outputs(tape, 24)


def print_gated(tape: TapeIO, unit: int, number: int, where: int, end: int) -> None:
    """Print a hidden unit that keeps a number where a bit, at a larger coordinate, is 1."""
    tape.put(f"first {unit:b} {number:b} 1\nfirst {unit:b} {where:b} {end:b}\nfirst+ {unit:b} -{end:b}\n")


def print_gated_swapped(tape: TapeIO, unit: int, where: int, number: int, end: int) -> None:
    """Print a hidden unit that keeps a number where a bit, at a smaller coordinate, is 1."""
    tape.put(f"first {unit:b} {where:b} {end:b}\nfirst {unit:b} {number:b} 1\nfirst+ {unit:b} -{end:b}\n")


def print_fetch(tape: TapeIO, address: int, value: int, into: int) -> None:
    """Print a head that fetches a number from the position given by an address: 2ak - k² is largest at k = a."""
    print_address_head(tape, address, 2, 3)
    tape.put(f"value 0 {value:b} 1\noutput {into:b} 0 1\n")


def print_address_head(tape: TapeIO, address: int, number: int, square: int) -> None:
    """Print a head that attends to the position whose number equals an address."""
    tape.put(f"head all j average-hard\nquery 0 {address:b} 10\nquery+ 1 -1\nkey 0 {number:b} 1\nkey 1 {square:b} 1\n")


def print_fetch_layers(tape: TapeIO, end: int, nowhere: int) -> None:
    """Print two layers that fetch numbers from fixed distances ahead, and their squares."""
    tape.put("layer\n")
    print_fetch(tape, 1, 5, 9)
    print_fetch(tape, 12, 5, 13)
    print_fetch(tape, 18, 5, 19)
    print_fetch(tape, 27, 5, 28)
    tape.put("units 100\n")
    print_gated(tape, 0, 9, 10, end)
    print_gated(tape, 1, 13, 14, end)
    print_gated_swapped(tape, 2, 14, 19, end)
    print_gated_swapped(tape, 3, 10, 28, end)
    tape.put(
        "second 1011 0 1\n"
        "second 1111 0 1\n"
        "second 1111 1 1\n"
        "second 10100 10 1\n"
        "second 10110 0 1\n"
        "second 11101 11 -1\n"
        "layer\n"
    )
    print_fetch(tape, 15, 3, 16)
    tape.put("units 10\n")
    print_gated_swapped(tape, 0, 10, 16, nowhere)
    print_gated_swapped(tape, 1, 14, 16, nowhere)
    tape.put("second 10001 0 1\nsecond 10001 1 1\nsecond 10111 0 1\n")


def print_gate_iteration(tape: TapeIO, steepness: int) -> None:
    """Print two layers: arguments fetch the bits of wires, and gates compare their mean with the threshold."""
    tape.put("layer\n")
    print_address_head(tape, 20, 22, 23)
    tape.put("value 0 11000 1\noutput 11001 0 1\nunits 10\n")
    print_round_to_bit(tape, 0, 14, 25)
    tape.put("second 11010 0 10\nsecond 11010 1 -10\nlayer\n")
    print_address_head(tape, 11, 15, 17)
    tape.put("value 0 11010 1\nvalue 0 11101 1\noutput 11110 0 1\nunits 1100\n")
    print_positive(tape, 0, 31, steepness)
    print_positive(tape, 2, 32, steepness)
    print_value_change(tape, 24, 32, 25, 26, 30)
    tape.put("second 11000 0 1\nsecond 11000 1 -1\nsecond 11000 10 -1\nsecond 11000 11 1\n")
    print_clear_outputs(tape, 24, 25, 26, 30)


def print_positive(tape: TapeIO, unit: int, where: int, steepness: int) -> None:
    """Print two hidden units that compute whether the balance is positive, where a bit is 1."""
    for k in range(2):
        tape.put(
            f"first {unit + k:b} 11110 {steepness:b}\n"
            f"first {unit + k:b} {where:b} {steepness + steepness:b}\n"
            f"first+ {unit + k:b} -{steepness + steepness + k:b}\n"
        )


def print_features(tape: TapeIO, exponent: int) -> None:  # noqa: ARG001 - both programs have the same parameters
    """Print the position features of position i, from 1ⁿ and i in binary (machine M₂)."""
    n = tape.unary()
    i = tape.binary()
    p = address_bits(n)
    print_positions(tape, n, p, i)
    tape.put(f"{clip_position(i + 2 * p + 1, n):b}\n{clip_position(i + p, n):b}\n{clip_position(i + p + 1, n):b}\n")


def print_positions(tape: TapeIO, n: int, p: int, i: int) -> None:
    """Print the position i + 3p + 3, or the last one, i and its square, and the position before."""
    tape.put(f"{clip_position(i + 3 * p + 3, n):b}\n{i:b}\n{i * i:b}\n{i - 1 if i > 0 else 0:b}\n")
