"""Output vocabulary of a RASP program's model: tokens of values, and tokens for values without one.

Each value of a finite type has a token. Integers have tokens up to a largest one, fractions up to a largest
denominator; beyond, the model emits *more*, *less* or *other*, which is correct, instead of a wrong number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd

from softmachine.languages.rasp import Program
from softmachine.languages.rasp.ir import UNDEFINED, Repeat, Value
from softmachine.languages.rasp.types import ZERO, Finite, Integer, Line, Ratio
from softmachine.languages.rasp.values import Result, is_number, plain, spelled
from softmachine.theorems.shared.recogniser_codec import unused

LARGEST = 254
"""The largest absolute value of an integer with a token."""
MOST_FRACTIONS = 64
"""The largest number of tokens for fractions."""
LARGEST_DENOMINATOR = 16
MORE, LESS, OTHER = "more", "less", "other"


@dataclass(frozen=True)
class Answers:
    """The output vocabulary of a model.

    Args:
        program: The program.
        length: The maximal length of words for which every integer has a token; None for the default vocabulary.
    """

    program: Program
    length: int | None = None

    @cached_property
    def largest(self) -> int:
        """The largest absolute value of an integer with a token."""
        return LARGEST if self.length is None else max(self.reach(self.length), 1)

    def reach(self, length: int) -> int:
        """A bound on the absolute value of outputs for words of a length; 0 if outputs are not growing integers."""
        found = self.program.types[self.program.output]
        if isinstance(found, Finite) or not self.whole:
            return 0
        return max(abs(end.at(n)) for end in (found.low, found.high) for n in (1, max(length, 1)))

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The values that have a token, in the order of the tokens; the first of those with the same text."""
        match self.program.types[self.program.output]:
            case Finite(values=values):
                listed: Iterator[Value] = iter(values)
            case Integer(low=low, high=high) | Ratio(low=low, high=high) if self.whole:
                smallest = low.constant if not low.degree else 0 if low.at_least(ZERO) else -self.largest
                most = high.constant if not high.degree else self.largest
                listed = iter(range(max(smallest, -self.largest), min(most, self.largest) + 1))
            case Ratio() as found:
                listed = _fractions(found)
        return tuple({spelled(value): value for value in listed}.values())

    @property
    def tokens(self) -> tuple[str, ...]:
        """All tokens: those of values, then those for values without one."""
        return (*self._spelled, *self.beyond, *([self.undefined] if self.partial else []))

    @cached_property
    def partial(self) -> bool:
        """Whether the output may be undefined, also because a loop may not converge."""
        loops = any(isinstance(node, Repeat) for node in self.program.nodes.values())
        return loops or self.program.types[self.program.output].partial

    @cached_property
    def _spelled(self) -> tuple[str, ...]:
        return tuple(map(spelled, self.values))

    @property
    def undefined(self) -> str:
        """The token for an undefined output."""
        return unused(spelled(UNDEFINED), self._spelled)

    @cached_property
    def beyond(self) -> tuple[str, ...]:
        """The tokens for numbers without a token of their own."""
        match self.program.types[self.program.output]:
            case Finite():
                return ()
            case Integer():
                return self._ends
        return (*self._ends, OTHER) if self.whole else (OTHER,)

    @property
    def _ends(self) -> tuple[str, ...]:
        return (MORE,) if self._low.at_least(ZERO) else (MORE, LESS)

    @property
    def _low(self) -> Line:
        found = self.program.types[self.program.output]
        return ZERO if isinstance(found, Finite) else found.low

    @cached_property
    def whole(self) -> bool:
        """Whether only integers have tokens: integers, and fractions that grow with the length."""
        match self.program.types[self.program.output]:
            case Integer():
                return True
            case Ratio(low=low, high=high):
                return bool(low.degree or high.degree)
        return False

    def of(self, value: Result) -> str:
        """The token of a value."""
        if value is UNDEFINED:
            return self.undefined
        text = spelled(plain(value) if self.beyond and is_number(value) else value)  # False among integers is 0
        if not self.beyond or text in self._known:
            return text
        assert is_number(value)
        if OTHER in self.beyond and not (self.whole and Fraction(value).denominator == 1):
            return OTHER
        return MORE if value > 0 else LESS

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._spelled)


def _fractions(found: Ratio) -> Iterator[Value]:
    """Fractions between two bounds, by denominator, up to the largest number of tokens."""
    low, high = found.low.constant, found.high.constant
    count = 0
    for denominator in range(1, LARGEST_DENOMINATOR + 1):
        new = [p for p in range(low * denominator, high * denominator + 1) if gcd(p, denominator) == 1]
        count += len(new)
        if count > MOST_FRACTIONS and denominator > 1:
            return
        yield from (plain(Fraction(p, denominator)) for p in new)
