"""What a theorem costs: expressions over named parameters of a source, which print themselves and evaluate themselves.

>>> tapes = parameter("K", "tapes", lambda codec: codec.machine.tapes)
>>> print(Cost({"layers": 5}, {"heads": 1 + 5 * tapes}, also="one token per step"))
layers = 5, heads ≤ 1 + 5K, where K = tapes; one token per step
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import add, mul, sub
from typing import Any

from softmachine.transformer import features

SUM, PRODUCT, ATOM = range(3)
"""How tightly the outermost operator of an expression binds."""
_SUPERSCRIPTS = {2: "²", 3: "³"}


@dataclass(frozen=True)
class Expression:
    """A number that depends on a source.

    Args:
        text: How it is printed.
        at: Its value for the codec of a model.
        binding: How tightly its outermost operator binds.
        where: What its parameters are, by their symbols.
    """

    text: str
    at: Callable[[Any], int]
    binding: int = ATOM
    where: Mapping[str, str] = field(default_factory=dict)

    def __add__(self, other: Term) -> Expression:
        return apply("{} + {}", add, self, other, binding=SUM)

    def __radd__(self, other: int) -> Expression:
        return apply("{} + {}", add, other, self, binding=SUM)

    def __sub__(self, other: int) -> Expression:
        return apply("{} - {}", sub, self, other, binding=SUM)

    def __mul__(self, other: Term) -> Expression:
        return apply("{}{}", mul, self, other, inside=PRODUCT, binding=PRODUCT)

    def __rmul__(self, other: int) -> Expression:
        return apply("{}{}", mul, other, self, inside=PRODUCT, binding=PRODUCT)

    def __pow__(self, other: Term) -> Expression:
        if isinstance(other, int):
            return apply(f"{{}}{_SUPERSCRIPTS[other]}", lambda number: number**other, self, inside=ATOM)
        return apply("{}^{}", pow, self, other, inside=ATOM)


Term = int | Expression


def parameter(symbol: str, meaning: str, at: Callable[[Any], int]) -> Expression:
    """A parameter of a source, by its symbol and what that stands for."""
    return Expression(symbol, at, where={symbol: meaning})


def let(symbol: str, term: Expression) -> Expression:
    """A symbol that stands for an expression."""
    return Expression(symbol, term.at, where={symbol: term.text, **term.where})


def apply(
    template: str, function: Callable[..., int], *terms: Term, inside: int = SUM, binding: int = ATOM
) -> Expression:
    """A function of some terms; the template has a place for each, in parentheses if it binds less than ``inside``."""
    found = [_constant(term) if isinstance(term, int) else term for term in terms]
    texts = [each.text if each.binding >= inside else f"({each.text})" for each in found]
    where = {symbol: meaning for each in found for symbol, meaning in each.where.items()}
    return Expression(template.format(*texts), lambda codec: function(*(e.at(codec) for e in found)), binding, where)


def _constant(number: int) -> Expression:
    return Expression(str(number), lambda _: number)


def ceil_log2(term: Expression) -> Expression:
    """⌈log₂ x⌉."""
    return apply("⌈log₂ {}⌉", features.ceil_log2, term, inside=PRODUCT)


def largest(*terms: Term) -> Expression:
    """The maximum of some terms."""
    return apply(f"max({', '.join(['{}'] * len(terms))})", max, *terms)


def either(case: str, holds: Callable[[Any], bool], one: Term, other: Term) -> Expression:
    """One term in a case, else the other."""
    chosen = Expression("", lambda codec: int(holds(codec)))
    return apply(f"({{1}} {case}, else {{2}})", lambda first, a, b: a if first else b, chosen, one, other)


@dataclass(frozen=True)
class Cost:
    """What the models of a theorem cost.

    Args:
        exact: Quantities that have exactly these values: "layers" (that an input passes through, those of a loop each
            time), "stored layers" (those of a loop once), "heads", "heads per layer" (the most of any), "width",
            "positions" (of a prompt), "precision" (the least b for which F_b has all weights), and "layers with
            softmax" where the certified model is another one.
        at_most: Quantities that have at most these values.
        also: What is said after, for example of tokens.
    """

    exact: Mapping[str, Term] = field(default_factory=dict)
    at_most: Mapping[str, Term] = field(default_factory=dict)
    also: str = ""

    def __str__(self) -> str:
        claims = [f"{name} = {text(term)}" for name, term in self.exact.items()]
        claims += [f"{name} ≤ {text(term)}" for name, term in self.at_most.items()]
        terms = (*self.exact.values(), *self.at_most.values())
        where = {s: m for term in terms if isinstance(term, Expression) for s, m in term.where.items()}
        named = "where " + ", ".join(f"{symbol} = {meaning}" for symbol, meaning in where.items()) if where else ""
        return "; ".join(filter(None, (", ".join(filter(None, (*claims, named))), self.also)))

    def of(self, quantity: str, codec: object) -> int:
        """The value of a quantity, or its bound, for the codec of a model."""
        term = self.exact[quantity] if quantity in self.exact else self.at_most[quantity]
        return term if isinstance(term, int) else term.at(codec)


def text(term: Term) -> str:
    """How a term is printed."""
    return term.text if isinstance(term, Expression) else str(term)
