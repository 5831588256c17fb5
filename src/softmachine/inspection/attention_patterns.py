"""Attention patterns of hard attention: the keys that every head chose at every position of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.attention import Search
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.hooks import Watcher, Where
from softmachine.engines.numerics import Tensor
from softmachine.inspection.hook_point import ATTENTION, Stage, Stages, searches_of
from softmachine.transformer.weights import Head

Spans = tuple[tuple[int, int], ...]
"""Positions as half-open intervals."""


@dataclass(frozen=True)
class Pattern:
    """The attention pattern of one head.

    Args:
        head: The head.
        stage: The layer of the head.
        index: The index of the head in its layer, from 0.
        rows: For every position of the context, the positions that it chose.
    """

    head: Head
    stage: Stage
    index: int
    rows: list[Spans] = field(default_factory=list)


class Choices(Watcher):
    """Hook that records the keys that every head chose.

    Args:
        engine: The engine that runs the model.
    """

    def __init__(self, engine: DenseEngine) -> None:
        self.engine = engine
        self.patterns: dict[tuple[Stage, int], Pattern] = {}
        self._stages = Stages(engine.transformer)
        self._found: list[tuple[int, Search]] = []

    def embedded(self, stream: Tensor, positions: range) -> None:
        """Ignored: there is no attention here."""

    def searched(self, group: int, search: Search) -> None:
        """Collect the searches until all groups of the layer are complete."""
        self._found.append((group, search))

    def attended(self, where: Where, stream: Tensor, positions: range) -> None:
        """Record the choices of each head."""
        del stream, positions
        stage = self._stages.of(where, ATTENTION)
        for index, head, member, searches in searches_of(self.engine, where, self._found):
            pattern = self.patterns.setdefault((stage, index), Pattern(head, stage, index))
            for search in searches:
                pattern.rows.extend(map(spans, search.chosen[member][0] if search.chosen else search.visible))
        self._found.clear()

    def fed_forward(self, where: Where, stream: Tensor, positions: range) -> None:
        """Ignored: there is no attention here."""


def spans(chosen: NDArray[np.bool_]) -> Spans:
    """The maximal intervals of chosen positions."""
    ends = np.flatnonzero(np.diff(chosen, prepend=False, append=False)).tolist()
    return tuple(zip(ends[::2], ends[1::2], strict=True))


def members(spanned: Spans) -> Sequence[int]:
    """The positions in intervals."""
    return [position for first, end in spanned for position in range(first, end)]
