"""First position: what is known of numbers at position 0 and at all later ones, and of position 0 as a key.

Many constructions begin with a start token whose key says what is retrieved if nothing matches, or that is counted
among the keys that do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

from softmachine.ir.facts import ONE, ZERO
from softmachine.ir.primitives import Attention, Named, Norm, Position, Token, Unit
from softmachine.ir.signal import Affine, Atom, Node
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import I_SQUARED, I, Monomial

if TYPE_CHECKING:
    from softmachine.ir.analysis import Analysis


class FirstPosition:
    """Position 0 of the inputs of an analysis.

    Args:
        analysis: The facts.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.values: dict[Atom, Fraction] = {}
        """The values at position 0 that are the same for all inputs."""

    def visit(self, node: Node) -> None:
        """Find the values of a node whose inputs have been visited."""
        for k in range(len(node.ranges)):
            self.values.pop((node, k), None)
            value = self._value(node, k)
            if value is not None:
                self.values[node, k] = value

    def _value(self, node: Node, k: int) -> Fraction | None:
        """The value of an atom: under a causal mask, position 0 sees only itself."""
        match node:
            case Token():
                values = self.analysis.by_token.values(Affine({(node, k): ONE}), start=True)
                return values.pop() if len(values) == 1 else None
            case Position(feature=Monomial() as feature) if feature.i > 0:
                return ZERO
            case Position():
                return None if node.feature.needs_length else node.feature.at(0)
            case Attention(mask=Mask.PAST):
                return ZERO
            case Attention() if node.mask is Mask.CAUSAL or self.is_best_of_first(node):
                return self.value(node.value[k])
            case Norm():
                return None
            case Unit() | Named():
                value = self.value(node.forms[k])
                if value is None or isinstance(node, Named):
                    return value
                return max(value, ZERO) if node.activation == "relu" else Fraction(value >= 0)
        return None

    def value(self, form: Affine) -> Fraction | None:
        """The value of a form at position 0, if it is known."""
        return self.split(form)[0] if all(atom in self.values for atom in form.terms) else None

    def split(self, form: Affine) -> tuple[Fraction, Affine]:
        """The value at position 0 of the part of a form that is known there, and the rest."""
        known = sum((f * self.values[a] for a, f in form.terms.items() if a in self.values), form.constant)
        return known, Affine({atom: f for atom, f in form.terms.items() if atom not in self.values})

    def later(self, form: Affine) -> Affine:
        """The form at positions 1, 2, …: what the token decides is a constant, if it is the same for all tokens."""
        local, rest = self.analysis.split_local(form)
        values = self.analysis.by_token.values(local, start=False)
        return rest + Affine({}, values.pop()) if len(values) == 1 else form

    def high_later(self, form: Affine) -> Fraction:
        """An upper bound of a form at positions 1, 2, …: of what tokens decide, of i and i², and of the rest."""
        local, rest = self.analysis.split_local(form)
        index = {a: f for a, f in rest.terms.items() if isinstance(a[0], Position) and a[0].feature in (I, I_SQUARED)}
        most = max(self.analysis.by_token.values(local, start=False), default=ZERO) + self._high_of_index(index)
        return min(self.analysis.of(self.later(form)).high, self.analysis.of(rest + Affine(index) * -ONE).high + most)

    def _high_of_index(self, terms: Mapping[Atom, Fraction]) -> Fraction:
        """The largest value of a i + b i² at positions i = 1, 2, …: at an end, or next to -a/2b."""
        factors = {node.feature: factor for (node, _), factor in terms.items() if isinstance(node, Position)}
        a, b = (Fraction(factors.get(feature, 0)) for feature in (I, I_SQUARED))
        last = max(self.analysis.positions - 1, 1)
        places: set[int] = {1, last, *((floor(-a / b / 2), ceil(-a / b / 2)) if b else ())}
        return max((a * i + b * i * i for i in places if 1 <= i <= last), default=ZERO)

    def is_best(self, node: Attention) -> bool:
        """Whether position 0 is among the best keys of all queries that see it."""
        tables = self.analysis.by_token
        local = all(map(tables.has_form, node.query))
        return local and all(self._margin(node, row) >= 0 for row in tables.distinct(node.query))

    def is_best_of_first(self, node: Attention) -> bool:
        """Whether position 0 is the only best key of the query at position 0."""
        queries = [value for query in node.query if (value := self.value(query)) is not None]
        return len(queries) == len(node.query) and self._margin(node, queries) > 0

    def _margin(self, node: Attention, query: Sequence[Fraction]) -> Fraction:
        """By how much the score of position 0 exceeds those of other keys, at least; negative if it is not visible."""
        if node.mask not in (Mask.CAUSAL, Mask.ALL, Mask.PAST) or self.analysis.is_padded or node.bias is not None:
            return -ONE
        score = Affine.sum(key * own for own, key in zip(query, node.key, strict=True))
        value, rest = self.split(score)
        return value + self.analysis.of(rest).low - self.high_later(score)
