"""Boolean gadgets of C-RASP: truth values from signs, and Boolean operators on truth values 0 or a unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from softmachine.ir import Signal, constant, named, norm, relu, stack, step
from softmachine.ir.gadgets.integers import by_signs
from softmachine.ir.ranges import BIT, SHARES, Kind
from softmachine.languages.linear import Relation
from softmachine.languages.temporal import And, Constant, Formula, Not, Or, Symbol
from softmachine.support.polynomial import Bound

HALF = Fraction(1, 2)
STEEPNESS = 4
"""Numbers whose sign is computed are at least 1/(4(i+1)) away from 0."""

Truth: TypeAlias = frozenset[str] | Signal
"""A truth value: the set of tokens at which it is true, if the token decides; otherwise a signal, the unit or 0."""


class Sign(StrEnum):
    """How the sign of a number becomes a truth value."""

    HEAVISIDE = "heaviside"
    """By a step: 1 or 0, for every length."""
    RELU = "relu"
    """By ReLU alone, for every length: 1/(i+1) or 0, which suffices unless it is counted."""
    NORM = "norm"
    """By layer norm of the number and its negative, which is ±1: 1 or 0, for every length, with no Heaviside."""
    BOUNDED = "bounded"
    """By ReLU alone, with a slope for a maximal length: 1 or 0 up to that length."""


@dataclass(frozen=True)
class Logic:
    """Makes and combines truth values. One feed-forward layer per operator, where the token does not decide.

    Args:
        letters: The token, one-hot.
        share: 1/(i+1).
        sign: How signs become truth values.
        length: The maximal number of positions, for ``Sign.BOUNDED``.
    """

    letters: Signal
    share: Signal
    sign: Sign
    length: int | None

    @cached_property
    def everywhere(self) -> frozenset[str]:
        """All tokens."""
        return frozenset(self.letters.labels or ())

    @property
    def unit(self) -> Signal:
        """The value of true."""
        return self.share if self.sign is Sign.RELU else constant(1)

    def unit_if(self, truth: Truth, name: str) -> Signal:
        """A truth value as a signal: the unit where it is true, else 0."""
        if isinstance(truth, Signal):
            return truth
        holds = self.letters.among(truth)
        return relu(name, self.unit - (1 - holds)) if self.sign is Sign.RELU else holds

    def compared(self, relation: Relation, names: tuple[str, str], above: Signal, below: Signal) -> Signal:
        """Whether T ~ 0, from two numbers, positive iff T ≥ 0 and iff T ≤ 0, and their names."""
        at_least, at_most = self.positive(names[0], above), self.positive(names[1], below)
        return self.exact(by_signs(relation, at_least, at_most, self.unit))

    def positive(self, name: str, number: Signal) -> Signal:
        """Whether a number that is at least 1/(4(i+1)) away from 0 is positive. One or two units."""
        if self.sign is Sign.HEAVISIDE:
            return step(name, number)
        if self.sign is Sign.NORM:
            return named(name, (HALF * (1 + norm(f"{name}: sign", number))).known(BIT))
        slope = STEEPNESS * (self.length or 1)
        rise, beyond = (
            relu(f"{name}: above 0", slope * number),
            relu(f"{name}: above the unit", slope * number - self.unit),
        )
        shares = Kind(Bound.of(0), Bound.of(1), SHARES)
        return named(name, (rise - beyond).known(shares if self.sign is Sign.RELU else BIT))

    def exact(self, signal: Signal) -> Signal:
        """The signal marked as a bit, unless it is in units of 1/(i+1)."""
        return signal if self.sign is Sign.RELU else signal.known(BIT)

    def operator(self, formula: Formula, name: str, known: Mapping[Formula, Truth]) -> Truth:
        """The truth value of a Boolean operator, given its operands; And and Or take one layer."""
        if isinstance(formula, And):
            return self.conjunction(name, self.conjuncts(formula, True, known))
        if isinstance(formula, Or):
            return self.negation(self.conjunction(f"not ({name})", self.conjuncts(formula, False, known)))
        return self.negation(known[formula.parts[0]])

    def conjuncts(self, formula: Formula, value: bool, known: Mapping[Formula, Truth]) -> Iterator[tuple[Truth, bool]]:
        """The parts, with required values, whose conjunction gives a formula a value; flattens nesting."""
        match formula:
            case Not(of):
                yield from self.conjuncts(of, not value, known)
            case And(operands) | Or(operands) if isinstance(formula, And) is value:
                yield from (part for operand in operands for part in self.conjuncts(operand, value, known))
            case _:
                yield known[formula], value

    def negation(self, truth: Truth) -> Truth:
        """Not: the unit minus the truth value."""
        return self.unit - truth if isinstance(truth, Signal) else self.everywhere - truth

    def conjunction(self, name: str, parts: Iterable[tuple[Truth, bool]]) -> Truth:
        """And of parts with required values: ReLU(s₁ + … + s_m - (m-1) units - [a token that excludes it])."""
        signals, allowed, excluded = list[Signal](), self.everywhere, set[str]()
        for truth, value in parts:
            if isinstance(truth, Signal):
                signals.append(truth if value else self.unit - truth)
            elif value:
                allowed = allowed & truth
            else:
                excluded |= truth
        tokens = allowed - excluded
        if not signals or not tokens:
            return tokens
        if len(signals) == 1 and tokens == self.everywhere:
            return signals[0]
        excess = stack(*signals).total - (len(signals) - 1) * self.unit
        if tokens != self.everywhere:
            excess = excess - (1 - self.letters.among(tokens))
        return self.exact(relu(name, excess))


def decided_by_token(formulas: Iterable[Formula], tokens: frozenset[str]) -> dict[Formula, Truth]:
    """The tokens at which formulas without counts hold; formulas are given operands first."""
    where: dict[Formula, frozenset[str]] = {}
    for formula in formulas:
        match formula:
            case Symbol(symbol):
                where[formula] = frozenset([symbol])
            case Constant(value):
                where[formula] = tokens if value else frozenset()
            case Not(of):
                where[formula] = tokens - where[of]
            case And(operands):
                where[formula] = tokens.intersection(*(where[operand] for operand in operands))
            case Or(operands):
                where[formula] = frozenset[str]().union(*(where[operand] for operand in operands))
    return dict(where)
