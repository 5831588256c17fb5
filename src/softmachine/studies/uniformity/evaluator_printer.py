"""Printer of the transformer of Lemma C.3: an evaluator of circuits of AND, OR and NOT with T tokens.

The programs show that the construction of Lemma C.3 of "Revisiting Padded Transformer Expressivity" is L-uniform. Only
p = ⌈log₂ T⌉ and the number of iterations depend on T. The residual stream has 16p + 16 coordinates; the first functions
return the offset of each group. The evaluator of a family that is reduced to circuit evaluation has the same layers,
and position features for the tokens of ⟨C_n⟩ (:mod:`softmachine.studies.uniformity.reduction_printer`).
"""

from __future__ import annotations

from softmachine.studies.uniformity.circuit_binary_printer import address_bits, print_clear_outputs, print_value_change
from softmachine.studies.uniformity.stdlib import TapeIO, power
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


def marks_offset(p: int) -> int:
    """Offset of the flags of markers, of tokens after a marker, of bits, and of first bits.

    Before them are the input and p bits each of the positions i + 2p + 2, i and i - 1.
    """
    return 1 + 3 * p


def state_offset(p: int) -> int:
    """Offset of the state of the loop that reads numbers, p - 1 places and p digits; then that of the predecessor."""
    return 5 + 3 * p


def ones_offset(p: int) -> int:
    """Offset of the flags of bits 1 and of first bits 1, and of the p digits of a gate's own number."""
    return 3 + 7 * p


def gates_offset(p: int) -> int:
    """Offset of the flags of gates, inputs and arguments."""
    return 5 + 8 * p


def queries_offset(p: int) -> int:
    """Offset of the p bits that a gate queries its arguments by, and of the flags of its deciding value: 1, or 0."""
    return 8 + 8 * p


def targets_offset(p: int) -> int:
    """Offset of p bits each: the position i + 2p + 1, the number there, the gate that an argument belongs to."""
    return 10 + 9 * p


def sources_offset(p: int) -> int:
    """Offset of p bits each: the position i + p, the number there, the wire that is read, the own wire."""
    return 10 + 12 * p


def wires_offset(p: int) -> int:
    """Offset of the value of the wire, "wire", "argument", "decides", and the flags of plain gates and of NOT."""
    return 10 + 16 * p


def print_weights(tape: TapeIO, exponent: int) -> None:
    """Print the weights of the evaluator for n tokens, from 1ⁿ (machine M₁).

    It makes ⌈log₂ n⌉^exponent iterations (Corollary 5.1 of Svete et al. 2026).
    """
    n = tape.unary()
    p = address_bits(n)
    tape.put(f"width {wires_offset(p) + 6:b}\ntokens 1010\n")
    print_embedding(tape, p)
    tape.put(f"features {5 * p:b}\n")
    print_identity(tape, 0, 3 * p, 1)
    print_identity(tape, 3 * p, p, targets_offset(p))
    print_identity(tape, 4 * p, p, sources_offset(p))
    print_layers(tape, p, power(p, exponent))


def print_embedding(tape: TapeIO, p: int) -> None:
    """Print the embeddings of the tokens x=0, x=1, AND, OR, NOT, &, #, 0, 1 and padding."""
    gate = gates_offset(p)
    wanted = queries_offset(p) + p
    held_by = wires_offset(p)
    tape.put(f"embedding 0 {gate + 1:b} 1\nembedding 1 0 1\nembedding 1 {gate + 1:b} 1\nembedding 1 {held_by:b} 1\n")
    for token in range(2, 5):
        tape.put(f"embedding {token:b} {gate:b} 1\n")
        print_negative_embedding(tape, token, queries_offset(p), p)
        tape.put(f"embedding {token:b} {wanted if token == 3 else wanted + 1:b} 1\n")
        print_negative_embedding(tape, token, sources_offset(p) + 2 * p, 2 * p)
        tape.put(f"embedding {token:b} {held_by + 5 if token == 4 else held_by + 4:b} 1\n")
    for token in range(5, 10):
        if token < 7:
            tape.put(f"embedding {token:b} {marks_offset(p):b} 1\n")
        elif token < 9:
            tape.put(f"embedding {token:b} {marks_offset(p) + 2:b} 1\n")
        if token == 8:
            tape.put(f"embedding {token:b} {ones_offset(p):b} 1\n")
        if token == 5:
            tape.put(f"embedding {token:b} {gate + 2:b} 1\n")
        print_negative_embedding(tape, token, queries_offset(p), p)
        if token == 5:
            print_negative_embedding(tape, token, targets_offset(p) + 2 * p, p)
        print_negative_embedding(tape, token, sources_offset(p) + 2 * p, p)


