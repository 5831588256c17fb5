"""Position features given by tables (such as the wiring of a circuit), and features restricted to some positions.

Beyond its table, a feature is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar

from softmachine.support.polynomial import Polynomial
from softmachine.transformer.features import Feature


@dataclass(frozen=True)
class TableFeature(Feature, stored_name="Table"):
    """A table with one number per position; 0 beyond."""

    title: str
    values: tuple[Fraction, ...]

    @property
    def name(self) -> str:
        return self.title

    def value(self, i: int, n: int) -> Fraction:
        return self.values[i] if 0 <= i < len(self.values) else Fraction(0)

    @property
    def low(self) -> Polynomial:
        return Polynomial(min((Fraction(0), *self.values)))

    @property
    def high(self) -> Polynomial:
        return Polynomial(max((Fraction(1), *self.values)))

    @property
    def denominator(self) -> str | None:
        return "1" if all(value.denominator == 1 for value in self.values) else None


NO_ADDRESS = -1
"""Entry for a position without an address."""
MAX_BITS = 10_000
"""Maximum bits of a component."""


@dataclass(frozen=True)
class AddressBit(Feature, stored_name="AddressBit"):
    """Bit k of the address in a table, as ±1; 0 where there is none."""

    title: str
    k: int
    addresses: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.title}[{self.k}]"

    def value(self, i: int, n: int) -> int:
        address = _address(self.addresses, i)
        return 0 if address == NO_ADDRESS else 2 * (address >> self.k & 1) - 1

    low: ClassVar[Polynomial] = Polynomial(-1)


@dataclass(frozen=True)
class AddressVector(Feature, stored_name="AddressVector"):
    """A component of the unit vector μ(address + 1), rounded to multiples of 2^-bits; 0 where there is no address.

    μ(k) = (√(1/k), √(1 - 1/k)): different addresses have different directions.
    """

    title: str
    component: int
    bits: int
    addresses: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.component not in (0, 1) or not 0 <= self.bits <= MAX_BITS:
            raise ValueError(f"an address vector has no component {self.component} of {self.bits} bits")

    @property
    def name(self) -> str:
        return f"{self.title}[{self.component}]"

    def value(self, i: int, n: int) -> Fraction:
        address = _address(self.addresses, i)
        if address == NO_ADDRESS:
            return Fraction(0)
        return Fraction(rounded_unit_vector(address, self.bits)[self.component], 1 << self.bits)

    denominator: ClassVar[str | None] = None


def _address(addresses: tuple[int, ...], i: int) -> int:
    return addresses[i] if i < len(addresses) else NO_ADDRESS


def rounded_unit_vector(address: int, bits: int) -> tuple[int, int]:
    """μ(address + 1), rounded to multiples of 2^-bits, in units of 2^-bits."""
    k = address + 1
    return _nearest_square_root(Fraction(1 << 2 * bits, k)), _nearest_square_root(Fraction((k - 1) << 2 * bits, k))


def _nearest_square_root(square: Fraction) -> int:
    """The integer nearest to a square root."""
    return (isqrt(4 * square.numerator // square.denominator) + 1) // 2


class SparseFeature(Feature):
    """A feature restricted to some positions; 0 elsewhere."""

    of: Feature

    @property
    def needs_length(self) -> bool:
        return self.of.needs_length

    @property
    def low(self) -> Polynomial:
        return self.of.low.lower_bound(Polynomial(0))

    @property
    def high(self) -> Polynomial:
        return self.of.high.upper_bound(Polynomial(0))


@dataclass(frozen=True)
class OffsetFeature(SparseFeature, stored_name="Shifted"):
    """A feature of i - offset; 0 before the offset."""

    offset: int
    of: Feature

    @property
    def name(self) -> str:
        return self.of.name

    def value(self, i: int, n: int) -> Fraction:
        return Fraction(self.of.value(i - self.offset, n)) if i >= self.offset else Fraction(0)

    denominator: ClassVar[str | None] = None


@dataclass(frozen=True)
class BlockFeature(OffsetFeature, stored_name="InBlocks"):
    """A feature of the block index at the last position of each block, and of consecutive indices after the blocks.

    At the other positions of a block it is 0.

    Args:
        offset: The first position of the first block.
        value: The feature.
        block: The length of a block.
        blocks: The number of blocks.
    """

    block: int
    blocks: int

    def __post_init__(self) -> None:
        if self.block < 1 or self.blocks < 0:
            raise ValueError(f"{self.blocks} blocks of length {self.block} are not possible")

    def value(self, i: int, n: int) -> Fraction:
        beyond = i - self.offset - self.block * self.blocks
        if beyond >= 0:
            return Fraction(self.of.value(self.blocks + beyond, n))
        number, rest = divmod(i - self.offset, self.block)
        return Fraction(self.of.value(number, n)) if number >= 0 and rest == self.block - 1 else Fraction(0)
