"""Wiring as position features: tables with an entry for each position, given as flags, signed bits or unit vectors.

The family n ↦ transformer of "Revisiting Padded Transformer Expressivity" keeps a circuit in its position embeddings.
An address is a number; -1 stands for none, and its features are 0. Beyond the table everything is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from softmachine.signals import Signal, position, stack
from softmachine.transformer.bounds import Bound
from softmachine.transformer.features import Feature, ceil_log2, feature

NONE = -1
"""No address."""


def _entry(table: tuple[int, ...], i: int, default: int) -> int:
    return table[i] if i < len(table) else default


def _signed_bit(i: int, _n: int | None, _name: str, k: int, table: tuple[int, ...]) -> int:
    address = _entry(table, i, NONE)
    return 0 if address == NONE else 2 * (address >> k & 1) - 1


def _unit(i: int, _n: int | None, _name: str, component: int, bits: int, table: tuple[int, ...]) -> Fraction:
    address = _entry(table, i, NONE)
    return Fraction(0) if address == NONE else Fraction(unit_vector(address, bits)[component], 1 << bits)


def _ratio(i: int, _n: int | None, _name: str, over: tuple[int, ...], under: tuple[int, ...]) -> Fraction:
    return Fraction(_entry(over, i, 0), _entry(under, i, 1))


feature("constant", lambda _i, _n, c: c, low=Bound.of, high=Bound.of, label=str)
feature("wired flag", lambda i, _, _name, table: _entry(table, i, 0), label=lambda name, *_: name)
feature("wired ±bit", _signed_bit, low=-1, label=lambda name, k, _: f"{name}[{k}]")
feature("wired μ", _unit, over=None, label=lambda name, component, *_: f"{name}[{component}]")
feature("wired ratio", _ratio, high=2, over=None, label=lambda name, *_: name)


def unit_vector(address: int, bits: int) -> tuple[int, int]:
    """μ(k) = (√(1/k), √(1 - 1/k)) for k = address + 1, to the nearest multiples of 2^-bits, in these units."""
    k = address + 1
    return _root(Fraction(1 << 2 * bits, k)), _root(Fraction((k - 1) << 2 * bits, k))


def _root(square: Fraction) -> int:
    """The integer nearest to a square root."""
    return (isqrt(4 * square.numerator // square.denominator) + 1) // 2


def flag(name: str, table: Sequence[int]) -> Signal:
    """A bit at every position."""
    return position(Feature("wired flag", (name, tuple(table))))


def address_width(addresses: int) -> int:
    """How many signed bits tell so many addresses apart, and also from none: at least two."""
    return max(2, ceil_log2(addresses))


def binary_address(name: str, width: int, table: Sequence[int]) -> Signal:
    """The address at every position as ``width`` signed bits; zeros where there is none."""
    entries = tuple(table)
    return stack(*(position(Feature("wired ±bit", (name, k, entries))) for k in range(width)))


def unit_address(name: str, bits: int, table: Sequence[int]) -> Signal:
    """The address at every position as a vector of length 1, to so many bits; zeros where there is none."""
    entries = tuple(table)
    return stack(*(position(Feature("wired μ", (name, component, bits, entries))) for component in (0, 1)))