def print_negative_embedding(tape: TapeIO, token: int, first: int, count: int) -> None:
    """Print -1 at ``count`` coordinates of the embedding of a token."""
    for k in range(count):
        tape.put(f"embedding {token:b} {first + k:b} -1\n")


def print_layers(tape: TapeIO, p: int, turns: int) -> None:
    """Print all layers, for numbers of p bits, and the outputs."""
    print_first_bits(tape, p)
    tape.put(f"block {p:b}\n")
    print_number_layer(tape, p)
    tape.put("block 1\n")
    print_pointers(tape, p)
    tape.put(f"block {turns:b}\n")
    print_gate_iteration(tape, p)
    print_bit_outputs(tape, wires_offset(p))


def print_first_bits(tape: TapeIO, p: int) -> None:
    """Print the layer that flags the first bits of numbers and gives inputs their position as address."""
    tape.put("block 1\nlayer\n")
    print_address_head(tape, p, 1 + 2 * p)
    tape.put(f"value 0 {marks_offset(p):b} 1\noutput {marks_offset(p) + 1:b} 0 1\nunits {4 + 2 * p:b}\n")
    print_round_to_bit(tape, 0, marks_offset(p) + 1, marks_offset(p) + 2)
    print_round_to_bit(tape, 2, marks_offset(p) + 1, ones_offset(p))
    for k in range(p):
        for sign in range(2):
            unit = 4 + k + k + sign
            tape.put(f"first {unit:b} {1 + p + k:b}")
            if sign == 0:
                tape.put(" 1\n")
            else:
                tape.put(" -1\n")
            tape.put(f"first {unit:b} {gates_offset(p) + 1:b} 1\nfirst+ {unit:b} -1\n")
    print_ramp(tape, marks_offset(p) + 3, 0)
    print_ramp(tape, ones_offset(p) + 1, 2)
    print_input_addresses(tape, p, queries_offset(p))
    print_input_addresses(tape, p, targets_offset(p) + 2 * p)
    print_input_addresses(tape, p, sources_offset(p) + 2 * p)
    print_input_addresses(tape, p, sources_offset(p) + 3 * p)


def print_input_addresses(tape: TapeIO, p: int, first: int) -> None:
    """Print the weights that write the position as signed bits, at inputs."""
    for k in range(p):
        tape.put(f"second {first + k:b} {4 + k + k:b} 1\nsecond {first + k:b} {5 + k + k:b} -1\n")


def print_address_head(tape: TapeIO, p: int, address: int) -> None:
    """Print a head that attends to the position whose address is stored at a coordinate."""
    tape.put("head all j average-hard\n")
    print_address_query(tape, 0, address, p)
    print_address_keys(tape, 0, 1 + p, p)


def print_ramp(tape: TapeIO, coordinate: int, unit: int) -> None:
    """Print twice the difference of two hidden units: a ramp from 0 to 1 between their knees."""
    tape.put(f"second {coordinate:b} {unit:b} 10\nsecond {coordinate:b} {unit + 1:b} -10\n")


def print_copy(tape: TapeIO, first: int, count: int, into: int) -> None:
    """Print the value and output matrices of a head that copies ``count`` coordinates."""
    for k in range(count):
        tape.put(f"value {k:b} {first + k:b} 1\n")
    for k in range(count):
        tape.put(f"output {into + k:b} {k:b} 1\n")


