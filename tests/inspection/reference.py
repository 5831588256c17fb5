"""Reference forward pass in Python fractions, from the definition of a transformer, without numpy or flint.

Softmax has no rational value: its weights are computed with 50 digits and rounded to 60, far more than tests compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction

from softmachine.transformer.attention import AttentionKind
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Transformer

Vector = list[Fraction]


@dataclass
class Seen:
    """The activation of a head at a position."""

    scores: dict[int, Fraction]
    weights: dict[int, Fraction]
    retrieved: Vector


@dataclass
class Expected:
    """All activations: streams[k][position] after k sublayers that write, heads in order, logits[position]."""

    streams: list[list[Vector]] = field(default_factory=list)
    heads: list[list[Seen]] = field(default_factory=list)
    logits: list[Vector] = field(default_factory=list)


def expected(transformer: Transformer, tokens: Sequence[str], length: int | None) -> Expected:
    """Compute all activations of a transformer on a sequence."""
    found = Expected()
    stream = [_embedded(transformer, token, i, length) for i, token in enumerate(tokens)]
    found.streams.append(stream)
    for block in transformer.blocks:
        for _ in range(block.iterations(length)):
            for layer in block.layers:
                if layer.heads:
                    seen = [_attend(head, stream, length) for head in layer.heads]
                    found.heads += seen
                    pairs = list(zip(layer.heads, seen, strict=True))
                    stream = [
                        _plus(x, *(_times(head.output.rows, own[i].retrieved) for head, own in pairs))
                        for i, x in enumerate(stream)
                    ]
                    found.streams.append(stream)
                forward = layer.feed_forward
                if forward.units or any(forward.second.bias):
                    stream = [
                        _plus(x, _apply(forward.second, _active(forward, _apply(forward.first, x)))) for x in stream
                    ]
                    found.streams.append(stream)
    found.logits = [_apply(transformer.unembedding, x) for x in stream]
    return found


def _embedded(transformer: Transformer, token: str, i: int, length: int | None) -> Vector:
    x = [Fraction(0)] * transformer.width
    for c, weight in transformer.embedding.rows[transformer.vocabulary.index(token)]:
        x[c] += weight
    for feature, row in zip(transformer.features, transformer.position_embedding.rows, strict=True):
        for c, weight in row:
            x[c] += weight * feature.at(i, length)
    return x


def _attend(head: Head, stream: list[Vector], length: int | None) -> list[Seen]:
    queries, keys, values = ([_apply(part, x) for x in stream] for part in (head.query, head.key, head.value))
    found = []
    for i, query in enumerate(queries):
        scores = {
            j: sum((q * k for q, k in zip(query, key, strict=True)), Fraction(0))
            + (head.bias.at(j, i) if head.bias else 0)
            for j, key in enumerate(keys)
            if head.mask.is_visible(j, i)
        }
        weights = _weights(head, i, scores, length)
        mean = [sum((w * values[j][c] for j, w in weights.items()), Fraction(0)) for c in range(len(head.value.bias))]
        found.append(Seen(scores, weights, mean))
    return found


def _weights(head: Head, i: int, scores: dict[int, Fraction], length: int | None) -> dict[int, Fraction]:
    if not scores:
        return {}
    best = max(scores.values())
    tied = [j for j, score in scores.items() if score == best]
    match head.weighting.kind:
        case AttentionKind.SOFTMAX:
            scale = head.weighting.scale
            sharpness = scale.at(i, length) if isinstance(scale, Feature) else scale
            if len(tied) < len(scores):
                return _softmax({j: sharpness * (score - best) for j, score in scores.items()})
        case AttentionKind.LEFTMOST:
            tied = tied[:1]
        case AttentionKind.RIGHTMOST:
            tied = tied[-1:]
    return {j: Fraction(j in tied, len(tied)) for j in scores}


def _softmax(exponents: dict[int, Fraction]) -> dict[int, Fraction]:
    with localcontext(prec=50):
        powers = {j: Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp()) for j, x in exponents.items()}
    total = sum(powers.values())
    return {j: round(power / total, 60) for j, power in powers.items()}


def _active(forward: FeedForward, x: Vector) -> Vector:
    kinds = forward.activations
    found = [Fraction(v >= 0) if kind == "step" else max(v, Fraction(0)) for kind, v in zip(kinds, x, strict=True)]
    for group in forward.norms:
        square = sum((x[k] ** 2 for k in group), Fraction(0)) / len(group)
        with localcontext(prec=50):
            root = Fraction((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())
        for k in group:
            found[k] = x[k] / root if root else Fraction(0)
    return found


def _apply(affine: AffineMap, x: Vector) -> Vector:
    return _plus(_times(affine.weight.rows, x), list(affine.bias))


def _times(rows: Sequence[Sequence[tuple[int, Fraction]]], x: Vector) -> Vector:
    return [sum((weight * x[c] for c, weight in row), Fraction(0)) for row in rows]


def _plus(*parts: Vector) -> Vector:
    return [sum(column, Fraction(0)) for column in zip(*parts, strict=True)]
