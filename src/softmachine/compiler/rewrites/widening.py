"""What rewritings do alike: a stream with more coordinates, layers that read and write other ones, gathered numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Matrix

Rows = list[dict[int, Fraction]]
Target = Mapping[int, Sequence[tuple[int, Fraction]]]
"""For each coordinate with a retrieved number, where it belongs, and how much of it."""
Gate = Callable[[dict[int, Fraction], Fraction], None]
"""Changes the row of a hidden unit, whose bias is told, so that it is 0 where something is off."""
ZERO, ONE = Fraction(0), Fraction(1)


def reading(affine: AffineMap, wide: int, shift: int = 0) -> AffineMap:
    """The same map of a wider stream, whose coordinates it finds so much further on."""
    rows = tuple(tuple((c + shift, weight) for c, weight in row) for row in affine.weight.rows)
    return replace(affine, weight=Matrix(rows, wide))


def writing(matrix: Matrix, wide: int, shift: int = 0) -> Matrix:
    """The same matrix into a wider stream, so much further on."""
    after = wide - shift - len(matrix.rows)
    return replace(matrix, rows=(*[()] * shift, *matrix.rows, *[()] * after))


def widened(layer: Layer, wide: int) -> Layer:
    """A layer of a wider stream, whose new coordinates it does not touch."""
    heads = tuple(
        replace(
            head,
            query=reading(head.query, wide),
            key=reading(head.key, wide),
            value=reading(head.value, wide),
            output=writing(head.output, wide),
        )
        for head in layer.heads
    )
    network = layer.feed_forward
    second = AffineMap(writing(network.second.weight, wide), padded(network.second.bias, wide))
    return Layer(heads, replace(network, first=reading(network.first, wide), second=second))


def padded(bias: Sequence[Fraction], wide: int) -> tuple[Fraction, ...]:
    """A bias with zeros after it."""
    return (*bias, *[ZERO] * (wide - len(bias)))


def stacked(*maps: AffineMap) -> AffineMap:
    """One map that gives what several do, one after the other."""
    rows = tuple(row for each in maps for row in each.weight.rows)
    return AffineMap(Matrix(rows, maps[0].weight.columns), tuple(b for each in maps for b in each.bias))


def rows_of(rows: Iterable[tuple[Mapping[int, Fraction | int], Fraction | int]], wide: int) -> AffineMap:
    """A map from its rows: weights by coordinate, and a bias."""
    given = list(rows)
    weights = [{c: Fraction(weight) for c, weight in row.items()} for row, _ in given]
    return AffineMap(Matrix.of(weights, wide), tuple(Fraction(bias) for _, bias in given))


def nothing(wide: int) -> FeedForward:
    """A network without units."""
    return FeedForward(AffineMap(Matrix((), wide), ()), (), AffineMap(Matrix(((),) * wide, 0), (ZERO,) * wide), ())


def detached(heads: Sequence[Head], start: int, wide: int) -> tuple[tuple[Head, ...], Target]:
    """Heads that write what they retrieve to coordinates of their own, from one on, and where it belongs."""
    target: dict[int, list[tuple[int, Fraction]]] = {}
    found = []
    for head in heads:
        values = len(head.value.bias)
        rows: Rows = [{} for _ in range(wide)]
        for k in range(values):
            rows[start + k] = {k: ONE}
            target[start + k] = [(c, weight) for c, column, weight in head.output.entries() if column == k]
        found.append(replace(head, output=Matrix.of(rows, values)))
        start += values
    return tuple(found), target


class Units:
    """A feed-forward network in the making: that of a layer, and units after it.

    Args:
        network: What it begins with.
    """

    def __init__(self, network: FeedForward) -> None:
        self.network = network
        self.reads: Rows = [dict(row) for row in network.first.weight.rows]
        self.biases = list(network.first.bias)
        self.writes: Rows = [dict(row) for row in network.second.weight.rows]
        self.units = list(network.units)
        self.constant = list(network.second.bias)

    def add(
        self, name: str, reads: Mapping[int, Fraction | int], bias: Fraction | int, writes: Mapping[int, Fraction | int]
    ) -> None:
        """One more unit, ReLU(reads · x + bias), and what it adds to which coordinate."""
        self.reads.append({c: Fraction(weight) for c, weight in reads.items()})
        self.biases.append(Fraction(bias))
        for c, weight in writes.items():
            self.writes[c][len(self.units)] = Fraction(weight)
        self.units.append(name)

    def linear(
        self, name: str, coordinate: int, writes: Mapping[int, Fraction | int], gate: Gate | None = None
    ) -> None:
        """Add multiples of a coordinate to others: x = ReLU(x) - ReLU(-x)."""
        for sign in (1, -1):
            row = {coordinate: Fraction(sign)}
            if gate:
                gate(row, ZERO)
            self.add(f"{name} {'+' if sign > 0 else '-'}", row, 0, {c: sign * weight for c, weight in writes.items()})

    def done(self) -> FeedForward:
        """The network."""
        more = len(self.units) - len(self.network.units)
        wide = self.network.first.weight.columns
        return replace(
            self.network,
            first=AffineMap(Matrix.of(self.reads, wide), tuple(self.biases)),
            activations=(*self.network.activations, *["relu"] * more),
            second=AffineMap(Matrix.of(self.writes, len(self.units)), tuple(self.constant)),
            units=tuple(self.units),
        )


def seen_together(units: Units, target: Target) -> None:
    """All units read the stream as if retrieved numbers stood where they belong."""
    for row in units.reads:
        for coordinate, places in target.items():
            row[coordinate] = sum((row.get(c, ZERO) * weight for c, weight in places), ZERO)
