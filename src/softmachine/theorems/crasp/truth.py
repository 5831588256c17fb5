"""Truth values for C-RASP: from the sign of a number to 0 or a unit, and Boolean logic in multiples of that unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from softmachine.signals import Signal, constant, named, relu, stack, step
from softmachine.signals.kinds import BIT, SHARES, Kind
from softmachine.transformer.bounds import Bound

STEEPNESS = 4
"""Numbers whose sign is asked for are at least 1/(4(i+1)) away from 0."""


class Sign(StrEnum):
    """How the sign of a number becomes a truth value."""

    HEAVISIDE = "heaviside"
    """By a step: 1 or 0, for every length."""
    RELU = "relu"
    """By ReLU alone, for every length: 1/(i+1) or 0, which is as good where nothing is counted."""
    BOUNDED = "bounded"
    """By ReLU alone, with a slope that is made for a length: 1 or 0 up to there."""


@dataclass(frozen=True)
class Truth:
    """A truth value at every position.

    Args:
        tokens: If the token alone decides: the tokens where it is true.
        signal: Otherwise: the unit where it is true, else 0.
    """

    tokens: frozenset[str] = frozenset()
    signal: Signal | None = None


class Truths:
    """How truth values are made and combined. One feed-forward layer an operator, where the token does not decide.

    Args:
        letters: The token, one-hot.
        sign: How signs become truth values.
        length: The number of positions they are made for, if they are bounded.
    """

    share: Signal
    """1/(i+1); there is a head for it before there is anything to take the sign of."""

    def __init__(self, letters: Signal, sign: Sign, length: int | None) -> None:
        self.letters = letters
        self.everywhere = frozenset(letters.labels or ())
        self.sign = sign
        self.length = length

    @property
    def unit(self) -> Signal:
        """What is there where something is true."""
        return self.share if self.sign is Sign.RELU else constant(1)

    def constant(self, value: bool) -> Truth:
        """True or false everywhere."""
        return Truth(self.everywhere if value else frozenset())

    def not_negative(self, name: str, number: Signal) -> Truth:
        """Whether a number that is at least 1/(4(i+1)) away from 0 is positive. One or two units."""
        if self.sign is Sign.HEAVISIDE:
            return Truth(signal=step(name, number))
        slope = STEEPNESS * (self.length or 1)
        rise, beyond = relu(f"{name}: from 0", slope * number), relu(f"{name}: beyond", slope * number - self.unit)
        shares = Kind(Bound.of(0), Bound.of(1), SHARES)
        return Truth(signal=named(name, (rise - beyond).known(shares if self.sign is Sign.RELU else BIT)))

    def signal(self, truth: Truth, name: str) -> Signal:
        """The unit where it is true, else 0."""
        if truth.signal is not None:
            return truth.signal
        holds = self.letters.among(truth.tokens)
        return holds if self.sign is not Sign.RELU else relu(name, self.unit - (1 - holds))

    def negation(self, truth: Truth) -> Truth:
        """Not: the unit minus it."""
        if truth.signal is None:
            return Truth(self.everywhere - truth.tokens)
        return Truth(signal=self.unit - truth.signal)

    def conjunction(self, name: str, truths: Iterable[Truth]) -> Truth:
        """And: ReLU(s₁ + … + s_m - (m-1) units - [a token that rules it out])."""
        tokens, signals = self.everywhere, list[Signal]()
        for truth in truths:
            if truth.signal is None:
                tokens &= truth.tokens
            else:
                signals.append(truth.signal)
        if not signals or not tokens:
            return Truth(tokens)
        if len(signals) == 1 and tokens == self.everywhere:
            return Truth(signal=signals[0])
        excess = stack(*signals).total - (len(signals) - 1) * self.unit
        if tokens != self.everywhere:
            excess = excess - (1 - self.letters.among(tokens))
        held = relu(name, excess)
        return Truth(signal=held if self.sign is Sign.RELU else held.known(BIT))

    def both_or_neither(self, one: Truth, other: Truth, *, negated: bool) -> Truth:
        """Of two truth values of which at least one is true: whether both are, or (negated) one is not."""
        assert one.signal is not None
        assert other.signal is not None
        both = one.signal + other.signal - self.unit
        exact = both if self.sign is Sign.RELU else both.known(BIT)
        return Truth(signal=self.unit - exact if negated else exact)
