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

from softmachine.languages.rasp import RaspProgram
from softmachine.languages.rasp.ir import UNDEFINED, Repeat, Value
from softmachine.languages.rasp.types import ZERO, FiniteType, FractionType, IntegerType, is_at_least
from softmachine.languages.rasp.values import PartialValue, format_value, is_number, normalise_number
from softmachine.theorems.shared.recogniser_codec import unused_token

MAX_INTEGER_TOKEN = 254
"""The largest absolute value of an integer with a token."""
MAX_FRACTION_TOKENS = 64
"""The largest number of tokens for fractions."""
MAX_DENOMINATOR = 16
MORE, LESS, OTHER = "more", "less", "other"


@dataclass(frozen=True)
class OutputVocabulary:
    """The output vocabulary of a model.

    Args:
        program: The program.
        length: The maximal length of words for which every integer has a token; None for the default vocabulary.
    """

    program: RaspProgram
    length: int | None = None

    @cached_property
    def max_integer(self) -> int:
        """The largest absolute value of an integer with a token."""
        return MAX_INTEGER_TOKEN if self.length is None else max(self.output_bound(self.length), 1)

    def output_bound(self, length: int) -> int:
        """A bound on the absolute value of outputs for words of a length; 0 if outputs are not growing integers."""
        found = self.program.types[self.program.output]
        if isinstance(found, FiniteType) or not self.only_integers:
            return 0
        return max(abs(int(end.at(n))) for end in (found.low, found.high) for n in (1, max(length, 1)))

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The values that have a token, in the order of the tokens; the first of those with the same text."""
        match self.program.types[self.program.output]:
            case FiniteType(values=values):
                listed: Iterator[Value] = iter(values)
            case IntegerType(low=low, high=high) | FractionType(low=low, high=high) if self.only_integers:
                smallest = int(low.at(0)) if not low.degree else 0 if is_at_least(low, ZERO) else -self.max_integer
                most = int(high.at(0)) if not high.degree else self.max_integer
                listed = iter(range(max(smallest, -self.max_integer), min(most, self.max_integer) + 1))
            case FractionType() as found:
                listed = _list_fractions(found)
        return tuple({format_value(value): value for value in listed}.values())

    @property
    def tokens(self) -> tuple[str, ...]:
        """All tokens: those of values, then those for values without one."""
        return (*self._token_texts, *self.out_of_range_tokens, *([self.undefined] if self.may_be_undefined else []))

    @cached_property
    def may_be_undefined(self) -> bool:
        """Whether the output may be undefined, also because a loop may not converge."""
        loops = any(isinstance(node, Repeat) for node in self.program.nodes.values())
        return loops or self.program.types[self.program.output].partial

    @cached_property
    def _token_texts(self) -> tuple[str, ...]:
        return tuple(map(format_value, self.values))

    @property
    def undefined(self) -> str:
        """The token for an undefined output."""
        return unused_token(format_value(UNDEFINED), self._token_texts)

    @cached_property
    def out_of_range_tokens(self) -> tuple[str, ...]:
        """The tokens for numbers without a token of their own."""
        match self.program.types[self.program.output]:
            case FiniteType():
                return ()
            case IntegerType():
                return self._bounds
        return (*self._bounds, OTHER) if self.only_integers else (OTHER,)

    @property
    def _bounds(self) -> tuple[str, ...]:
        found = self.program.types[self.program.output]
        return (MORE,) if isinstance(found, FiniteType) or is_at_least(found.low, ZERO) else (MORE, LESS)

    @cached_property
    def only_integers(self) -> bool:
        """Whether only integers have tokens: integers, and fractions that grow with the length."""
        match self.program.types[self.program.output]:
            case IntegerType():
                return True
            case FractionType(low=low, high=high):
                return bool(low.degree or high.degree)
        return False

    def token_of(self, value: PartialValue) -> str:
        """The token of a value."""
        if value is UNDEFINED:
            return self.undefined
        text = format_value(
            normalise_number(value) if self.out_of_range_tokens and is_number(value) else value
        )  # False among integers is 0
        if not self.out_of_range_tokens or text in self._token_by_value:
            return text
        assert is_number(value)
        if OTHER in self.out_of_range_tokens and not (self.only_integers and Fraction(value).denominator == 1):
            return OTHER
        return MORE if value > 0 else LESS

    @cached_property
    def _token_by_value(self) -> frozenset[str]:
        return frozenset(self._token_texts)


def _list_fractions(found: FractionType) -> Iterator[Value]:
    """Fractions between two bounds, by denominator, up to the largest number of tokens."""
    low, high = int(found.low.at(0)), int(found.high.at(0))
    count = 0
    for denominator in range(1, MAX_DENOMINATOR + 1):
        new = [p for p in range(low * denominator, high * denominator + 1) if gcd(p, denominator) == 1]
        count += len(new)
        if count > MAX_FRACTION_TOKENS and denominator > 1:
            return
        yield from (normalise_number(Fraction(p, denominator)) for p in new)
