"""Wiring as position features: tables with an entry for each position, given as flags, signed bits or unit vectors.

The family n ↦ transformer of "Revisiting Padded Transformer Expressivity" keeps a circuit in its position embeddings.
An address is a number; -1 stands for none, and its features are 0. Beyond the table everything is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from softmachine.ir import Signal, position, stack
from softmachine.transformer.features import ceil_log2
from softmachine.transformer.wired_features import AddressBit, AddressVector, Table


def flag(name: str, table: Sequence[int]) -> Signal:
    """A bit at every position."""
    return position(Table(name, tuple(map(Fraction, table))))


def address_width(addresses: int) -> int:
    """How many signed bits tell so many addresses apart, and also from none: at least two."""
    return max(2, ceil_log2(addresses))


def binary_address(name: str, width: int, table: Sequence[int]) -> Signal:
    """The address at every position as ``width`` signed bits; zeros where there is none."""
    entries = tuple(table)
    return stack(*(position(AddressBit(name, k, entries)) for k in range(width)))


def unit_address(name: str, bits: int, table: Sequence[int]) -> Signal:
    """The address at every position as a vector of length 1, to so many bits; zeros where there is none."""
    entries = tuple(table)
    return stack(*(position(AddressVector(name, component, bits, entries)) for component in (0, 1)))
