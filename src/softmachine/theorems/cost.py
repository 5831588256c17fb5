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
        evaluate: Maps the codec of a model to the value.
        binding: The precedence of the outermost operator.
        definitions: The meanings of its parameters, by symbol.
    """

    text: str
    evaluate: Callable[[Any], int]
    binding: int = ATOM
    definitions: Mapping[str, str] = field(default_factory=dict)

    def __add__(self, other: Term) -> Expression:
        return apply_template("{} + {}", add, self, other, binding=SUM)

    def __radd__(self, other: int) -> Expression:
        return apply_template("{} + {}", add, other, self, binding=SUM)

    def __sub__(self, other: int) -> Expression:
        return apply_template("{} - {}", sub, self, other, binding=SUM)

    def __mul__(self, other: Term) -> Expression:
        return apply_template("{}{}", mul, self, other, context=PRODUCT, binding=PRODUCT)

    def __rmul__(self, other: int) -> Expression:
        return apply_template("{}{}", mul, other, self, context=PRODUCT, binding=PRODUCT)

    def __pow__(self, other: Term) -> Expression:
        if isinstance(other, int):
            return apply_template(f"{{}}{_SUPERSCRIPTS[other]}", lambda number: number**other, self, context=ATOM)
        return apply_template("{}^{}", pow, self, other, context=ATOM)


Term = int | Expression


def parameter(symbol: str, meaning: str, evaluate: Callable[[Any], int]) -> Expression:
    """Create a parameter of a source from its symbol and its meaning."""
    return Expression(symbol, evaluate, definitions={symbol: meaning})


def define(symbol: str, term: Expression) -> Expression:
    """Name an expression by a symbol."""
    return Expression(symbol, term.evaluate, definitions={symbol: term.text, **term.definitions})


def apply_template(
    template: str, function: Callable[..., int], *terms: Term, context: int = SUM, binding: int = ATOM
) -> Expression:
    """Apply a function to terms; template fields are parenthesised if the term binds weaker than ``context``."""
    found = [_constant_expression(term) if isinstance(term, int) else term for term in terms]
    texts = [each.text if each.binding >= context else f"({each.text})" for each in found]
    where = {symbol: meaning for each in found for symbol, meaning in each.definitions.items()}
    return Expression(
        template.format(*texts), lambda codec: function(*(e.evaluate(codec) for e in found)), binding, where
    )


def _constant_expression(number: int) -> Expression:
    return Expression(str(number), lambda _: number)


def ceil_log2(term: Expression) -> Expression:
    """⌈log₂ x⌉."""
    return apply_template("⌈log₂ {}⌉", features.ceil_log2, term, context=PRODUCT)


def largest(*terms: Term) -> Expression:
    """The maximum of terms."""
    return apply_template(f"max({', '.join(['{}'] * len(terms))})", max, *terms)


def conditional(condition_text: str, condition: Callable[[Any], bool], one: Term, other: Term) -> Expression:
    """One term if a condition holds, else the other."""
    chosen = Expression("", lambda codec: int(condition(codec)))
    return apply_template(
        f"({{1}} {condition_text}, else {{2}})", lambda first, a, b: a if first else b, chosen, one, other
    )


@dataclass(frozen=True)
class Cost:
    """The cost of the models of a theorem.

    Args:
        exact: Quantities with their exact values: "layers" (executed layers, those of a loop once per iteration),
            "stored layers" (those of a loop once), "heads", "heads per layer" (the maximum), "width", "positions" (of a
            prompt), "precision" (the smallest b for which F_b contains all weights), and "layers with softmax" if the
            certified model differs.
        bounds: Quantities with upper bounds.
        remark: A remark printed at the end, for example on tokens.
    """

    exact: Mapping[str, Term] = field(default_factory=dict)
    bounds: Mapping[str, Term] = field(default_factory=dict)
    remark: str = ""

    def __str__(self) -> str:
        claims = [f"{name} = {format_term(term)}" for name, term in self.exact.items()]
        claims += [f"{name} ≤ {format_term(term)}" for name, term in self.bounds.items()]
        terms = (*self.exact.values(), *self.bounds.values())
        where = {s: m for term in terms if isinstance(term, Expression) for s, m in term.definitions.items()}
        named = "where " + ", ".join(f"{symbol} = {meaning}" for symbol, meaning in where.items()) if where else ""
        return "; ".join(filter(None, (", ".join(filter(None, (*claims, named))), self.remark)))

    def evaluate(self, quantity: str, codec: object) -> int:
        """Return the value of a quantity, or its bound, for the codec of a model."""
        term = self.exact[quantity] if quantity in self.exact else self.bounds[quantity]
        return term if isinstance(term, int) else term.evaluate(codec)


def format_term(term: Term) -> str:
    """Format a term."""
    return term.text if isinstance(term, Expression) else str(term)
