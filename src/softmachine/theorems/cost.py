"""Cost expressions of theorems: symbolic terms over parameters of a source, with text and value.

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
"""Precedence of the outermost operator of an expression."""
_SUPERSCRIPTS = {2: "²", 3: "³"}


@dataclass(frozen=True)
class Expression:
    """A number that depends on a source.

    Args:
        text: The printed form.
        at: Maps the codec of a model to the value.
        binding: The precedence of the outermost operator.
        where: The meanings of its parameters, by symbol.
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
    """Create a parameter of a source from its symbol and its meaning."""
    return Expression(symbol, at, where={symbol: meaning})


def let(symbol: str, term: Expression) -> Expression:
    """Name an expression by a symbol."""
    return Expression(symbol, term.at, where={symbol: term.text, **term.where})


def apply(
    template: str, function: Callable[..., int], *terms: Term, inside: int = SUM, binding: int = ATOM
) -> Expression:
    """Apply a function to terms; template fields are parenthesised if the term binds weaker than ``inside``."""
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
    """The maximum of terms."""
    return apply(f"max({', '.join(['{}'] * len(terms))})", max, *terms)


def either(case: str, holds: Callable[[Any], bool], one: Term, other: Term) -> Expression:
    """One term if a condition holds, else the other."""
    chosen = Expression("", lambda codec: int(holds(codec)))
    return apply(f"({{1}} {case}, else {{2}})", lambda first, a, b: a if first else b, chosen, one, other)


@dataclass(frozen=True)
class Cost:
    """The cost of the models of a theorem.

    Args:
        exact: Quantities with their exact values: "layers" (executed layers, those of a loop once per iteration),
            "stored layers" (those of a loop once), "heads", "heads per layer" (the maximum), "width", "positions" (of a
            prompt), "precision" (the smallest b for which F_b contains all weights), and "layers with softmax" if the
            certified model differs.
        at_most: Quantities with upper bounds.
        also: A remark printed at the end, for example on tokens.
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
        """Return the value of a quantity, or its bound, for the codec of a model."""
        term = self.exact[quantity] if quantity in self.exact else self.at_most[quantity]
        return term if isinstance(term, int) else term.at(codec)


def text(term: Term) -> str:
    """Format a term."""
    return term.text if isinstance(term, Expression) else str(term)
