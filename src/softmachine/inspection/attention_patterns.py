"""Attention patterns of hard attention: the keys that every head chose at every position of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.attention import AttentionRecord, Hook, LayerIndex
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor
from softmachine.inspection.hooks import ATTENTION, HookPoint, HookPoints, match_searches
from softmachine.transformer.weights import Head

Intervals = tuple[tuple[int, int], ...]
"""Positions as half-open intervals."""


@dataclass(frozen=True)
class AttentionPattern:
    """The attention pattern of one head.

    Args:
        head: The head.
        hook_point: The layer of the head.
        index: The index of the head in its layer, from 0.
        rows: For every position of the context, the positions that it chose.
    """

    head: Head
    hook_point: HookPoint
    index: int
    rows: list[Intervals] = field(default_factory=list)


class PatternHook(Hook):
    """Hook that records the keys that every head chose.

    Args:
        engine: The engine that runs the model.
    """

    def __init__(self, engine: DenseEngine) -> None:
        self.engine = engine
        self.patterns: dict[tuple[HookPoint, int], AttentionPattern] = {}
        self._stages = HookPoints(engine.transformer)
        self._found: list[tuple[int, AttentionRecord]] = []

    def embedded(self, stream: Tensor, positions: range) -> None:
        """Ignored: there is no attention here."""

    def searched(self, group: int, search: AttentionRecord) -> None:
        """Collect the searches until all groups of the layer are complete."""
        self._found.append((group, search))

    def attended(self, where: LayerIndex, stream: Tensor, positions: range) -> None:
        """Record the choices of each head."""
        del stream, positions
        stage = self._stages.find(where, ATTENTION)
        for index, head, member, searches in match_searches(self.engine, where, self._found):
            pattern = self.patterns.setdefault((stage, index), AttentionPattern(head, stage, index))
            for search in searches:
                pattern.rows.extend(map(to_intervals, search.chosen[member][0] if search.chosen else search.visible))
        self._found.clear()

    def fed_forward(self, where: LayerIndex, stream: Tensor, positions: range) -> None:
        """Ignored: there is no attention here."""


def to_intervals(chosen: NDArray[np.bool_]) -> Intervals:
    """The maximal intervals of chosen positions."""
    ends = np.flatnonzero(np.diff(chosen, prepend=False, append=False)).tolist()
    return tuple(zip(ends[::2], ends[1::2], strict=True))


def positions_in(spanned: Intervals) -> Sequence[int]:
    """The positions in intervals."""
    return [position for first, end in spanned for position in range(first, end)]
