"""Fixed point number by number, in fractions: a slow and direct transcription of the definitions.

Nothing here is shared with the product: rounding compares distances, exponentials are bounded by Taylor's series, and a
transformer is run by loops over positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import floor

from softmachine.transformer.attention import AttentionKind
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Head, Layer, Transformer

Vector = list[Fraction]


@dataclass(frozen=True)
class Reference:
    """F_b and its operations."""

    bits: int

    @property
    def unit(self) -> Fraction:
        return Fraction(1, 2**self.bits)

    @property
    def largest(self) -> Fraction:
        return Fraction(2**self.bits) - self.unit

    def all(self) -> list[Fraction]:
        return [a * self.unit for a in range(-(4**self.bits) + 1, 4**self.bits)]

    def round(self, x: Fraction) -> Fraction:
        """The nearest member; of two, that with the larger absolute value."""
        units = x * 2**self.bits
        below = floor(units)
        nearest = min((below, below + 1), key=lambda member: (abs(member - units), -abs(member)))
        return Fraction(max(1 - 4**self.bits, min(4**self.bits - 1, nearest)), 2**self.bits)

    def add(self, x: Fraction, y: Fraction) -> Fraction:
        return self.round(x + y)

    def multiply(self, x: Fraction, y: Fraction) -> Fraction:
        return self.round(x * y)

    def sum(self, terms: Sequence[Fraction]) -> Fraction:
        total = Fraction(0)
        for term in terms:
            total = self.add(total, term)
        return total

    def inner(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
        return self.sum([self.multiply(a, b) for a, b in zip(x, y, strict=True)])

    def exp(self, x: Fraction) -> Fraction:
        """Both ends of an interval around e^x, until they round to the same."""
        for terms in count(8, 8):
            low, high = exponential(x, terms)
            if self.round(low) == self.round(high):
                return self.round(low)
        raise AssertionError

    def affine(self, affine: AffineMap, x: Sequence[Fraction]) -> Vector:
        products = [self.sum([self.multiply(w, x[c]) for c, w in row]) for row in affine.weight.rows]
        return [self.add(product, constant) for product, constant in zip(products, affine.bias, strict=True)]


def exponential(x: Fraction, terms: int) -> tuple[Fraction, Fraction]:
    """Bounds of e^x: Taylor's series at x / 2^k ≤ 1/2 in absolute value, squared k times."""
    halvings = max(0, (abs(x.numerator) // x.denominator).bit_length() + 1)
    small = x / 2**halvings
    term = total = Fraction(1)
    for k in range(1, terms):
        term = term * small / k
        total += term
    rest = 2 * abs(term * small / terms)
    low, high = max(Fraction(0), total - rest), total + rest
    for _ in range(halvings):
        low, high = shortened(low * low, terms, up=False), shortened(high * high, terms, up=True)
    return low, high


def shortened(x: Fraction, terms: int, *, up: bool) -> Fraction:
    """The number with some bits, rounded down or up."""
    scale = 2 ** (12 * terms)
    return Fraction(-floor(-x * scale) if up else floor(x * scale), scale)


@dataclass(frozen=True)
class ReferenceRun:
    """A transformer in F_b with F_b' inside attention."""

    transformer: Transformer
    bits: int
    inside: int
    length: int | None = None

    @property
    def outer(self) -> Reference:
        return Reference(self.bits)

    def stream(self, tokens: Sequence[str]) -> list[Vector]:
        model, numbers = self.transformer, self.outer
        stream = []
        for i, token in enumerate(tokens):
            row = dict(model.embedding.rows[model.vocabulary.index(token)])
            features = [numbers.round(feature.at(i, self.length)) for feature in model.features]
            position = [
                numbers.sum(
                    [
                        numbers.multiply(dict(weights).get(c, Fraction(0)), value)
                        for weights, value in zip(model.position_embedding.rows, features, strict=True)
                    ]
                )
                for c in range(model.width)
            ]
            stream.append([numbers.add(row.get(c, Fraction(0)), position[c]) for c in range(model.width)])
        for block in model.blocks:
            for _ in range(block.iterations(self.length)):
                for layer in block.layers:
                    stream = self.layer(layer, stream)
        return stream

    def layer(self, layer: Layer, stream: list[Vector]) -> list[Vector]:
        numbers = self.outer
        attended = []
        for i, x in enumerate(stream):
            found = [self.head(head, i, stream) for head in layer.heads]
            added = []
            for c in range(len(x)):
                terms = [
                    numbers.multiply(weight, values[column])
                    for head, values in zip(layer.heads, found, strict=True)
                    for column, weight in head.output.rows[c]
                ]
                added.append(numbers.sum(terms))
            attended.append([numbers.add(a, b) for a, b in zip(x, added, strict=True)])
        forward = layer.feed_forward
        result = []
        for x in attended:
            units = zip(numbers.affine(forward.first, x), forward.activations, strict=True)
            hidden = [max(u, Fraction(0)) if kind == "relu" else Fraction(int(u >= 0)) for u, kind in units]
            added = numbers.affine(forward.second, hidden)
            result.append([numbers.add(a, b) for a, b in zip(x, added, strict=True)])
        return result

    def head(self, head: Head, i: int, stream: list[Vector]) -> Vector:
        numbers, inside = self.outer, Reference(self.inside)
        query = numbers.affine(head.query, stream[i])
        keys = [j for j in range(len(stream)) if head.mask.is_visible(j, i)]
        values = [numbers.affine(head.value, stream[j]) for j in keys]
        if not keys:
            return [Fraction(0)] * len(head.value.bias)
        scores = []
        for j in keys:
            score = numbers.inner(query, numbers.affine(head.key, stream[j]))
            scores.append(score if head.bias is None else numbers.add(score, numbers.round(head.bias.at(j, i))))
        top = max(scores)
        best = [k for k, score in enumerate(scores) if score == top]
        match head.weighting.kind:
            case AttentionKind.LEFTMOST:
                return values[best[0]]
            case AttentionKind.RIGHTMOST:
                return values[best[-1]]
            case AttentionKind.AVERAGE:
                weights = [Fraction(int(k in best)) for k in range(len(keys))]
            case AttentionKind.SOFTMAX:
                scale = head.weighting.scale
                scale = inside.round(scale.at(i, self.length)) if isinstance(scale, Feature) else scale
                exponents = [inside.multiply(scale, inside.round(score - top)) for score in scores]
                weights = [inside.exp(exponent) for exponent in exponents]
        total = inside.sum(weights)
        columns = zip(*values, strict=True)
        return [numbers.round(inside.inner(weights, column) / total) for column in columns]
