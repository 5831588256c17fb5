"""Layers of a fixed-point transformer on the wires of a circuit: one number per position and coordinate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from softmachine.studies.circuits.fixed_point import FixedNumbers
from softmachine.studies.circuits.numbers import Number, Numbers
from softmachine.studies.circuits.wires import FALSE, Wires
from softmachine.support.progress import Tell, nobody, told
from softmachine.transformer.attention import Choice
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Transformer

Slot = Mapping[str, int]
"""The token at a position: for every possible token, the wire that is true if it is there."""
Stream = list[list[Number]]


class Unrolled:
    """Forward pass of a transformer on wires, for one input length.

    Args:
        transformer: The model.
        wires: The circuit.
        bits: b.
        attention_bits: b', the precision inside attention.
        length: n, for models that depend on it.
    """

    def __init__(
        self, transformer: Transformer, wires: Wires, bits: int, attention_bits: int, length: int | None
    ) -> None:
        self.transformer = transformer
        self.wires = wires
        self.numbers = Numbers(wires)
        self.outer = FixedNumbers(self.numbers, bits)
        self.inner = FixedNumbers(self.numbers, attention_bits)
        self.length = length

    def logits(self, slots: Sequence[Slot], tell: Tell = nobody) -> Stream:
        """Compute the logits at every position."""
        stream = [self.embedded(i, slot) for i, slot in enumerate(slots)]
        for layer in told(list(self.transformer.unrolled(self.length)), "building gates: layer", tell):
            stream = self.layer(layer, stream)
        return [self.affine(self.transformer.unembedding, x) for x in stream]

    def winners(self, logits: Sequence[Number]) -> list[int]:
        """Return for each logit the wire that is true if it is the unique maximum."""
        found = []
        for k, number in enumerate(logits):
            others = (other for j, other in enumerate(logits) if j != k)
            found.append(self.wires.every([self.numbers.at_least(number - other, 1) for other in others]))
        return found

    def embedded(self, i: int, slot: Slot) -> list[Number]:
        """Add the embedding of the token and that of the position."""
        model = self.transformer
        rows = {token: dict(model.embedding.rows[model.token_index[token]]) for token in slot}
        features = [Number(self.units(feature.at(i, self.length))) for feature in model.features]
        placed: list[list[Number]] = [[] for _ in range(model.width)]
        for row, value in zip(model.position_embedding.rows, features, strict=True):
            for c, weight in row:
                placed[c].append(self.outer.scaled(value, self.units(weight)))
        stream = []
        for c in range(model.width):
            units = {token: self.units(row.get(c, Fraction(0))) for token, row in rows.items()}
            values = sorted(set(units.values()))
            wires = [self.wires.some(slot[token] for token in slot if units[token] >= value) for value in values[1:]]
            stream.append(self.outer.total([self.numbers.number(values, wires), self.outer.total(placed[c])]))
        return stream

    def units(self, number: Fraction) -> int:
        """Round to the nearest number of F_b, in its units."""
        return self.outer.grid.format.units(number)

    def affine(self, affine: AffineMap, x: Sequence[Number]) -> list[Number]:
        """Compute W x + b: the products from left to right, then the constant."""
        found = []
        for row, constant in zip(affine.weight.rows, affine.bias, strict=True):
            products = [self.outer.scaled(x[c], self.units(weight)) for c, weight in row]
            found.append(self.outer.total([*products, Number(self.units(constant))]))
        return found

    def layer(self, layer: Layer, stream: Stream) -> Stream:
        """Apply attention, then the feed-forward network, each added to the stream."""
        if layer.heads:
            retrieved = [self.head(head, stream) for head in layer.heads]
            stream = [self.attended(layer, x, [part[i] for part in retrieved]) for i, x in enumerate(stream)]
        return [self.fed(layer.feed_forward, x) for x in stream]

    def attended(self, layer: Layer, x: Sequence[Number], found: Sequence[Sequence[Number]]) -> list[Number]:
        """Add the outputs of all heads to the stream at a position."""
        result = []
        for c, old in enumerate(x):
            terms = [
                self.outer.scaled(values[column], self.units(weight))
                for head, values in zip(layer.heads, found, strict=True)
                for column, weight in head.output.rows[c]
            ]
            result.append(self.outer.total([old, self.outer.total(terms)]))
        return result

    def fed(self, forward: FeedForward, x: Sequence[Number]) -> list[Number]:
        """Add the output of the feed-forward network to the stream at a position."""
        units = zip(self.affine(forward.first, x), forward.activations, strict=True)
        activated = {"relu": self.outer.rectified, "step": self.outer.stepped, "norm": self.outer.signed}
        hidden = [activated[kind](u) for u, kind in units]
        added = self.affine(forward.second, hidden)
        return [self.outer.total([old, new]) for old, new in zip(x, added, strict=True)]

    def head(self, head: Head, stream: Stream) -> Stream:
        """Compute the attention output of a head at every position."""
        queries, keys, values = ([self.affine(part, x) for x in stream] for part in (head.query, head.key, head.value))
        wide = [[self.outer.widened(number, self.inner) for number in row] for row in values]
        found = []
        for i, query in enumerate(queries):
            seen = [j for j in range(len(stream)) if head.mask.sees(j, i)]
            scores = [self.score(head, query, keys[j], (j, i)) for j in seen]
            found.append(self.mean(head, i, scores, [wide[j] for j in seen]))
        return found

    def score(self, head: Head, query: Sequence[Number], key: Sequence[Number], pair: tuple[int, int]) -> Number:
        """Compute the inner product of query and key plus the bias of their positions."""
        products = [self.outer.product(q, k) for q, k in zip(query, key, strict=True)]
        bias = [] if head.bias is None else [Number(self.units(head.bias.at(*pair)))]
        return self.outer.total([*products, *bias])

    def mean(self, head: Head, i: int, scores: Sequence[Number], values: Sequence[Sequence[Number]]) -> list[Number]:
        """Compute the weighted mean of the values at the visible keys, with one division."""
        if not scores:
            return [Number(0)] * len(head.value.bias)
        if head.weighting.hard:
            one = self.inner.one.constant
            flags = self.maximal(scores, head.weighting.choice)
            total = self.inner.total([self.numbers.bit(flag, one) for flag in flags])
            terms = [[self.numbers.gated(flag, v) for v in row] for flag, row in zip(flags, values, strict=True)]
        else:
            powers = self.powers(head, i, scores)
            total = self.inner.total(powers)
            terms = [[self.inner.product(e, v) for v in row] for e, row in zip(powers, values, strict=True)]
        if not total.known:  # a maximal key has weight 1, so the sum is at least 1
            total = self.numbers.within(total, low=self.inner.one.constant)
        numerators = [self.inner.total(column) for column in zip(*terms, strict=True)]
        return [self.inner.quotient(numerator, total, self.outer) for numerator in numerators]

    def maximal(self, scores: Sequence[Number], choice: Choice) -> list[int]:
        """Return for each key the wire that is true if hard attention selects it."""
        bounds = [self.numbers.bounds(score) for score in scores]
        floor = max(low for low, _ in bounds)
        rivals = dict.fromkeys(score for score, (_, high) in zip(scores, bounds, strict=True) if high >= floor)
        flags = [self._above(score, rivals) if score in rivals else FALSE for score in scores]
        if choice is Choice.AVERAGE:
            return flags
        order = flags if choice is Choice.LEFTMOST else flags[::-1]
        first = [self.wires.every([flag, *map(self.wires.opposite, order[:place])]) for place, flag in enumerate(order)]
        return first if choice is Choice.LEFTMOST else first[::-1]

    def _above(self, score: Number, rivals: Iterable[Number]) -> int:
        """Return the wire that is true if a score is at least each of the others."""
        return self.wires.every([self.numbers.at_least(score - other, 0) for other in rivals if other != score])

    def powers(self, head: Head, i: int, scores: Sequence[Number]) -> list[Number]:
        """Compute the exponentials exp(scale · (score - maximum))."""
        wide = [self.outer.widened(score, self.inner) for score in scores]
        top = self.numbers.largest(wide)
        scale = head.weighting.scale
        exact = scale.at(i, self.length) if isinstance(scale, Feature) else scale
        units = self.inner.grid.format.units(exact)
        found = []
        for score in wide:
            below = score - top
            if not below.known:
                below = self.numbers.within(below, high=0)
            saturated = self.numbers.mapped(below, self.inner.saturated)
            found.append(self.inner.exponential(self.inner.scaled(saturated, units)))
        return found
