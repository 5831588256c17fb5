"""Layers of a fixed-point transformer on the wires of a circuit: one number per position and coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from softmachine.studies.circuits.fixed_point import FixedPointOps
from softmachine.studies.circuits.numbers import WireArithmetic, WireNumber
from softmachine.studies.circuits.wires import FALSE, CircuitBuilder
from softmachine.support.progress import ProgressCallback, ignore_progress, with_progress
from softmachine.transformer.attention import AttentionKind
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Transformer

TokenWires = Mapping[str, int]
"""The token at a position: for every possible token, the wire that is true if it is there."""
StreamWires = list[list[WireNumber]]


class WireForwardPass:
    """Forward pass of a transformer on wires, for one input length.

    Args:
        transformer: The model.
        wires: The circuit.
        bits: b.
        attention_bits: b', the precision inside attention.
        length: n, for models that depend on it.
    """

    def __init__(
        self, transformer: Transformer, wires: CircuitBuilder, bits: int, attention_bits: int, length: int | None
    ) -> None:
        self.transformer = transformer
        self.wires = wires
        self.numbers = WireArithmetic(wires)
        self.outer = FixedPointOps(self.numbers, bits)
        self.inner = FixedPointOps(self.numbers, attention_bits)
        self.length = length

    def compute_logits(self, slots: Sequence[TokenWires], progress: ProgressCallback = ignore_progress) -> StreamWires:
        """Compute the logits at every position."""
        stream = [self.embed(i, slot) for i, slot in enumerate(slots)]
        for layer in with_progress(
            list(self.transformer.iterate_layers(self.length)), "building gates: layer", progress
        ):
            stream = self.apply_layer(layer, stream)
        return [self.apply_affine(self.transformer.unembedding, x) for x in stream]

    def unique_argmax(self, logits: Sequence[WireNumber]) -> list[int]:
        """Return for each logit the wire that is true if it is the unique maximum."""
        return [
            self.wires.conjunction(
                [self.numbers.at_least(number - other, 1) for j, other in enumerate(logits) if j != k]
            )
            for k, number in enumerate(logits)
        ]

    def embed(self, i: int, slot: TokenWires) -> list[WireNumber]:
        """Add the embedding of the token and that of the position."""
        model = self.transformer
        rows = {token: dict(model.embedding.rows[model.token_index[token]]) for token in slot}
        features = [WireNumber(self.to_units(feature.at(i, self.length))) for feature in model.features]
        placed: list[list[WireNumber]] = [[] for _ in range(model.width)]
        for row, value in zip(model.position_embedding.rows, features, strict=True):
            for c, weight in row:
                placed[c].append(self.outer.multiply_by_constant(value, self.to_units(weight)))
        stream = []
        for c in range(model.width):
            units = {token: self.to_units(row.get(c, Fraction(0))) for token, row in rows.items()}
            values = sorted(set(units.values()))
            wires = [
                self.wires.disjunction(slot[token] for token in slot if units[token] >= value) for value in values[1:]
            ]
            stream.append(
                self.outer.saturating_sum(
                    [self.numbers.from_thermometer(values, wires), self.outer.saturating_sum(placed[c])]
                )
            )
        return stream

    def to_units(self, number: Fraction) -> int:
        """Round to the nearest number of F_b, in its units."""
        return self.outer.grid.format.round(number)

    def apply_affine(self, affine: AffineMap, x: Sequence[WireNumber]) -> list[WireNumber]:
        """Compute W x + b: the products from left to right, then the constant."""
        found = []
        for row, constant in zip(affine.weight.rows, affine.bias, strict=True):
            products = [self.outer.multiply_by_constant(x[c], self.to_units(weight)) for c, weight in row]
            found.append(self.outer.saturating_sum([*products, WireNumber(self.to_units(constant))]))
        return found

    def apply_layer(self, layer: Layer, stream: StreamWires) -> StreamWires:
        """Apply attention, then the feed-forward network, each added to the stream."""
        if layer.heads:
            retrieved = [self.apply_head(head, stream) for head in layer.heads]
            stream = [self.add_attention(layer, x, [part[i] for part in retrieved]) for i, x in enumerate(stream)]
        return [self.add_feed_forward(layer.feed_forward, x) for x in stream]

    def add_attention(
        self, layer: Layer, x: Sequence[WireNumber], found: Sequence[Sequence[WireNumber]]
    ) -> list[WireNumber]:
        """Add the outputs of all heads to the stream at a position."""
        result = []
        for c, old in enumerate(x):
            terms = [
                self.outer.multiply_by_constant(values[column], self.to_units(weight))
                for head, values in zip(layer.heads, found, strict=True)
                for column, weight in head.output.rows[c]
            ]
            result.append(self.outer.saturating_sum([old, self.outer.saturating_sum(terms)]))
        return result

    def add_feed_forward(self, forward: FeedForward, x: Sequence[WireNumber]) -> list[WireNumber]:
        """Add the output of the feed-forward network to the stream at a position."""
        units = zip(self.apply_affine(forward.first, x), forward.activations, strict=True)
        activated = {"relu": self.outer.relu, "step": self.outer.step, "norm": self.outer.sign}
        hidden = [activated[kind](u) for u, kind in units]
        added = self.apply_affine(forward.second, hidden)
        return [self.outer.saturating_sum([old, new]) for old, new in zip(x, added, strict=True)]

    def apply_head(self, head: Head, stream: StreamWires) -> StreamWires:
        """Compute the attention output of a head at every position."""
        queries, keys, values = (
            [self.apply_affine(part, x) for x in stream] for part in (head.query, head.key, head.value)
        )
        wide = [[self.outer.widen(number, self.inner) for number in row] for row in values]
        found = []
        for i, query in enumerate(queries):
            seen = [j for j in range(len(stream)) if head.mask.is_visible(j, i)]
            scores = [self.compute_score(head, query, keys[j], (j, i)) for j in seen]
            found.append(self.weighted_mean(head, i, scores, [wide[j] for j in seen]))
        return found

    def compute_score(
        self, head: Head, query: Sequence[WireNumber], key: Sequence[WireNumber], pair: tuple[int, int]
    ) -> WireNumber:
        """Compute the inner product of query and key plus the bias of their positions."""
        products = [self.outer.multiply(q, k) for q, k in zip(query, key, strict=True)]
        bias = [] if head.bias is None else [WireNumber(self.to_units(head.bias.at(*pair)))]
        return self.outer.saturating_sum([*products, *bias])

    def weighted_mean(
        self, head: Head, i: int, scores: Sequence[WireNumber], values: Sequence[Sequence[WireNumber]]
    ) -> list[WireNumber]:
        """Compute the weighted mean of the values at the visible keys, with one division."""
        if not scores:
            return [WireNumber(0)] * len(head.value.bias)
        if head.weighting.is_hard:
            one = self.inner.one.constant
            flags = self.select_keys(scores, head.weighting.kind)
            total = self.inner.saturating_sum([self.numbers.from_bit(flag, one) for flag in flags])
            terms = [[self.numbers.gate(flag, v) for v in row] for flag, row in zip(flags, values, strict=True)]
        else:
            powers = self.exponentials(head, i, scores)
            total = self.inner.saturating_sum(powers)
            terms = [[self.inner.multiply(e, v) for v in row] for e, row in zip(powers, values, strict=True)]
        if not total.is_constant:  # a maximal key has weight 1, so the sum is at least 1
            total = self.numbers.restrict(total, low=self.inner.one.constant)
        numerators = [self.inner.saturating_sum(column) for column in zip(*terms, strict=True)]
        return [self.inner.divide(numerator, total, self.outer) for numerator in numerators]

    def select_keys(self, scores: Sequence[WireNumber], choice: AttentionKind) -> list[int]:
        """Return for each key the wire that is true if hard attention selects it."""
        bounds = [self.numbers.bounds(score) for score in scores]
        floor = max(low for low, _ in bounds)
        rivals = dict.fromkeys(score for score, (_, high) in zip(scores, bounds, strict=True) if high >= floor)
        flags = [
            self.wires.conjunction([self.numbers.at_least(score - other, 0) for other in rivals if other != score])
            if score in rivals
            else FALSE
            for score in scores
        ]
        if choice is AttentionKind.AVERAGE:
            return flags
        order = flags if choice is AttentionKind.LEFTMOST else flags[::-1]
        first = [
            self.wires.conjunction([flag, *map(self.wires.negate, order[:place])]) for place, flag in enumerate(order)
        ]
        return first if choice is AttentionKind.LEFTMOST else first[::-1]

    def exponentials(self, head: Head, i: int, scores: Sequence[WireNumber]) -> list[WireNumber]:
        """Compute the exponentials exp(scale · (score - maximum))."""
        wide = [self.outer.widen(score, self.inner) for score in scores]
        top = self.numbers.maximum(wide)
        scale = head.weighting.scale
        exact = scale.at(i, self.length) if isinstance(scale, Feature) else scale
        units = self.inner.grid.format.round(exact)
        found = []
        for score in wide:
            below = score - top
            if not below.is_constant:
                below = self.numbers.restrict(below, high=0)
            saturated = self.numbers.map(below, self.inner.saturate)
            found.append(self.inner.exp(self.inner.multiply_by_constant(saturated, units)))
        return found
