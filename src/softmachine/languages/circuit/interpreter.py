"""Bit-parallel evaluation of circuits: 64 inputs per NumPy word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.circuit.circuit import NEGATED_KINDS, Circuit, Gate, GateKind
from softmachine.support.errors import InputError, UsageError

PackedBits = NDArray[np.uint64]
"""Packed bits of many inputs: bit k of word w belongs to input 64w + k."""

MAX_TRUTH_TABLE_INPUTS = 24
"""Maximum number of inputs of a truth table, which has 2 to this power rows."""
_ALL_ONES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def evaluate(circuit: Circuit, word: str | Iterable[str]) -> str:
    """The output bits for one word.

    Raises:
        InputError: If the word does not have one bit per input.
    """
    bits = np.array([[symbol == "1" for symbol in circuit.word(word)]], dtype=bool).reshape(1, circuit.width)
    return "".join("1" if bit else "0" for bit in evaluate_many(circuit, bits)[0])


def evaluate_many(circuit: Circuit, bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The outputs for many words, given as a matrix with one row per word; the result has one row per word, too.

    Raises:
        InputError: If a row does not have one bit per input.
    """
    if bits.ndim != 2 or bits.shape[1] != circuit.width:
        raise InputError(
            f"circuit {circuit.name!r} has {circuit.width} inputs, but the rows have {bits.shape[1:]} bits"
        )
    return unpack_bits(evaluate_packed(circuit, pack_bits(bits)), len(bits))


def truth_table(circuit: Circuit) -> NDArray[np.bool_]:
    """The outputs for every input: row r belongs to the input that is r in binary, highest bit first.

    Raises:
        UsageError: If there are too many inputs.
    """
    if circuit.width > MAX_TRUTH_TABLE_INPUTS:
        raise UsageError(
            f"circuit {circuit.name!r} has {circuit.width} inputs; a truth table has at most {MAX_TRUTH_TABLE_INPUTS}",
            hint="use evaluate_many for selected inputs",
        )
    rows = 1 << circuit.width
    words = np.arange(-(-rows // 64), dtype=np.uint64)
    columns = [_counter_bits(words, circuit.width - 1 - place) for place in range(circuit.width)]
    inputs = np.array(columns, dtype=np.uint64).reshape(circuit.width, len(words))
    return unpack_bits(evaluate_packed(circuit, inputs), rows)


def _counter_bits(words: PackedBits, bit: int) -> PackedBits:
    """One bit of the numbers 0, 1, 2, …, packed into words."""
    if bit < 6:
        pattern = sum(1 << k for k in range(64) if k >> bit & 1)
        return np.full_like(words, np.uint64(pattern))
    return np.where(words >> np.uint64(bit - 6) & np.uint64(1), _ALL_ONES, np.uint64(0))


def evaluate_packed(circuit: Circuit, inputs: PackedBits) -> PackedBits:
    """The packed outputs, one row per output, for packed inputs, one row per input."""
    return np.stack(evaluate_wires(circuit, inputs, circuit.outputs))


def evaluate_wires(circuit: Circuit, inputs: PackedBits, wires: Sequence[str]) -> list[PackedBits]:
    """The packed values of some wires, for packed inputs, one row per input."""
    values: dict[str, PackedBits] = dict(zip(circuit.inputs, inputs, strict=True))
    nothing = np.zeros(inputs.shape[1:], dtype=np.uint64)
    for gate in circuit.sorted_gates:
        value = _evaluate_gate(gate, values, nothing)
        values[gate.name] = ~value if gate.kind in NEGATED_KINDS else value
    return [values[wire] for wire in wires]


def _evaluate_gate(gate: Gate, values: Mapping[str, PackedBits], zeros: PackedBits) -> PackedBits:
    """The value of a gate, without its negation if its kind is in `NEGATED_KINDS`."""
    arguments = [values[wire] for wire in gate.inputs]
    match NEGATED_KINDS.get(gate.kind, gate.kind):
        case GateKind.ZERO:
            return zeros
        case GateKind.MAJ | GateKind.THR:
            return _evaluate_threshold(gate.effective_threshold, gate.inputs, values, zeros)
        case GateKind.OR:
            return reduce(np.bitwise_or, arguments)
        case GateKind.XOR:
            return reduce(np.bitwise_xor, arguments)
    return reduce(np.bitwise_and, arguments)


def _evaluate_threshold(
    threshold: int, wires: Sequence[str], values: Mapping[str, PackedBits], zeros: PackedBits
) -> PackedBits:
    """Bits where at least ``threshold`` wires are 1: a bit-sliced counter, compared from the highest digit."""
    if threshold <= 0:
        return ~zeros
    if threshold > len(wires):
        return zeros
    digits: list[PackedBits] = [zeros] * len(wires).bit_length()
    for wire, times in Counter(wires).items():
        for start in range(times.bit_length()):
            carry, place = values[wire], start
            while times >> start & 1 and place < len(digits) and carry.any():
                digits[place], carry, place = digits[place] ^ carry, digits[place] & carry, place + 1
    more, equal = zeros, ~zeros
    for place in reversed(range(len(digits))):
        if threshold >> place & 1:
            equal = equal & digits[place]
        else:
            more, equal = more | equal & digits[place], equal & ~digits[place]
    return more | equal


def pack_bits(bits: NDArray[np.bool_]) -> PackedBits:
    """Pack a matrix of bits, one row per word, into machine words, one row per column."""
    rows, columns = bits.shape
    padded = np.zeros((columns, -(-rows // 64) * 64), dtype=np.uint8)
    padded[:, :rows] = bits.T
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpack_bits(packed: PackedBits, rows: int) -> NDArray[np.bool_]:
    """The inverse of :func:`pack_bits`; ``rows`` is the number of inputs."""
    data = np.ascontiguousarray(packed.astype("<u8")).view(np.uint8)
    return np.unpackbits(data, axis=1, bitorder="little")[:, :rows].T.astype(bool)
