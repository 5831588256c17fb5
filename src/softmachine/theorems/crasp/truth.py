"""Truth values for C-RASP: from the sign of a number to 0 or a unit, and Boolean logic in multiples of that unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from softmachine.ir import Signal, constant, named, norm, relu, stack, step
from softmachine.ir.gadgets.integers import by_signs
from softmachine.ir.kinds import BIT, SHARES, Kind
from softmachine.languages.linear import Relation
from softmachine.languages.temporal import And, Constant, Formula, Not, Or, Symbol
from softmachine.support.polynomial import Bound

HALF = Fraction(1, 2)
STEEPNESS = 4
"""Numbers whose sign is asked for are at least 1/(4(i+1)) away from 0."""

Truth: TypeAlias = frozenset[str] | Signal
"""A truth value at every position: the tokens where it is true, if the token decides; else a unit where it is, or 0."""


class Sign(StrEnum):
    """How the sign of a number becomes a truth value."""

    HEAVISIDE = "heaviside"
    """By a step: 1 or 0, for every length."""
    RELU = "relu"
    """By ReLU alone, for every length: 1/(i+1) or 0, which is as good where nothing is counted."""
    NORM = "norm"
    """By layer norm of the number and its negative, which is ±1: 1 or 0, for every length, with no Heaviside."""
    BOUNDED = "bounded"
    """By ReLU alone, with a slope that is made for a length: 1 or 0 up to there."""


@dataclass(frozen=True)
class Logic:
    """How truth values are made and combined. One feed-forward layer an operator, where the token does not decide.

    Args:
        letters: The token, one-hot.
        share: 1/(i+1).
        sign: How signs become truth values.
        length: The number of positions they are made for, if they are bounded.
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
        """What is there where something is true."""
        return self.share if self.sign is Sign.RELU else constant(1)

    def unit_if(self, truth: Truth, name: str) -> Signal:
        """The unit where it is true, else 0."""
        if isinstance(truth, Signal):
            return truth
        holds = self.letters.among(truth)
        return relu(name, self.unit - (1 - holds)) if self.sign is Sign.RELU else holds

    def compared(self, relation: Relation, names: tuple[str, str], above: Signal, below: Signal) -> Signal:
        """Whether T ~ 0, from numbers that are positive iff T ≥ 0, and iff T ≤ 0, and what these are called."""
        at_least, at_most = self.positive(names[0], above), self.positive(names[1], below)
        return self.exact(by_signs(relation, at_least, at_most, self.unit))

    def positive(self, name: str, number: Signal) -> Signal:
        """Whether a number that is at least 1/(4(i+1)) away from 0 is positive. One or two units."""
        if self.sign is Sign.HEAVISIDE:
            return step(name, number)
        if self.sign is Sign.NORM:
            return named(name, (HALF * (1 + norm(f"{name}: sign", number))).known(BIT))
        slope = STEEPNESS * (self.length or 1)
        rise, beyond = relu(f"{name}: from 0", slope * number), relu(f"{name}: beyond", slope * number - self.unit)
        shares = Kind(Bound.of(0), Bound.of(1), SHARES)
        return named(name, (rise - beyond).known(shares if self.sign is Sign.RELU else BIT))

    def exact(self, signal: Signal) -> Signal:
        """A truth value that is known to be one; in units of 1/(i+1) there is nothing to know."""
        return signal if self.sign is Sign.RELU else signal.known(BIT)

    def operator(self, formula: Formula, name: str, known: Mapping[Formula, Truth]) -> Truth:
        """The truth value of a Boolean operator around what is known; of And and Or, in one layer."""
        if isinstance(formula, And):
            return self.conjunction(name, self.conjuncts(formula, True, known))
        if isinstance(formula, Or):
            return self.negation(self.conjunction(f"not ({name})", self.conjuncts(formula, False, known)))
        return self.negation(known[formula.parts[0]])

    def conjuncts(self, formula: Formula, value: bool, known: Mapping[Formula, Truth]) -> Iterator[tuple[Truth, bool]]:
        """What must be true, or false, for a formula to have a truth value: as many parts as one operator can take."""
        match formula:
            case Not(of):
                yield from self.conjuncts(of, not value, known)
            case And(operands) | Or(operands) if isinstance(formula, And) is value:
                yield from (part for operand in operands for part in self.conjuncts(operand, value, known))
            case _:
                yield known[formula], value

    def negation(self, truth: Truth) -> Truth:
        """Not: the unit minus it."""
        return self.unit - truth if isinstance(truth, Signal) else self.everywhere - truth

    def conjunction(self, name: str, parts: Iterable[tuple[Truth, bool]]) -> Truth:
        """And, of what must be true or false: ReLU(s₁ + … + s_m - (m-1) units - [a token that rules it out])."""
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
    """The tokens at which formulas without counts hold; given in order, parts first."""
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
