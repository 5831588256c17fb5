"""Stream facts: intervals of the coordinates of a residual stream, sublayer by sublayer.

Facts about a program hold for the streams that its inputs have. Rewrites also apply layers to other streams: those of
padding, and means of the streams of several positions, which a head retrieves. Here a stream is any point between the
bounds of its coordinates; the bounds after a sublayer are facts about the lifted sublayer, whose inputs are numbers of
which only these bounds are known. So they hold for every convex combination of streams, at any position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce

from softmachine.ir.analysis import Analysis
from softmachine.ir.domain import Domain
from softmachine.ir.facts import ONE, ZERO, Fact
from softmachine.ir.lifter import Lifter
from softmachine.ir.primitives import Carried
from softmachine.ir.program import Program
from softmachine.ir.ranges import REALS
from softmachine.ir.signal import Atom, Signal
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Head, Layer, Transformer

Size = tuple[int | None, int]
"""n, if anything depends on it, and the number of positions."""


class StreamFacts:
    """What is known of a residual stream, from the bounds of its coordinates.

    Args:
        weights: The transformer.
        bounds: For each coordinate, a fact of which only the bounds are used.
    """

    def __init__(self, weights: Transformer, bounds: Iterable[Fact]) -> None:
        self.weights = weights
        self.bounds = [Fact.of([f.low]) if f.low == f.high else Fact(f.low, f.high) for f in bounds]
        self._stream = Carried("stream", (REALS,) * weights.width)
        self._analysis = _new_analysis(weights, [""], 0, 1)
        self._analysis.visit(self._stream)
        self._analysis.facts.update(zip(self._coordinates, self.bounds, strict=True))

    @staticmethod
    def of_embeddings(weights: Transformer, sizes: Iterable[Size]) -> StreamFacts:
        """What is known of the embeddings of all tokens, and of 0, the initial value of padding."""
        bounds = [Fact.of([ZERO])] * weights.width
        forms = [content.form for content in Lifter(weights).stream]
        for length, positions in sizes:
            analysis = _new_analysis(weights, weights.vocabulary, length, positions)
            analysis.follow(forms)
            bounds = [fact.join(analysis.of(form)) for fact, form in zip(bounds, forms, strict=True)]
        return StreamFacts(weights, bounds)

    @property
    def _coordinates(self) -> list[Atom]:
        return [(self._stream, c) for c in range(self.weights.width)]

    def of(self, affine: AffineMap) -> list[Fact]:
        """Facts about an affine map of the stream."""
        return list(map(self._analysis.of, Lifter(self.weights, self._stream).read(affine)))

    def of_output(self, head: Head) -> list[Fact]:
        """Facts about what a head retrieves."""
        node = Lifter(self.weights, self._stream).head(head)
        self._analysis.visit(node)
        return [self._analysis.facts[node, k] for k in range(len(node.value))]

    def bound_score(self, head: Head) -> Fraction:
        """An upper bound of the absolute scores of a head, without its bias."""
        pairs = zip(self.of(head.query), self.of(head.key), strict=True)
        return sum((query.size * key.size for query, key in pairs), ZERO)

    def after_heads(self, layer: Layer) -> StreamFacts:
        """What is known after the attention sublayer of a layer."""
        lifter = Lifter(self.weights, self._stream)
        lifter.attend(layer.heads)
        return self._after(lifter)

    def after_units(self, layer: Layer) -> StreamFacts:
        """What is known after the feed-forward sublayer of a layer."""
        lifter = Lifter(self.weights, self._stream)
        lifter.feed_forward(layer.feed_forward)
        return self._after(lifter)

    def _after(self, lifter: Lifter) -> StreamFacts:
        """What is known of the stream of a lifter."""
        forms = [content.form for content in lifter.stream]
        self._analysis.follow(forms)
        known = zip(forms, self._coordinates, self.bounds, strict=True)
        return StreamFacts(
            self.weights,
            (
                fact if form.terms == {atom: ONE} and not form.constant else self._analysis.of(form)
                for form, atom, fact in known
            ),
        )


def iterate_stream_facts(weights: Transformer, sizes: Sequence[Size]) -> Iterator[StreamFacts]:
    """Yield what is known of the embeddings, and of the stream after each sublayer, with loops unrolled."""
    yield (now := StreamFacts.of_embeddings(weights, sizes))
    for layer in weights.iterate_layers(sizes[0][0]):
        yield (now := now.after_heads(layer))
        yield (now := now.after_units(layer))


def join_stream_facts(found: Iterable[StreamFacts]) -> StreamFacts:
    """What is known of a stream that is one of several."""
    first, *others = found
    bounds = zip(*(facts.bounds for facts in (first, *others)), strict=True)
    return StreamFacts(first.weights, (reduce(Fact.join, facts) for facts in bounds))


class _FixedLengthAnalysis(Analysis):
    """An analysis at one n."""

    def of_feature(self, feature: Feature) -> Fact:
        """What is known of a position feature, at all positions."""
        return Fact.of(feature.at(i, self.length) for i in range(self.positions))


def _new_analysis(weights: Transformer, tokens: Iterable[str], length: int | None, positions: int) -> Analysis:
    """An analysis of no logits, at a fixed number of positions."""
    program = Program(weights.name, weights.vocabulary, (), Signal((), ()), position_count=positions)
    return _FixedLengthAnalysis(program, Domain.all_sequences(tokens), positions - 1 if length is None else length)
