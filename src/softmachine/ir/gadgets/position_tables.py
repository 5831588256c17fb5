"""Tables as position features: flags, and addresses as signed bits or unit vectors.

The family n ↦ transformer of "Revisiting Padded Transformer Expressivity" stores a circuit in its position embeddings.
An address is a number; -1 means no address, and its features are 0. Positions beyond the table have zero features.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from softmachine.ir import Signal, position, stack
from softmachine.transformer.features import ceil_log2
from softmachine.transformer.table_features import AddressBit, AddressVector, TableFeature


def position_flag(name: str, table: Sequence[int]) -> Signal:
    """A bit at every position."""
    return position(TableFeature(name, tuple(map(Fraction, table))))


def address_width(addresses: int) -> int:
    """Return the number of signed bits that distinguish the addresses, also from no address: at least 2."""
    return max(2, ceil_log2(addresses))


def binary_address_features(name: str, width: int, table: Sequence[int]) -> Signal:
    """The address at every position as ``width`` signed bits; zeros at positions without one."""
    entries = tuple(table)
    return stack(*(position(AddressBit(name, k, entries)) for k in range(width)))


def unit_vector_features(name: str, bits: int, table: Sequence[int]) -> Signal:
    """The address at every position as a unit vector, rounded to ``bits`` bits; zeros at positions without one."""
    entries = tuple(table)
    return stack(*(position(AddressVector(name, component, bits, entries)) for component in (0, 1)))