def print_number_layer(tape: TapeIO, p: int) -> None:
    """Print the layer that appends every bit to its predecessor's digits (Lemma B.7 of Svete et al. 2026)."""
    carried = 2 * p - 1
    now = state_offset(p)
    before = now + carried
    is_bit = marks_offset(p) + 2
    tape.put("layer\n")
    print_address_head(tape, p, 1 + 2 * p)
    print_copy(tape, now, carried, before)
    tape.put(f"units {14 * p - 10:b}\n")
    for k in range(p - 2):
        print_round_to_bit(tape, k + k, is_bit, before + k)
    unit = 2 * p - 4
    print_round_to_bit(tape, unit, is_bit, before + p - 1)
    for k in range(p - 1):
        print_round_to_bit(tape, unit + 2 + 4 * k, is_bit, before + p + k)
        print_round_to_bit(tape, unit + 4 + 4 * k, before + k, ones_offset(p))
    unit = 6 * p - 6
    for k in range(carried):
        if k == 0:
            print_difference(tape, unit, marks_offset(p) + 3, now)
        elif k == p - 1:
            print_difference_swapped(tape, unit, now + k, ones_offset(p) + 1)
        else:
            print_both_signs_swapped(tape, unit, now + k)
        unit += 2
    for k in range(carried):
        print_both_signs(tape, unit + k + k, before + k)
    print_number_outputs(tape, p)


def print_difference(tape: TapeIO, unit: int, new: int, old: int) -> None:
    """Print two hidden units with the positive and negative part of ``new - old``; ``new`` has the smaller index."""
    tape.put(
        f"first {unit:b} {new:b} 1\n"
        f"first {unit:b} {old:b} -1\n"
        f"first {unit + 1:b} {new:b} -1\n"
        f"first {unit + 1:b} {old:b} 1\n"
    )


def print_difference_swapped(tape: TapeIO, unit: int, old: int, new: int) -> None:
    """Print two hidden units with the positive and negative part of ``new - old``; ``new`` has the larger index."""
    tape.put(
        f"first {unit:b} {old:b} -1\n"
        f"first {unit:b} {new:b} 1\n"
        f"first {unit + 1:b} {old:b} 1\n"
        f"first {unit + 1:b} {new:b} -1\n"
    )


def print_both_signs_swapped(tape: TapeIO, unit: int, coordinate: int) -> None:
    """Print two hidden units that represent a number: ReLU(-x) and ReLU(x)."""
    tape.put(f"first {unit:b} {coordinate:b} -1\nfirst {unit + 1:b} {coordinate:b} 1\n")


def print_number_outputs(tape: TapeIO, p: int) -> None:
    """Print the output weights of the number-reading layer: replace places and digits, clear the predecessor's."""
    now = state_offset(p)
    changed = 6 * p - 6
    for k in range(2 * p - 1):
        if k > 0 and k < p:
            print_ramp(tape, now + k, k + k - 2)
        elif k >= p:
            print_ramp(tape, now + k, 2 * p - 2 + 4 * (k - p))
            print_ramp(tape, now + k, 2 * p + 4 * (k - p))
        tape.put(f"second {now + k:b} {changed + k + k:b} 1\nsecond {now + k:b} {changed + k + k + 1:b} -1\n")
    for k in range(2 * p - 1):
        print_clear(tape, 10 * p - 8 + k + k, now + 2 * p - 1 + k)


def print_pointers(tape: TapeIO, p: int) -> None:
    """Print the layer in which gates fetch their own number, and arguments their two, from fixed distances ahead."""
    digits = state_offset(p) + p - 1
    tape.put("layer\n")
    print_address_head(tape, p, 1)
    print_copy(tape, digits, p, ones_offset(p) + 2)
    print_address_head(tape, p, targets_offset(p))
    print_copy(tape, digits, p, targets_offset(p) + p)
    print_address_head(tape, p, sources_offset(p))
    print_copy(tape, digits, p, sources_offset(p) + p)
    tape.put(f"units {6 * p:b}\n")
    for k in range(p):
        print_conjunction(tape, k + k, ones_offset(p) + 2 + p - 1 - k, gates_offset(p))
    for k in range(p):
        print_conjunction(tape, 2 * p + k + k, gates_offset(p) + 2, targets_offset(p) + 2 * p - 1 - k)
    for k in range(p):
        print_conjunction(tape, 4 * p + k + k, gates_offset(p) + 2, sources_offset(p) + 2 * p - 1 - k)
    for k in range(p):
        print_ramp(tape, queries_offset(p) + k, k + k)
    for k in range(p):
        print_ramp(tape, targets_offset(p) + 2 * p + k, 2 * p + k + k)
    for k in range(p):
        print_ramp(tape, sources_offset(p) + 2 * p + k, k + k)
        print_ramp(tape, sources_offset(p) + 2 * p + k, 4 * p + k + k)
    for k in range(p):
        print_ramp(tape, sources_offset(p) + 3 * p + k, k + k)


