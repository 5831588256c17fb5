"""Functions of the position that a transformer may use: features of one position, relations between two.

A feature is data (a kind and its parameters), so that it prints, compares, and goes into files; its values are exact.
Positions count from 0. ``n`` is the length of the input word, which only encoders know. New kinds are added with
:func:`feature` and :func:`relation`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from softmachine.errors import ConstructionError
from softmachine.transformer.bounds import Bound

Parameter = int | str | tuple[int, ...]


@dataclass(frozen=True)
class _FeatureKind:
    """What is known of a kind of feature: how it prints, its values, and the range and grid they lie in."""

    label: Callable[..., str]
    value: Callable[..., Fraction | int]
    low: Callable[..., Bound]
    high: Callable[..., Bound]
    over: str | None
    needs_length: bool


@dataclass(frozen=True)
class _RelationKind:
    label: Callable[..., str]
    value: Callable[..., Fraction | int]


_FEATURES: dict[str, _FeatureKind] = {}
_RELATIONS: dict[str, _RelationKind] = {}


@dataclass(frozen=True)
class Feature:
    """A named, exact function of the position i (and, for encoders, of the input's length n)."""

    kind: str
    parameters: tuple[Parameter, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in _FEATURES:
            raise ConstructionError(
                f"there is no position feature {self.kind!r}", hint=f"the known ones are {', '.join(_FEATURES)}"
            )

    @property
    def _known(self) -> _FeatureKind:
        return _FEATURES[self.kind]

    @property
    def name(self) -> str:
        """The feature as a mathematician writes it."""
        return self._known.label(*self.parameters)

    @property
    def needs_length(self) -> bool:
        """Whether the value depends on n, which a decoder does not know."""
        return self._known.needs_length

    @property
    def low(self) -> Bound:
        """No value is below this; a polynomial in the number of positions."""
        return self._known.low(*self.parameters)

    @property
    def high(self) -> Bound:
        """No value is above this; a polynomial in the number of positions."""
        return self._known.high(*self.parameters)

    @property
    def over(self) -> str | None:
        """The denominator of the values ("1" for integers), or None if nothing is promised."""
        return self._known.over

    def at(self, i: int, n: int | None = None) -> Fraction:
        """The value at position i of an input of length n."""
        if self.needs_length and n is None:
            raise ConstructionError(f"the position feature {self.name} depends on the length, which a decoder lacks")
        try:
            return Fraction(self._known.value(i, n, *self.parameters))
        except ZeroDivisionError:
            raise ConstructionError(f"the position feature {self.name} has no value at i = {i}, n = {n}") from None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Relation:
    """A named, exact function of a key's position j and a query's position i: a relative bias of attention scores."""

    kind: str
    parameters: tuple[Parameter, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in _RELATIONS:
            raise ConstructionError(
                f"there is no relation {self.kind!r}", hint=f"the known ones are {', '.join(_RELATIONS)}"
            )

    @property
    def name(self) -> str:
        """The relation as a mathematician writes it."""
        return _RELATIONS[self.kind].label(*self.parameters)

    def at(self, key: int, query: int) -> Fraction:
        """The value for a key at one position and a query at another."""
        return Fraction(_RELATIONS[self.kind].value(key, query, *self.parameters))

    def __str__(self) -> str:
        return self.name


def feature(
    kind: str,
    value: Callable[..., Fraction | int],
    *,
    low: Bound | int | Callable[..., Bound] = 0,
    high: Bound | int | Callable[..., Bound] = 1,
    over: str | None = "1",
    needs_length: bool = False,
    label: Callable[..., str] | None = None,
) -> None:
    """Add a kind of position feature.

    Args:
        kind: Its name; also what a saved model refers to.
        value: The value at (i, n, *parameters), an integer or a Fraction. n is None in a decoder.
        low: A lower bound of all values; a function of the parameters if it depends on them.
        high: An upper bound of all values, likewise.
        over: The denominator of the values: "1" for integers, "i+1", or None.
        needs_length: Whether the value depends on n.
        label: How it prints, from its parameters; the kind itself if left out.
    """
    _FEATURES[kind] = _FeatureKind(
        label=label or (lambda *parameters: _call(kind, parameters)),
        value=value,
        low=_bound(low),
        high=_bound(high),
        over=over,
        needs_length=needs_length,
    )


def _bound(given: Bound | int | Callable[..., Bound]) -> Callable[..., Bound]:
    """A bound as a function of the parameters."""
    return given if callable(given) else lambda *_: Bound.of(given)


def relation(kind: str, value: Callable[..., Fraction | int], *, label: Callable[..., str] | None = None) -> None:
    """Add a kind of relation: ``value(key, query, *parameters)``."""
    _RELATIONS[kind] = _RelationKind(label or (lambda *parameters: _call(kind, parameters)), value)


def _call(kind: str, parameters: tuple[object, ...]) -> str:
    return f"{kind}({','.join(map(str, parameters))})" if parameters else kind


def _is_prime(i: int) -> bool:
    return i > 1 and all(i % divisor for divisor in range(2, int(i**0.5) + 1))


@cache
def _wiring(rows: tuple[tuple[int, int, int], ...]) -> dict[tuple[int, int], int]:
    return {(n, i): value for n, i, value in rows}


def _wired(i: int, n: int, _name: str, *rows: tuple[int, int, int]) -> int:
    """The entry of a wiring table given as rows (n, i, value); what is not listed is 0."""
    return _wiring(rows).get((n, i), 0)


def _wiring_end(end: Callable[..., int]) -> Callable[..., Bound]:
    """The least or the largest entry of a wiring table, 0 included."""
    return lambda _name, *rows: Bound.of(end(0, *(value for _, _, value in rows)))


def table(name: str, n: int, values: Sequence[Fraction | int]) -> Feature:
    """The feature that is ``values[i]`` at position i of inputs of length n, for one model of a family; else 0."""
    exact = [Fraction(value) for value in values]
    numerators = tuple(value.numerator for value in exact)
    if all(value.denominator == 1 for value in exact):
        return Feature("table", (name, n, numerators))
    return Feature("rational table", (name, n, numerators, tuple(value.denominator for value in exact)))


def _listed(i: int, n: int, _name: str, length: int, values: tuple[int, ...]) -> int:
    return values[i] if n == length and 0 <= i < len(values) else 0


def _quotient(
    i: int, n: int, name: str, length: int, numerators: tuple[int, ...], denominators: tuple[int, ...]
) -> Fraction:
    listed = n == length and 0 <= i < len(numerators)
    return Fraction(_listed(i, n, name, length, numerators), denominators[i] if listed else 1)


def _table_end(end: Callable[..., Fraction]) -> Callable[..., Bound]:
    """The least or the largest entry of a table, 0 included."""

    def bound(_name: str, _n: int, numerators: tuple[int, ...], denominators: tuple[int, ...] = ()) -> Bound:
        ones = denominators or (1,) * len(numerators)
        return Bound.of(end(Fraction(0), *map(Fraction, numerators, ones)))

    return bound


def ceil_log2(n: int) -> int:
    """⌈log₂ n⌉, and 0 for n ≤ 1."""
    return max(n - 1, 0).bit_length()


_N = Bound.length()

feature("i", lambda i, _: i, high=_N)
feature("i²", lambda i, _: i * i, high=_N * _N)
feature("1/(i+1)", lambda i, _: Fraction(1, i + 1), over="i+1")
feature("1/(2i+2)", lambda i, _: Fraction(1, 2 * i + 2), over=None)
feature("(-1)^i", lambda i, _: (-1) ** i, low=-1)
feature("n", lambda _, n: n, high=_N, needs_length=True)
feature("1/(n+1)", lambda _, n: Fraction(1, n + 1), over=None, needs_length=True)
feature("i/(n+1)", lambda i, n: Fraction(i, n + 1), over=None, needs_length=True, high=_N)
feature("1/(n-i+1)", lambda i, n: Fraction(1, n - i + 1), over=None, needs_length=True)
feature("1/(2n+2)", lambda _, n: Fraction(1, 2 * n + 2), over=None, needs_length=True)
feature("1/(i+1)²", lambda i, _: Fraction(1, (i + 1) ** 2), over=None)
feature(
    "c·i(n+1)",
    lambda i, n, c: c * i * (n + 1),
    high=lambda c: _N * _N * c,
    needs_length=True,
    label=lambda c: f"{c}i(n+1)",
)
feature(
    "c·i²(n+1)",
    lambda i, n, c: c * i * i * (n + 1),
    high=lambda c: _N * _N * _N * c,
    needs_length=True,
    label=lambda c: f"{c}i²(n+1)",
)
feature("c(n+1)", lambda _, n, c: c * (n + 1), high=lambda c: _N * c, needs_length=True, label=lambda c: f"{c}(n+1)")
feature("c(i+1)", lambda i, _, c: c * (i + 1), high=lambda c: _N * c, label=lambda c: f"{c}(i+1)")
feature("c(i+1)²", lambda i, _, c: c * (i + 1) ** 2, high=lambda c: _N * _N * c, label=lambda c: f"{c}(i+1)²")
feature(
    "c(n-i+1)", lambda i, n, c: c * (n - i + 1), high=lambda c: _N * c, needs_length=True, label=lambda c: f"{c}(n-i+1)"
)
feature("last", lambda i, n: int(i == n), needs_length=True)
feature("⌈log₂ n⌉", lambda _, n: ceil_log2(n), high=_N, needs_length=True)
feature("bit", lambda i, _, k: i >> k & 1, label=lambda k: f"bit {k} of i")
feature("±bit", lambda i, _, k: 2 * (i >> k & 1) - 1, low=-1, label=lambda k: f"±bit {k} of i")
feature("mod", lambda i, _, m, r: int(i % m == r), label=lambda m, r: f"i ≡ {r} mod {m}")
feature("i/c", lambda i, _, c: Fraction(i, c), over=None, high=lambda c: _N * Fraction(1, c), label=lambda c: f"i/{c}")
feature("(i-1)/(i+1)", lambda i, _: Fraction(max(i - 1, 0), i + 1), over="i+1")
feature(
    "cell bit",
    lambda i, _, k, c, offset: (max(i - 1, 0) // c + offset) >> k & 1,
    label=lambda k, c, offset: f"bit {k} of ⌊(i-1)/{c}⌋+{offset}",
)
feature("prime", lambda i, _: int(_is_prime(i)))
feature("power of two", lambda i, _: int(i > 0 and i & (i - 1) == 0))
feature(
    "wiring",
    _wired,
    low=_wiring_end(min),
    high=_wiring_end(max),
    needs_length=True,
    label=lambda name, *_: name,
)
feature("table", _listed, low=_table_end(min), high=_table_end(max), needs_length=True, label=lambda name, *_: name)
feature(
    "rational table",
    _quotient,
    low=_table_end(min),
    high=_table_end(max),
    over=None,
    needs_length=True,
    label=lambda name, *_: name,
)

relation("distance", lambda key, query: query - key)

I = Feature("i")  # noqa: E741  (the index is called i)
I_SQUARED = Feature("i²")
INVERSE = Feature("1/(i+1)")
HALF_INVERSE = Feature("1/(2i+2)")
