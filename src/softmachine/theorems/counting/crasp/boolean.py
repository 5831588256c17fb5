"""Boolean gadgets of C-RASP: truth values from signs, and Boolean operators on truth values 0 or a unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from softmachine.ir import Signal, constant, named, norm, relu, stack, step
from softmachine.ir.gadgets.integers import compare_by_signs
from softmachine.ir.ranges import BIT, OVER_POSITIONS, ValueRange
from softmachine.languages.linear import Relation
from softmachine.languages.temporal import And, BooleanConstant, Formula, Not, Or, Symbol
from softmachine.support.polynomial import Polynomial

HALF = Fraction(1, 2)
STEEPNESS = 4
"""Numbers whose sign is computed are at least 1/(4(i+1)) away from 0."""

TruthValue: TypeAlias = frozenset[str] | Signal
"""A truth value: the set of tokens at which it is true, if the token decides; otherwise a signal, the unit or 0."""


class SignUnits(StrEnum):
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
class TruthGadgets:
    """Makes and combines truth values. One feed-forward layer per operator, where the token does not decide.

    Args:
        symbols: The token, one-hot.
        inverse_position: 1/(i+1).
        sign: How signs become truth values.
        length: The maximal number of positions, for ``SignUnits.BOUNDED``.
    """

    symbols: Signal
    inverse_position: Signal
    sign: SignUnits
    length: int | None

    @cached_property
    def all_tokens(self) -> frozenset[str]:
        """All tokens."""
        return frozenset(self.symbols.labels or ())

    @property
    def true_value(self) -> Signal:
        """The value of true."""
        return self.inverse_position if self.sign is SignUnits.RELU else constant(1)

    def to_signal(self, truth: TruthValue, name: str) -> Signal:
        """A truth value as a signal: the unit where it is true, else 0."""
        if isinstance(truth, Signal):
            return truth
        holds = self.symbols.sum_of_labels(truth)
        return relu(name, self.true_value - (1 - holds)) if self.sign is SignUnits.RELU else holds

    def comparison(self, relation: Relation, names: tuple[str, str], above: Signal, below: Signal) -> Signal:
        """Whether T ~ 0, from two numbers, positive iff T ≥ 0 and iff T ≤ 0, and their names."""
        at_least, at_most = self.is_positive(names[0], above), self.is_positive(names[1], below)
        return self.mark_as_bit(compare_by_signs(relation, at_least, at_most, self.true_value))

    def is_positive(self, name: str, number: Signal) -> Signal:
        """Whether a number that is at least 1/(4(i+1)) away from 0 is positive. One or two units."""
        if self.sign is SignUnits.HEAVISIDE:
            return step(name, number)
        if self.sign is SignUnits.NORM:
            return named(name, (HALF * (1 + norm(f"{name}: sign", number))).with_range(BIT))
        slope = STEEPNESS * (self.length or 1)
        rise, beyond = (
            relu(f"{name}: above 0", slope * number),
            relu(f"{name}: above the unit", slope * number - self.true_value),
        )
        shares = ValueRange(Polynomial(0), Polynomial(1), OVER_POSITIONS)
        return named(name, (rise - beyond).with_range(shares if self.sign is SignUnits.RELU else BIT))

    def mark_as_bit(self, signal: Signal) -> Signal:
        """The signal marked as a bit, unless it is in units of 1/(i+1)."""
        return signal if self.sign is SignUnits.RELU else signal.with_range(BIT)

    def operator(self, formula: Formula, name: str, known: Mapping[Formula, TruthValue], rule: str = "") -> TruthValue:
        """The truth value of a Boolean operator, given its operands; And and Or take one layer.

        ``rule`` is the rule whose body the formula is, if it is one.
        """
        if isinstance(formula, And):
            return self.conjunction(name, self.conjuncts(formula, True, known), rule)
        if isinstance(formula, Or):
            return self.negation(self.conjunction(f"not ({name})", self.conjuncts(formula, False, known)))
        return self.negation(known[formula.parts[0]])

    def conjuncts(
        self, formula: Formula, value: bool, known: Mapping[Formula, TruthValue]
    ) -> Iterator[tuple[TruthValue, bool]]:
        """The parts, with required values, whose conjunction gives a formula a value; flattens nesting."""
        match formula:
            case Not(of):
                yield from self.conjuncts(of, not value, known)
            case And(operands) | Or(operands) if isinstance(formula, And) is value:
                yield from (part for operand in operands for part in self.conjuncts(operand, value, known))
            case _:
                yield known[formula], value

    def negation(self, truth: TruthValue) -> TruthValue:
        """Not: the unit minus the truth value."""
        return self.true_value - truth if isinstance(truth, Signal) else self.all_tokens - truth

    def conjunction(self, name: str, parts: Iterable[tuple[TruthValue, bool]], rule: str = "") -> TruthValue:
        """And of parts with required values: ReLU(s₁ + … + s_m - (m-1) units - [a token that excludes it])."""
        signals, allowed, excluded = list[Signal](), self.all_tokens, set[str]()
        for truth, value in parts:
            if isinstance(truth, Signal):
                signals.append(truth if value else self.true_value - truth)
            elif value:
                allowed = allowed & truth
            else:
                excluded |= truth
        tokens = allowed - excluded
        if not signals or not tokens:
            return tokens
        if len(signals) == 1 and tokens == self.all_tokens:
            return signals[0]
        excess = stack(*signals).total - (len(signals) - 1) * self.true_value
        if tokens != self.all_tokens:
            excess = excess - (1 - self.symbols.sum_of_labels(tokens))
        return self.mark_as_bit(relu(name, excess, rule=rule))


def token_sets(formulas: Iterable[Formula], tokens: frozenset[str]) -> dict[Formula, TruthValue]:
    """The tokens at which formulas without counts hold; formulas are given operands first."""
    where: dict[Formula, frozenset[str]] = {}
    for formula in formulas:
        match formula:
            case Symbol(symbol):
                where[formula] = frozenset([symbol])
            case BooleanConstant(value):
                where[formula] = tokens if value else frozenset()
            case Not(of):
                where[formula] = tokens - where[of]
            case And(operands):
                where[formula] = tokens.intersection(*(where[operand] for operand in operands))
            case Or(operands):
                where[formula] = frozenset[str]().union(*(where[operand] for operand in operands))
    return dict(where)
