"""Recording hook: keeps the activations of a pass of the dense engine at some positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from softmachine.engines.dense.attention import AttentionRecord, Hook, LayerIndex
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor
from softmachine.engines.numerics.python_objects import FlintArithmetic
from softmachine.inspection.activations import ResidualStream
from softmachine.inspection.head_activation import HeadActivation, HeadQuery
from softmachine.inspection.hook_point import ATTENTION, EMBEDDING, FEED_FORWARD, HookPoint, HookPoints, match_searches
from softmachine.inspection.numbers import to_numbers
from softmachine.transformer.head_view import EnclosedNumber, Enclosure
from softmachine.transformer.weights import Head, Matrix


class RecordingHook(Hook):
    """Hook that records residual streams and head activations at some positions of a context.

    Args:
        engine: The engine that runs the model.
        tokens: The tokens of the context.
        positions: The positions.
    """

    def __init__(self, engine: DenseEngine, tokens: Sequence[str], positions: Iterable[int]) -> None:
        self.engine, self.tokens = engine, tokens
        assert isinstance(engine.arithmetic, FlintArithmetic)
        self.arithmetic: FlintArithmetic = engine.arithmetic
        self.streams: dict[int, list[ResidualStream]] = {position: [] for position in positions}
        self.heads: dict[int, list[HeadActivation]] = {position: [] for position in self.streams}
        self._found: list[tuple[int, AttentionRecord]] = []
        self._stages = HookPoints(engine.transformer)

    def embedded(self, stream: Tensor, positions: range) -> None:
        """Record the embedding."""
        self._keep(HookPoint(0, EMBEDDING), stream, positions)

    def searched(self, group: int, search: AttentionRecord) -> None:
        """Collect the searches until all groups of the layer are complete."""
        self._found.append((group, search))

    def attended(self, where: LayerIndex, stream: Tensor, positions: range) -> None:
        """Record the activation of each head, and the stream after them."""
        stage = self._stages.find(where, ATTENTION)
        for index, head, member, searches in match_searches(self.engine, where, self._found):
            for search in searches:
                for position in self._wanted(search.positions):
                    head_query = HeadQuery(self.arithmetic, search, member, position - search.positions.start)
                    self.heads[position].append(self._sight(stage, index, head, position, head_query))
        self._found.clear()
        self._keep(stage, stream, positions)

    def fed_forward(self, where: LayerIndex, stream: Tensor, positions: range) -> None:
        """Record the stream after a feed-forward sublayer."""
        self._keep(self._stages.find(where, FEED_FORWARD), stream, positions)

    def _sight(self, stage: HookPoint, index: int, head: Head, position: int, head_query: HeadQuery) -> HeadActivation:
        retrieved = to_numbers(head_query.search.retrieved[head_query.head_index].value[0, head_query.row])
        return HeadActivation(
            head=head,
            hook_point=stage,
            index=index,
            position=position,
            tokens=self.tokens,
            coordinates=self.engine.transformer.coordinates,
            residual_values=self.streams[position][-1].values,
            retrieved=retrieved,
            added=self._named(head.output, retrieved),
            head_query=head_query,
        )

    def _wanted(self, positions: range) -> list[int]:
        return [position for position in self.streams if position in positions]

    def _keep(self, stage: HookPoint, stream: Tensor, positions: range) -> None:
        names = self.engine.transformer.coordinates
        for position in self._wanted(positions):
            self.streams[position].append(
                ResidualStream(stage, names, to_numbers(stream.value[0, position - positions.start]))
            )

    def _named(self, output: Matrix, retrieved: Sequence[EnclosedNumber]) -> dict[str, EnclosedNumber]:
        """The contribution of a retrieved vector to each coordinate that the head writes."""
        names = self.engine.transformer.coordinates
        return {
            names[c]: linear_combination([(weight, retrieved[k]) for k, weight in row])
            for c, row in enumerate(output.rows)
            if row
        }


def linear_combination(terms: Iterable[tuple[Fraction, EnclosedNumber]]) -> EnclosedNumber:
    """A linear combination, with interval arithmetic."""
    low = high = Fraction(0)
    for weight, value in terms:
        ends = (value.lower, value.upper) if isinstance(value, Enclosure) else (value, value)
        low, high = low + min(weight * end for end in ends), high + max(weight * end for end in ends)
    return low if low == high else Enclosure(low, high)
