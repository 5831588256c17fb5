"""Hook points: a sublayer, and the iteration of its loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from softmachine.engines.dense.attention import AttentionRecord, LayerIndex
from softmachine.engines.dense.engine import DenseEngine
from softmachine.transformer.weights import Head, Transformer

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
