"""Affine forms: what a number of the residual stream is made of, exactly.

A transformer without layer norm adds to its residual stream. So every number that it computes is a constant, plus a
part that only depends on the token, plus a linear combination of *atoms*: position features, hidden units, and what
heads retrieve. Following the atoms instead of the coordinates cancels what is added and taken away again, and shows
what depends on the token alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

ZERO = Fraction(0)


@dataclass(frozen=True)
class AffineForm:
    """The number constant + tokens[token] + Σ terms[atom] · atom.

    Args:
        constant: What is always there.
        tokens: What a token adds; tokens that add nothing are left out.
        terms: The coefficients of the atoms, none of them 0.
    """

    constant: Fraction = ZERO
    tokens: Mapping[int, Fraction] = field(default_factory=dict)
    terms: Mapping[int, Fraction] = field(default_factory=dict)

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two forms equal."""
        return self.constant, tuple(sorted(self.tokens.items())), tuple(sorted(self.terms.items()))

    @property
    def is_constant(self) -> bool:
        """Whether it is the same number everywhere."""
        return not self.tokens and not self.terms

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 everywhere."""
        return self.is_constant and not self.constant

    @property
    def of_token(self) -> bool:
        """Whether the token alone decides it."""
        return not self.terms

    def at_token(self, token: int) -> Fraction:
        """The constant and what the token adds."""
        return self.constant + self.tokens.get(token, ZERO)

    def without(self, atoms: Iterable[int]) -> AffineForm:
        """The form without the terms of some atoms."""
        left_out = set(atoms)
        return AffineForm(self.constant, self.tokens, {a: w for a, w in self.terms.items() if a not in left_out})

    def scaled(self, factor: Fraction) -> AffineForm:
        """The form times a number."""
        return combination([(factor, self)])


def atom(number: int) -> AffineForm:
    """The form that is one atom."""
    return AffineForm(terms={number: Fraction(1)})


def combination(parts: Iterable[tuple[Fraction, AffineForm]], constant: Fraction = ZERO) -> AffineForm:
    """The sum of forms, each times a number, and a constant."""
    tokens: dict[int, Fraction] = {}
    terms: dict[int, Fraction] = {}
    for weight, form in parts:
        if not weight:
            continue
        constant += weight * form.constant
        for token, value in form.tokens.items():
            tokens[token] = tokens.get(token, ZERO) + weight * value
        for number, value in form.terms.items():
            terms[number] = terms.get(number, ZERO) + weight * value
    return AffineForm(constant, {t: v for t, v in tokens.items() if v}, {a: v for a, v in terms.items() if v})


def of_tokens(values: Mapping[int, Fraction], vocabulary: int, otherwise: Fraction = ZERO) -> AffineForm:
    """The form that the token alone decides: some values, and another for all tokens that have none.

    It takes as long as there are values, unless most tokens have one: then one of these becomes the usual one.
    """
    if 2 * len(values) > vocabulary:
        every = [values.get(token, otherwise) for token in range(vocabulary)]
        values, otherwise = dict(enumerate(every)), Counter(every).most_common(1)[0][0]
    return AffineForm(otherwise, {token: value - otherwise for token, value in values.items() if value != otherwise})


def apply_to_tokens(function: Callable[[Fraction], Fraction], form: AffineForm, vocabulary: int) -> AffineForm:
    """A function of a form that only depends on the token."""
    values = {token: function(form.at_token(token)) for token in form.tokens}
    return of_tokens(values, vocabulary, function(form.constant))