def print_conjunction(tape: TapeIO, unit: int, one: int, other: int) -> None:
    """Print two hidden units for twice the AND of two bits: a ramp from 5/4 to 7/4, twice as steep."""
    tape.put(
        f"first {unit:b} {one:b} 10\n"
        f"first {unit:b} {other:b} 10\n"
        f"first+ {unit:b} -101/10\n"
        f"first {unit + 1:b} {one:b} 10\n"
        f"first {unit + 1:b} {other:b} 10\n"
        f"first+ {unit + 1:b} -111/10\n"
    )


def print_gate_iteration(tape: TapeIO, p: int) -> None:
    """Print two layers: arguments fetch the bits of wires, and gates fetch the deciding argument."""
    holds = wires_offset(p)
    tape.put("layer\nhead all j average-hard\n")
    print_address_query(tape, 0, sources_offset(p) + 2 * p, p)
    print_address_keys(tape, 0, sources_offset(p) + 3 * p, p)
    tape.put(f"value 0 {holds:b} 1\noutput {holds + 1:b} 0 1\nunits 10\n")
    print_round_to_bit(tape, 0, gates_offset(p) + 2, holds + 1)
    print_ramp(tape, holds + 2, 0)
    tape.put("layer\nhead all j average-hard\n")
    print_address_query(tape, 0, queries_offset(p), p)
    tape.put(f"query {2 * p:b} {queries_offset(p) + p:b} 10\nquery {2 * p + 1:b} {queries_offset(p) + p + 1:b} 10\n")
    print_address_keys(tape, 0, targets_offset(p) + 2 * p, p)
    tape.put(
        f"key {2 * p:b} {holds + 2:b} 1\n"
        f"key+ {2 * p:b} -1\n"
        f"key {2 * p + 1:b} {holds + 2:b} -1\n"
        f"value 0 {holds + 2:b} 1\n"
        f"output {holds + 3:b} 0 1\n"
        "units 1100\n"
    )
    print_round_to_bit(tape, 0, holds + 3, holds + 4)
    print_round_to_bit(tape, 2, holds + 3, holds + 5)
    print_value_change(tape, holds, holds + 5, holds + 1, holds + 2, holds + 3)
    print_ramp(tape, holds, 0)
    tape.put(f"second {holds:b} 10 -10\nsecond {holds:b} 11 10\n")
    print_clear_outputs(tape, holds, holds + 1, holds + 2, holds + 3)


def print_features(tape: TapeIO, exponent: int) -> None:  # noqa: ARG001 - both programs have the same parameters
    """Print the position features of position i, from 1ⁿ and i in binary (machine M₂)."""
    n = tape.unary()
    i = tape.binary()
    p = address_bits(n)
    print_positions(tape, n, p, i)
    print_signed_bits(tape, clip_position(i + 2 * p + 1, n), p)
    print_signed_bits(tape, clip_position(i + p, n), p)


def print_positions(tape: TapeIO, n: int, p: int, i: int) -> None:
    """Print the positions i + 2p + 2, i and i - 1, clipped to the sequence."""
    print_signed_bits(tape, clip_position(i + 2 * p + 2, n), p)
    print_signed_bits(tape, i, p)
    print_signed_bits(tape, i - 1 if i > 0 else 0, p)


def clip_position(i: int, n: int) -> int:
    """Clip a position to the last one."""
    return i if i < n else n - 1
