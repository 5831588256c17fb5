"""Helpers of the rewrites: wider residual streams, shifted reads and writes, scratch coordinates, added units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Matrix

MutableRows = list[dict[int, Fraction]]
ScratchTargets = Mapping[int, Sequence[tuple[int, Fraction]]]
"""For each scratch coordinate, the target coordinates of its value, with factors."""
Gate = Callable[[dict[int, Fraction], Fraction], None]
"""Takes the row and bias of a hidden unit, and changes the row so that the unit is 0 while a block is disabled."""
ZERO, ONE = Fraction(0), Fraction(1)


def widen_inputs(affine: AffineMap, wide: int, shift: int = 0) -> AffineMap:
    """Return the same map on a wider stream, with its inputs shifted by ``shift`` coordinates."""
    rows = tuple(tuple((c + shift, weight) for c, weight in row) for row in affine.weight.rows)
    return replace(affine, weight=Matrix(rows, wide))


def widen_outputs(matrix: Matrix, wide: int, shift: int = 0) -> Matrix:
    """Return the same matrix into a wider stream, with its outputs shifted by ``shift`` coordinates."""
    after = wide - shift - len(matrix.rows)
    return replace(matrix, rows=(*[()] * shift, *matrix.rows, *[()] * after))


def widen_layer(layer: Layer, wide: int) -> Layer:
    """Return the layer on a wider stream; it neither reads nor writes the new coordinates."""
    heads = tuple(
        replace(
            head,
            query=widen_inputs(head.query, wide),
            key=widen_inputs(head.key, wide),
            value=widen_inputs(head.value, wide),
            output=widen_outputs(head.output, wide),
        )
        for head in layer.heads
    )
    network = layer.feed_forward
    second = AffineMap(widen_outputs(network.second.weight, wide), pad_bias(network.second.bias, wide))
    return Layer(heads, replace(network, first=widen_inputs(network.first, wide), second=second))


def pad_bias(bias: Sequence[Fraction], wide: int) -> tuple[Fraction, ...]:
    """Pad a bias with zeros."""
    return (*bias, *[ZERO] * (wide - len(bias)))


def stack_outputs(*maps: AffineMap) -> AffineMap:
    """Concatenate the outputs of several maps."""
    rows = tuple(row for each in maps for row in each.weight.rows)
    return AffineMap(Matrix(rows, maps[0].weight.columns), tuple(b for each in maps for b in each.bias))


def affine_of_rows(rows: Iterable[tuple[Mapping[int, Fraction | int], Fraction | int]], wide: int) -> AffineMap:
    """Return the map with these rows: weights by coordinate, and a bias."""
    given = list(rows)
    weights = [{c: Fraction(weight) for c, weight in row.items()} for row, _ in given]
    return AffineMap(Matrix.of(weights, wide), tuple(Fraction(bias) for _, bias in given))


def empty_network(wide: int) -> FeedForward:
    """Return a network without units."""
    return FeedForward(AffineMap(Matrix((), wide), ()), (), AffineMap(Matrix(((),) * wide, 0), (ZERO,) * wide), ())


def redirect_heads(heads: Sequence[Head], start: int, wide: int) -> tuple[tuple[Head, ...], ScratchTargets]:
    """Redirect the outputs of heads to scratch coordinates starting at ``start``; return the heads and the targets."""
    target: dict[int, list[tuple[int, Fraction]]] = {}
    found = []
    for head in heads:
        values = len(head.value.bias)
        rows: MutableRows = [{} for _ in range(wide)]
        for k in range(values):
            rows[start + k] = {k: ONE}
            target[start + k] = [(c, weight) for c, column, weight in head.output.entries() if column == k]
        found.append(replace(head, output=Matrix.of(rows, values)))
        start += values
    return tuple(found), target


class NetworkBuilder:
    """Builder of a feed-forward network: the network of a layer, plus appended units.

    Args:
        network: The given network.
    """

    def __init__(self, network: FeedForward) -> None:
        self.network = network
        self.reads: MutableRows = [dict(row) for row in network.first.weight.rows]
        self.biases = list(network.first.bias)
        self.writes: MutableRows = [dict(row) for row in network.second.weight.rows]
        self.units = list(network.units)
        self.constant = list(network.second.bias)

    def add(
        self, name: str, reads: Mapping[int, Fraction | int], bias: Fraction | int, writes: Mapping[int, Fraction | int]
    ) -> None:
        """Append a unit, ReLU(reads · x + bias), with its output weights by coordinate."""
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

    def build(self) -> FeedForward:
        """Build the network."""
        more = len(self.units) - len(self.network.units)
        wide = self.network.first.weight.columns
        return replace(
            self.network,
            first=AffineMap(Matrix.of(self.reads, wide), tuple(self.biases)),
            activations=(*self.network.activations, *["relu"] * more),
            second=AffineMap(Matrix.of(self.writes, len(self.units)), tuple(self.constant)),
            units=tuple(self.units),
        )


def read_scratch_as_added(units: NetworkBuilder, target: ScratchTargets) -> None:
    """Make all units read scratch values as if they had been added to their target coordinates."""
    for row in units.reads:
        for coordinate, places in target.items():
            row[coordinate] = sum((row.get(c, ZERO) * weight for c, weight in places), ZERO)
