"""Theorem 26: a temperature that is low enough, from the weights alone.

The theorem's argument (Lemmas 25 and 29 to 34), with residual connections, several heads and biases. In the 1-norm,
let X bound the residual stream, an error ε at a layer's input move scores by at most K₂ε, and come out as at most K₁ε,
besides M n e^(-g/2τ) for the weight on wrong keys. Then errors stay below E_ℓ, where E_L is small enough for scores and
logits and E_ℓ = E_{ℓ+1} / 2K₁, if 1/τ = (2/g) ln(M n / E_1), with g the gap. Nothing is known here of rounding gadgets,
which is why the budget does so much better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from softmachine.transformer.weights import AffineMap, Layer, Matrix, Transformer


@dataclass(frozen=True)
class SharpnessBound:
    """The bound of Theorem 26 for a transformer and a length.

    Args:
        sharpness: The scaled gap g/τ that the theorem asks for.
    """

    sharpness: float

    def describe_requirement(self, sharpness: float) -> str:
        """What the theorem asks for, in words, beside a scale that does."""
        if not math.isfinite(self.sharpness):
            return "Theorem 26 gives no temperature: there is a step, or its bounds are beyond floats"
        return f"Theorem 26 asks for scale {self.sharpness:.1f} / gap, {self.sharpness / sharpness:.1f} times as much"


def bound_sharpness(
    transformer: Transformer, length: int, positions: int, gap: Fraction, margin: Fraction
) -> SharpnessBound:
    """The scaled gap that Theorem 26 asks for; a loop counts as the layers that it unrolls to.

    Args:
        transformer: The model with hard attention.
        length: n.
        positions: How many positions there are.
        gap: The smallest gap of any head's scores at that length.
        margin: By how much the right logit exceeds the others.
    """
    bound = _bound_inputs(transformer, positions)
    k1 = k2 = leak = 1.0
    depth = -1
    for layer in _iterate_layers(transformer, length):
        if not math.isfinite(bound):  # a long loop: the bounds are beyond floats
            return SharpnessBound(math.inf)
        constants = layer.constants(bound)
        k1, k2, leak = max(k1, constants.k1), max(k2, constants.k2), max(leak, constants.leak)
        bound = constants.bound
        depth += 1
    last = min(
        float(gap) / (4 * k2), float(margin) / (4 * max(_operator_norm(transformer.unembedding.weight), 1.0)), 1.0
    )
    if not last or not math.isfinite(leak + k1):
        return SharpnessBound(math.inf)
    logarithm = math.log(leak * positions) - math.log(last) + max(depth, 0) * math.log(2 * k1)
    return SharpnessBound(2 * max(logarithm, 1.0))


@dataclass(frozen=True)
class _Constants:
    k1: float
    k2: float
    leak: float
    bound: float


def _iterate_layers(transformer: Transformer, length: int) -> Iterator[_LayerNorms]:
    """All layers, those of loops as often as they run."""
    for block in transformer.blocks:
        layers = [_LayerNorms.of(layer) for layer in block.layers]
        for _ in range(block.iterations(length)):
            yield from layers


@dataclass(frozen=True)
class _MapNorms:
    """An affine map in the 1-norm: by how much it stretches, and what it adds."""

    norm: float
    bias: float

    @staticmethod
    def of(affine: AffineMap) -> _MapNorms:
        """The norms of a map."""
        return _MapNorms(_operator_norm(affine.weight), sum(float(abs(b)) for b in affine.bias))

    def reach(self, bound: float) -> float:
        """A bound of the result."""
        return self.norm * bound + self.bias


@dataclass(frozen=True)
class _HeadNorms:
    query: _MapNorms
    key: _MapNorms
    value: _MapNorms
    output: float

    def score_slope(self, bound: float) -> float:
        """By how much an error of at most 1 at the inputs, in the 1-norm, moves a score, per error."""
        query, key = self.query, self.key
        return query.norm * key.reach(bound) + key.norm * query.reach(bound) + query.norm * key.norm


@dataclass(frozen=True)
class _LayerNorms:
    """What the theorem has to know of a layer, in every turn of a loop."""

    heads: tuple[_HeadNorms, ...]
    first: _MapNorms
    second: _MapNorms

    @staticmethod
    def of(layer: Layer) -> _LayerNorms:
        """The norms of a layer."""
        heads = tuple(
            _HeadNorms(
                _MapNorms.of(head.query), _MapNorms.of(head.key), _MapNorms.of(head.value), _operator_norm(head.output)
            )
            for head in layer.heads
        )
        return _LayerNorms(heads, _MapNorms.of(layer.feed_forward.first), _MapNorms.of(layer.feed_forward.second))

    def constants(self, bound: float) -> _Constants:
        """What it does to bounds and errors."""
        passed = sum(head.output * head.value.norm for head in self.heads)
        retrieved = sum(head.output * head.value.reach(bound) for head in self.heads)
        after = bound + retrieved
        amplify = 1 + self.second.norm * self.first.norm
        return _Constants(
            k1=amplify * (1 + passed),
            k2=max((head.score_slope(bound) for head in self.heads), default=1.0),
            leak=max(amplify * 2 * retrieved, 1.0),
            bound=after + self.second.norm * self.first.reach(after) + self.second.bias,
        )


def _operator_norm(matrix: Matrix) -> float:
    """The operator norm for the 1-norm: the largest sum of absolute values in a column."""
    columns = [Fraction(0)] * matrix.columns
    for _, column, value in matrix.entries():
        columns[column] += abs(value)
    return float(max(columns, default=Fraction(0)))


def _bound_inputs(transformer: Transformer, count: int) -> float:
    tokens = max((sum(abs(value) for _, value in row) for row in transformer.embedding.rows), default=Fraction(0))
    positions = Fraction(0)
    for feature, row in zip(transformer.features, transformer.position_embedding.rows, strict=True):
        high = max(abs(feature.low.at(count)), abs(feature.high.at(count)))
        positions += high * sum(abs(value) for _, value in row)
    return float(tokens + positions)
