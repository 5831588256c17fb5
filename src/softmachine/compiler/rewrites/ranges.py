"""Interval bounds of every coordinate of the residual stream, valid for all inputs.

Interval arithmetic, layer by layer and iteration by iteration, with one relational refinement: hidden units that read
the same linear combination form one piecewise linear function, so that ReLU(x) - ReLU(-x) is x itself, and a function
that rises and levels off stays between its extremes. This keeps the bounds of bits at [0, 1] for any number of
iterations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from softmachine.transformer.attention import Mask
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Matrix, SparseRow, Transformer

Interval = tuple[Fraction, Fraction]
ZERO_INTERVAL: Interval = (Fraction(0), Fraction(0))


@dataclass(frozen=True)
class StreamBounds:
    """An interval for each coordinate."""

    intervals: tuple[Interval, ...]

    def map_affine(self, affine: AffineMap) -> StreamBounds:
        """Return the bounds of an affine map of the stream."""
        return StreamBounds(tuple(map(_shift, _multiply(affine.weight, self.intervals), affine.bias)))

    def add_product(self, matrix: Matrix, other: StreamBounds) -> StreamBounds:
        """Return the bounds of the stream plus a matrix times another vector."""
        added = _multiply(matrix, other.intervals)
        return StreamBounds(tuple((a + c, b + d) for (a, b), (c, d) in zip(self.intervals, added, strict=True)))

    def hull(self, other: StreamBounds) -> StreamBounds:
        """Return the componentwise convex hull."""
        pairs = zip(self.intervals, other.intervals, strict=True)
        return StreamBounds(tuple((min(a, c), max(b, d)) for (a, b), (c, d) in pairs))

    @property
    def max_absolute(self) -> tuple[Fraction, ...]:
        """The largest absolute value of each coordinate."""
        return tuple(max(abs(low), abs(high)) for low, high in self.intervals)


def bound_stream(transformer: Transformer, positions: int, length: int | None) -> StreamBounds:
    """Return bounds of the stream at and within all layers, including 0, the initial value of padding."""
    start = _bound_embeddings(transformer, positions, length)
    found = now = start.hull(StreamBounds((ZERO_INTERVAL,) * transformer.width))
    for layer in transformer.iterate_layers(length):
        attended, now = _bound_layer(layer, now)
        found = found.hull(attended).hull(now)
    return found


def bound_head_output(head: Head, stream: StreamBounds) -> StreamBounds:
    """Return the bounds of the output of a head."""
    found = stream.map_affine(head.value)
    empty = head.mask in (Mask.PAST, Mask.FUTURE)
    return found.hull(StreamBounds((ZERO_INTERVAL,) * len(found.intervals))) if empty else found


def bound_score(head: Head, stream: StreamBounds) -> Fraction:
    """Return an upper bound of the absolute scores of a head, without its bias."""
    pairs = zip(stream.map_affine(head.query).max_absolute, stream.map_affine(head.key).max_absolute, strict=True)
    return sum((one * other for one, other in pairs), Fraction(0))


def _bound_embeddings(transformer: Transformer, positions: int, length: int | None) -> StreamBounds:
    """Return the bounds of the embeddings."""
    features = [[feature.at(i, length) for feature in transformer.features] for i in range(positions)]
    placed = [_row_times_matrix(transformer.position_embedding, values) for values in features]
    tokens = [dict(row) for row in transformer.embedding.rows]
    sums = []
    for c in range(transformer.width):
        held, given = [row.get(c, Fraction(0)) for row in tokens], [row[c] for row in placed]
        sums.append((min(held) + min(given), max(held) + max(given)))
    return StreamBounds(tuple(sums))


def _row_times_matrix(matrix: Matrix, values: Iterable[Fraction]) -> list[Fraction]:
    """Multiply a row vector by a matrix."""
    total = [Fraction(0)] * matrix.columns
    for row, value in zip(matrix.rows, values, strict=True):
        for c, weight in row:
            total[c] += value * weight
    return total


def _bound_layer(layer: Layer, stream: StreamBounds) -> tuple[StreamBounds, StreamBounds]:
    """Return the bounds of the stream after the heads of a layer, and after its feed-forward network."""
    attended = stream
    for head in layer.heads:
        attended = attended.add_product(head.output, bound_head_output(head, stream))
    network = layer.feed_forward
    linear: list[dict[int, Fraction]] = [{c: Fraction(1)} for c in range(len(stream.intervals))]
    rest = [(bias, bias) for bias in network.second.bias]
    for row, units in _group_units(network).items():
        (where,) = _multiply(Matrix((row,), len(linear)), attended.intervals)
        for c, curve in _group_functions(network, units).items():
            slope, low, high = curve.split_slope(where)
            rest[c] = rest[c][0] + low, rest[c][1] + high
            for other, weight in row if slope else ():
                linear[c][other] = linear[c].get(other, Fraction(0)) + slope * weight
    after = _multiply(Matrix.of(linear, len(linear)), attended.intervals)
    pairs = zip(after, rest, strict=True)
    return attended, StreamBounds(tuple((a + c, b + d) for (a, b), (c, d) in pairs))


@dataclass(frozen=True)
class PiecewiseLinear:
    """A sum of hidden units that read the same combination z of coordinates, as a function of z.

    Args:
        parts: For each unit its weight, the factor of z, its bias, and its activation.
    """

    parts: tuple[tuple[Fraction, Fraction, Fraction, str], ...]

    def value_at(self, z: Fraction) -> Fraction:
        """Return the value without step units, which :meth:`split_slope` bounds."""
        return sum(
            (w * max(factor * z + bias, Fraction(0)) for w, factor, bias, how in self.parts if how == "relu"),
            Fraction(0),
        )

    def split_slope(self, where: Interval) -> tuple[Fraction, Fraction, Fraction]:
        """Return a slope and bounds of the rest; the rest is bounded if both ends have the same slope."""
        slopes = [
            sum((w * factor for w, factor, _, how in self.parts if how == "relu" and factor * sign > 0), Fraction(0))
            for sign in (1, -1)
        ]
        slope = slopes[0] if slopes[0] == slopes[1] else Fraction(0)
        breaks = [-bias / factor for _, factor, bias, _ in self.parts if factor]
        points = {*where, *(z for z in breaks if where[0] < z < where[1])}
        found = [self.value_at(z) - slope * z for z in points]
        steps = [w for w, _, _, how in self.parts if how == "step"]
        below = sum((w for w in steps if w < 0), Fraction(0))
        above = sum((w for w in steps if w > 0), Fraction(0))
        return slope, min(found) + below, max(found) + above


def _group_units(network: FeedForward) -> dict[SparseRow, list[tuple[int, Fraction]]]:
    """Group the units that read multiples of the same linear combination, with their factors."""
    found: dict[SparseRow, list[tuple[int, Fraction]]] = {}
    for unit, row in enumerate(network.first.weight.rows):
        factor = row[0][1] if row else Fraction(1)
        found.setdefault(tuple((c, weight / factor) for c, weight in row), []).append((unit, factor))
    return found


def _group_functions(network: FeedForward, units: list[tuple[int, Fraction]]) -> dict[int, PiecewiseLinear]:
    """Return the function that a group of units adds to each coordinate."""
    writes = network.second.weight.transposed.rows
    parts: dict[int, list[tuple[Fraction, Fraction, Fraction, str]]] = {}
    for unit, factor in units:
        for c, weight in writes[unit]:
            known = (weight, factor, network.first.bias[unit], network.activations[unit])
            parts.setdefault(c, []).append(known)
    return {c: PiecewiseLinear(tuple(found)) for c, found in parts.items()}


def _shift(interval: Interval, bias: Fraction) -> Interval:
    return interval[0] + bias, interval[1] + bias


def _multiply(matrix: Matrix, intervals: tuple[Interval, ...]) -> list[Interval]:
    found = []
    for row in matrix.rows:
        low = high = Fraction(0)
        for c, weight in row:
            ends = weight * intervals[c][0], weight * intervals[c][1]
            low, high = low + min(ends), high + max(ends)
        found.append((low, high))
    return found
