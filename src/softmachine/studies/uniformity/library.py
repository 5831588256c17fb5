"""Arithmetic subroutines of the programs, linear or quadratic in the number of bits."""

from __future__ import annotations


def times(a: int, b: int) -> int:
    """Multiply by shift and add."""
    total = 0
    while b > 0:
        if b % 2 == 1:
            total += a
        a += a
        b //= 2
    return total


def divided(a: int, b: int) -> tuple[int, int]:
    """Return quotient and remainder, by long division."""
    quotient = 0
    place = 1
    while b <= a:
        b += b
        place += place
    while place > 1:
        b //= 2
        place //= 2
        quotient += quotient
        if b <= a:
            a -= b
            quotient += 1
    return quotient, a


def length(x: int) -> int:
    """Return the number of bits of x: ⌈log₂(x + 1)⌉."""
    bits = 0
    while x > 0:
        x //= 2
        bits += 1
    return bits


def power_of_two(k: int) -> int:
    """Return 2 to the power k."""
    power = 1
    while k > 0:
        power += power
        k -= 1
    return power


def power(base: int, exponent: int) -> int:
    """Return a power, for an exponent of O(log log n) bits."""
    found = 1
    while exponent > 0:
        found = found * base
        exponent -= 1
    return found


def logarithm(x: int) -> int:
    """Return ⌈log₂ x⌉, and 0 for 0."""
    if x > 0:
        x -= 1
    return length(x)


def less(a: int, b: int) -> int:
    """Return the difference, truncated at 0 (monus)."""
    return a - b if a > b else 0


def bit(x: int, k: int) -> int:
    """Return bit k of a number."""
    while k > 0:
        x //= 2
        k -= 1
    return 1 if x % 2 == 1 else 0


def common_divisor(a: int, b: int) -> int:
    """Return the greatest common divisor."""
    while b > 0:
        rest = a % b
        a = b
        b = rest
    return a


def root(x: int) -> int:
    """Return ⌊√x⌋, bit by bit: a bit is kept if the square does not exceed x."""
    place = 1
    while place <= x:
        place += place
        place += place
    found = 0
    while place > 1:
        place //= 2
        place //= 2
        tried = found + place
        found //= 2
        if tried <= x:
            x -= tried
            found += place
    return found
