"""Which keys every head chose at every position of a run: the attention patterns of hard attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.attention import Search
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.watching import Where
from softmachine.engines.numerics import Tensor
from softmachine.inspection.stage import ATTENTION, Stage, Stages, searches_of
from softmachine.transformer.weights import Head

Spans = tuple[tuple[int, int], ...]
"""Positions as stretches: from the first one to before the second."""


@dataclass(frozen=True)
class Pattern:
    """What one head chose.

    Args:
        head: The head.
        stage: The layer that it belongs to.
        index: Which head of the layer, from 0 on.
        rows: For every position of the context, the positions that it chose.
    """

    head: Head
    stage: Stage
    index: int
    rows: list[Spans] = field(default_factory=list)


class Choices:
    """Watches a pass, and keeps which keys every head chose.

    Args:
        engine: What runs the model.
    """

    def __init__(self, engine: DenseEngine) -> None:
        self.engine = engine
        self.patterns: dict[tuple[Stage, int], Pattern] = {}
        self._stages = Stages(engine.transformer)
        self._found: list[tuple[int, Search]] = []

    def embedded(self, stream: Tensor, positions: range) -> None:
        """Nothing is chosen there."""

    def searched(self, group: int, search: Search) -> None:
        """Keep what heads looked at, until those of all groups of the layer are there."""
        self._found.append((group, search))

    def attended(self, where: Where, stream: Tensor, positions: range) -> None:
        """Put down what each head chose."""
        del stream, positions
        stage = self._stages.of(where, ATTENTION)
        for index, head, member, searches in searches_of(self.engine, where, self._found):
            pattern = self.patterns.setdefault((stage, index), Pattern(head, stage, index))
            for search in searches:
                pattern.rows.extend(map(spans, search.chosen[member][0] if search.chosen else search.visible))
        self._found.clear()

    def fed_forward(self, where: Where, stream: Tensor, positions: range) -> None:
        """Nothing is chosen there."""


def spans(chosen: NDArray[np.bool_]) -> Spans:
    """The stretches of positions that are chosen."""
    ends = np.flatnonzero(np.diff(chosen, prepend=False, append=False)).tolist()
    return tuple(zip(ends[::2], ends[1::2], strict=True))


def members(spanned: Spans) -> Sequence[int]:
    """The positions in stretches."""
    return [position for first, end in spanned for position in range(first, end)]
