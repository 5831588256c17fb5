"""Hook points, which are sublayers in an iteration of a loop, and the hook that records activations at positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from softmachine.engines.dense.attention import AttentionRecord, Hook, LayerIndex
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor
from softmachine.engines.numerics.python_objects import FlintArithmetic
from softmachine.inspection.activations import ResidualStream
from softmachine.inspection.head_activation import HeadActivation, HeadQuery
from softmachine.inspection.numbers import to_numbers
from softmachine.transformer.head_view import EnclosedNumber, Enclosure
from softmachine.transformer.weights import Head, Matrix, Transformer

EMBEDDING, ATTENTION, FEED_FORWARD = "embedding", "attention", "feed-forward"


@dataclass(frozen=True)
class HookPoint:
    """A sublayer, in one iteration of its loop.

    Args:
        layer: The number of the layer in the architecture diagram, from 1; 0 for the embedding.
        sublayer: "embedding", "attention" or "feed-forward".
        loop: The name of its loop, if it is in one.
        iteration: The iteration of that loop, from 1; 0 outside.
    """

    layer: int
    sublayer: str
    loop: str = ""
    iteration: int = 0

    def __str__(self) -> str:
        if not self.layer:
            return self.sublayer
        return f"{f'iteration {self.iteration}, ' if self.iteration else ''}layer {self.layer}, {self.sublayer}"


class HookPoints:
    """The hook points of a transformer, with the layer numbers of the architecture diagram."""

    def __init__(self, transformer: Transformer) -> None:
        self._blocks = transformer.blocks
        self._first = [1 + sum(len(block.layers) for block in self._blocks[:b]) for b in range(len(self._blocks))]

    def find(self, where: LayerIndex, sublayer: str) -> HookPoint:
        """The hook point of a sublayer."""
        b, turn, depth = where
        name = self._blocks[b].name
        return HookPoint(self._first[b] + depth, sublayer, name, turn + 1 if name else 0)


def match_searches(
    engine: DenseEngine, where: LayerIndex, searches: Sequence[tuple[int, AttentionRecord]]
) -> Iterator[tuple[int, Head, int, list[AttentionRecord]]]:
    """The heads of a layer in order, with the searches of their groups: index, head, its index in the group, searches.

    Args:
        engine: The engine that runs the model.
        where: The layer.
        searches: The searches of the layer, each with the index of its group.
    """
    block, _, depth = where
    layer, dense = engine.transformer.blocks[block].layers[depth], engine.blocks[block][depth]
    places = [(g, k) for g, group in enumerate(dense.groups) for k in range(len(group))]
    for index, head in enumerate(layer.heads):
        group, member = places[dense.order[index]]
        yield index, head, member, [search for g, search in searches if g == group]


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
