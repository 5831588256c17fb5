"""Position features: exact functions of one position (features) or of two (relations, for attention biases).

A feature is an immutable value with exact evaluation, mathematical notation, equality, and serialisation by its fields
(:mod:`.saved_features`). Positions count from 0. ``n`` is the length of the input, which is available only in encoders.
To add a feature, derive a frozen dataclass from :class:`Feature`, with a ``stored_name``, and list it in the
``features`` of the theorem that uses it; no registration is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar, TypeAlias

from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial

Expansion: TypeAlias = tuple[tuple[tuple[Fraction, "Feature"], ...], Fraction]
"""A feature as Σ factor · feature + constant."""

_N = Polynomial(0, 1)
MAX_EXPONENT = 64
"""Maximum absolute exponent, which bounds the memory that a malicious file can cause."""


class Serialisable(ABC):
    """A class with a name in saved models, given as a class keyword; it does not change when the class is renamed."""

    stored_name: ClassVar[str]
    """The name in saved models and in digests; by default the name of the class."""

    def __init_subclass__(cls, *, stored_name: str = "") -> None:
        super().__init_subclass__()
        cls.stored_name = stored_name or cls.__name__


@dataclass(frozen=True)
class Feature(Serialisable):
    """A named, exact function of the position i (and, for encoders, of the input's length n)."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The feature in mathematical notation."""

    @abstractmethod
    def value(self, i: int, n: int) -> Fraction | int:
        """The value at position i of an input of length n, which is ignored unless `needs_length`."""

    @property
    def needs_length(self) -> bool:
        """Whether the value depends on n, which is not available in a decoder."""
        return False

    @property
    def low(self) -> Polynomial:
        """Lower bound of the values; a polynomial in the number of positions."""
        return Polynomial(0)

    @property
    def high(self) -> Polynomial:
        """Upper bound of the values; a polynomial in the number of positions."""
        return Polynomial(1)

    @property
    def denominator(self) -> str | None:
        """Common denominator of the values: "1" for integers, "i+1", or None if unknown."""
        return "1"

    @property
    def value_period(self) -> int | None:
        """A period of the values, from position 0 on; None if none is known."""
        return None

    @property
    def affine_expansion(self) -> Expansion:
        """The feature as an affine combination of simpler ones."""
        return ((Fraction(1), self),), Fraction(0)

    def numerator_expression(self, i: str) -> str | None:
        """Python expression for the numerator, given one for the position; None if only a table is possible."""
        return None

    def at(self, i: int, n: int | None = None) -> Fraction:
        """The value at position i of an input of length n."""
        return Fraction(self.values_at(range(i, i + 1), n)[0])

    def values_at(self, positions: range, n: int | None = None) -> list[Fraction | int]:
        """The values at some positions of an input of length n."""
        if self.needs_length and n is None:
            raise ConstructionError(
                f"the position feature {self.name} depends on the length, which is not available in a decoder"
            )
        i = positions.start
        try:
            return [self.value(i := place, n or 0) for place in positions]
        except ZeroDivisionError:
            raise ConstructionError(f"the position feature {self.name} has no value at i = {i}, n = {n}") from None

    @property
    def is_monotone(self) -> bool:
        """Whether it is known to be monotone in i."""
        return False

    def minimum(self, n: int) -> Fraction:
        """The smallest value at any position from 0 to n."""
        return min(self.at(i, n) for i in ((0, n) if self.is_monotone else range(n + 1)))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Relation(Serialisable):
    """A named, exact function of the positions of a key and a query: a relative bias of attention scores."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The relation in mathematical notation."""

    @abstractmethod
    def value(self, key: int, query: int) -> Fraction | int:
        """The value for a key at one position and a query at another."""

    @property
    def step(self) -> Fraction | None:
        """A number of which all values are multiples; None if none is known."""
        return None

    def at(self, key: int, query: int) -> Fraction:
        """The value, as a fraction."""
        return Fraction(self.value(key, query))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Constant(Feature, stored_name="Constant"):
    """A constant: a scale that fixed-point arithmetic may have to round."""

    number: int

    @property
    def name(self) -> str:
        return str(self.number)

    def value(self, i: int, n: int) -> int:
        return self.number

    @property
    def low(self) -> Polynomial:
        return Polynomial(self.number)

    high = low


@dataclass(frozen=True)
class Monomial(Feature, stored_name="Monomial"):
    """A product of powers: factor · i^a · (i+1)^b · n^c · (n+1)^d · (n-i+1)^e, where exponents may be negative.

    Args:
        factor: The positive coefficient.
        i: The exponent of i.
        next: The exponent of i+1.
        n: The exponent of n.
        length: The exponent of n+1.
        rest: The exponent of n-i+1, the number of remaining positions.
    """

    factor: Fraction = Fraction(1)
    i: int = 0
    next: int = 0
    n: int = 0
    length: int = 0
    rest: int = 0

    def __post_init__(self) -> None:
        if max(map(abs, self._exponents)) > MAX_EXPONENT or self.factor <= 0:
            raise ValueError(f"{self.factor} and {self._exponents} are not the factor and the exponents of a monomial")

    @property
    def _powers(self) -> dict[str, int]:
        named = {"i": self.i, "n": self.n, "i+1": self.next, "n+1": self.length, "n-i+1": self.rest}
        return {base: power for base, power in named.items() if power}

    @property
    def name(self) -> str:
        over, under = self.factor.numerator, self.factor.denominator
        above = [_format_power(base, power) for base, power in self._powers.items() if power > 0]
        below = [(base, -power) for base, power in self._powers.items() if power < 0]
        plain = over == 1 and bool(above)
        top = ("" if plain else str(over)) + ("·" if above == ["i", "n"] else "").join(above)
        if not below:
            alone = self._powers if plain and under == 1 and set(self._powers.values()) == {1} else {}
            return next(iter(alone)) if len(alone) == 1 else top if under == 1 else f"{top}/{under}"
        return f"{top}/{''.join(_format_divisor(base, power, under) for base, power in below)}"

    def value(self, i: int, n: int) -> Fraction | int:
        over, under = self.factor.as_integer_ratio()
        for base, power in zip((i, i + 1, n, n + 1, n - i + 1), self._exponents, strict=True):
            if power > 0:
                over *= base**power
            elif power < 0:
                under *= base**-power
        return over if under == 1 else Fraction(over, under)

    @property
    def needs_length(self) -> bool:
        return bool(self.n or self.length or self.rest)

    @property
    def is_monotone(self) -> bool:
        powers = (self.i, self.next, -self.rest)
        return min(powers) >= 0 or max(powers) <= 0

    @property
    def high(self) -> Polynomial:
        degree = sum(power for power in self._powers.values() if power > 0)
        return _N**degree * self.factor if degree else Polynomial(max(self.factor, Fraction(1)))

    @property
    def denominator(self) -> str | None:
        if self.factor.denominator == 1 and min(self._powers.values(), default=0) >= 0:
            return "1"
        return "i+1" if self.reciprocal_power == 1 else None

    @property
    def reciprocal_power(self) -> int:
        return -self.next if self == Monomial(next=self.next) and self.next < 0 else 0

    def __mul__(self, other: Monomial | Fraction | int) -> Monomial:
        other = other if isinstance(other, Monomial) else Monomial(Fraction(other))
        powers = (mine + yours for mine, yours in zip(self._exponents, other._exponents, strict=True))
        return Monomial(self.factor * other.factor, *powers)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Monomial:
        return Monomial(self.factor**exponent, *(exponent * power for power in self._exponents))

    def __rtruediv__(self, number: Fraction | int) -> Monomial:
        return number * self**-1

    @property
    def _exponents(self) -> tuple[int, ...]:
        return self.i, self.next, self.n, self.length, self.rest

    @property
    def affine_expansion(self) -> Expansion:
        if not self.needs_length and self.i == 0 and self.next in (1, 2):
            square = ((self.factor, I_SQUARED),) if self.next == 2 else ()
            return (*square, (self.next * self.factor, I)), self.factor
        return ((self.factor, self * (1 / self.factor)),), Fraction(0)

    def numerator_expression(self, i: str) -> str | None:
        if self in (I, I_SQUARED):
            return " * ".join([i] * self.i)
        return "1" if self.reciprocal_power in (1, 2) else None


def _format_power(base: str, power: int) -> str:
    text = base if len(base) == 1 else f"({base})"
    return text if power == 1 else f"{text}{'²' if power == 2 else f'^{power}'}"


def _format_divisor(base: str, power: int, factor: int) -> str:
    """A power in the denominator, with a factor multiplied into it."""
    if factor == 1 or power != 1:
        return ("" if factor == 1 else str(factor)) + _format_power(base, power)
    letter, plus, rest = base.partition("+")
    return f"({factor}{letter}{plus}{int(rest) * factor if rest else ''})"


I = Monomial(i=1)  # noqa: E741  (named after the index i)
I_PLUS_ONE = Monomial(next=1)
N = Monomial(n=1)
N_PLUS_ONE = Monomial(length=1)
REMAINING = Monomial(rest=1)
"""i, i+1, n, n+1 and n-i+1; other monomials are products of them: 3 * I * LENGTH is 3i(n+1)."""
I_SQUARED = I**2
RECIPROCAL = 1 / I_PLUS_ONE
HALF_RECIPROCAL = Fraction(1, 2) / I_PLUS_ONE


class PredecessorShare(Feature, stored_name="Predecessor"):
    """(i-1)/(i+1), and 0 at position 0."""

    name: ClassVar[str] = "(i-1)/(i+1)"

    def value(self, i: int, n: int) -> Fraction:
        return Fraction(max(i - 1, 0), i + 1)

    denominator: ClassVar[str | None] = "i+1"

    def numerator_expression(self, i: str) -> str:
        return f"max({i} - 1, 0)"


class Alternating(Feature, stored_name="Alternating"):
    """(-1)^i."""

    name: ClassVar[str] = "(-1)^i"

    def value(self, i: int, n: int) -> int:
        return 1 - 2 * (i % 2)

    low: ClassVar[Polynomial] = Polynomial(-1)
    value_period: ClassVar[int] = 2

    @property
    def affine_expansion(self) -> Expansion:
        return ((Fraction(-2), Bit(0)),), Fraction(1)


@dataclass(frozen=True)
class Bit(Feature, stored_name="Bit"):
    """Bit k of the number ⌊(i-1)/cells⌋ + offset; by default of i.

    Args:
        k: The index of the bit, 0 for the lowest.
        signed: Whether the values are ±1 instead of 0 and 1.
        cells: Positions per number; 0 if the number is i.
        offset: The summand.
    """

    k: int
    signed: bool = False
    cells: int = 0
    offset: int = 0

    @property
    def name(self) -> str:
        of = f"⌊(i-1)/{self.cells}⌋+{self.offset}" if self.cells else "i"
        return f"{'±' if self.signed else ''}bit {self.k} of {of}"

    def value(self, i: int, n: int) -> int:
        bit = (max(i - 1, 0) // self.cells + self.offset if self.cells else i) >> self.k & 1
        return 2 * bit - 1 if self.signed else bit

    @property
    def value_period(self) -> int | None:
        return None if self.cells else 2 << self.k

    @property
    def low(self) -> Polynomial:
        return Polynomial(-1 if self.signed else 0)

    @property
    def affine_expansion(self) -> Expansion:
        if not self.signed:
            return super().affine_expansion
        return ((Fraction(2), Bit(self.k, False, self.cells, self.offset)),), Fraction(-1)

    def numerator_expression(self, i: str) -> str | None:
        if self.signed:
            return None
        of = f"(max({i} - 1, 0) // {self.cells} + {self.offset})" if self.cells else i
        return f"(({of} >> {self.k}) & 1)"


@dataclass(frozen=True)
class Residue(Feature, stored_name="Residue"):
    """Whether i ≡ r mod m."""

    modulus: int
    remainder: int

    @property
    def name(self) -> str:
        return f"i ≡ {self.remainder} mod {self.modulus}"

    def value(self, i: int, n: int) -> int:
        return int(i % self.modulus == self.remainder)

    @property
    def value_period(self) -> int:
        return self.modulus

    def numerator_expression(self, i: str) -> str:
        return f"(1 if {i} % {self.modulus} == {self.remainder} else 0)"


class Prime(Feature, stored_name="Prime"):
    """Whether i is prime."""

    name: ClassVar[str] = "prime"

    def value(self, i: int, n: int) -> int:
        return int(i > 1 and all(i % divisor for divisor in range(2, isqrt(i) + 1)))

    def numerator_expression(self, i: str) -> str:
        return f"is_prime({i})"


class PowerOfTwo(Feature, stored_name="PowerOfTwo"):
    """Whether i is a power of two."""

    name: ClassVar[str] = "power of two"

    def value(self, i: int, n: int) -> int:
        return int(i > 0 and i & (i - 1) == 0)

    def numerator_expression(self, i: str) -> str:
        return f"(1 if {i} > 0 and {i} & ({i} - 1) == 0 else 0)"


class Last(Feature, stored_name="Last"):
    """Whether i = n."""

    name: ClassVar[str] = "last"

    def value(self, i: int, n: int) -> int:
        return int(i == n)

    needs_length: ClassVar[bool] = True


@dataclass(frozen=True)
class Logarithm(Feature, stored_name="Logarithm"):
    """A multiple of ⌈log₂ n⌉, or of ⌈log₂(i+1)⌉.

    Args:
        factor: The positive coefficient.
        of_length: Whether it is the logarithm of n.
    """

    factor: int = 1
    of_length: bool = False

    @property
    def name(self) -> str:
        return "⌈log₂ n⌉" if self.of_length and self.factor == 1 else f"{self.factor}⌈log₂{self._argument}⌉"

    @property
    def _argument(self) -> str:
        return " n" if self.of_length else "(i+1)"

    def value(self, i: int, n: int) -> int:
        return self.factor * ceil_log2(n if self.of_length else i + 1)

    @property
    def needs_length(self) -> bool:
        return self.of_length

    @property
    def high(self) -> Polynomial:
        return _N * self.factor


class Distance(Relation, stored_name="Distance"):
    """Distance from the key to the query, i - j."""

    name: ClassVar[str] = "distance"

    step: ClassVar[Fraction] = Fraction(1)

    def value(self, key: int, query: int) -> int:
        return query - key


def ceil_log2(n: int) -> int:
    """⌈log₂ n⌉, and 0 for n ≤ 1."""
    return max(n - 1, 0).bit_length()
