"""Which keys every head chose at every position: recorded while the dense engine reads the run again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from softmachine.errors import PrecisionError
from softmachine.page.numbers import Json
from softmachine.page.weights import is_uniform
from softmachine.transformer.weights import Transformer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softmachine.arithmetic import Tensor
    from softmachine.engines.dense.attention import Search
    from softmachine.engines.dense.engine import DenseEngine
    from softmachine.engines.dense.watching import Where

PIECE = 1024
"""So many positions are read at a time, where the model looks back."""

Keys = list[int]
"""Runs of keys: where each begins, and how long it is."""
Chosen = dict[tuple[int, int, int, int], list[Keys]]
"""The keys at every position, by block, turn, layer and head."""


def choices(transformer: Transformer, tokens: Sequence[str], length: int | None) -> Chosen:
    """The keys that every head chose which chooses, at every position of a context.

    Floats with error bounds decide; where they cannot, rationals do.
    """
    if not any(head.weighting.hard and not is_uniform(head) for head in transformer.heads):
        return {}
    try:
        return _recorded(transformer, tokens, length, "float64")
    except PrecisionError:
        return _recorded(transformer, tokens, length, "exact")


def _recorded(transformer: Transformer, tokens: Sequence[str], length: int | None, arithmetic: str) -> Chosen:
    from softmachine.engines.dense.engine import DenseEngine

    engine = DenseEngine(transformer, arithmetic)
    run = engine.start(1, length)
    recorder = _Recorder(engine)
    run.watcher = recorder
    piece = PIECE if transformer.causal else max(len(tokens), 1)
    for start in range(0, len(tokens), piece):
        run.extend([tokens[start : start + piece]])
    return recorder.chosen


class _Recorder:
    """Puts down what heads choose, and forgets the rest."""

    def __init__(self, engine: DenseEngine) -> None:
        self.engine = engine
        self.chosen: Chosen = {}
        self._found: list[tuple[int, list[list[Keys]]]] = []

    def embedded(self, stream: Tensor, positions: range) -> None:
        """Nothing is chosen yet."""

    def searched(self, group: int, search: Search) -> None:
        """What the heads of a group chose, at some positions."""
        self._found.append((group, [_runs(flags[0]) for flags in search.chosen]))

    def attended(self, where: Where, stream: Tensor, positions: range) -> None:
        """Put down what was found, by the places of heads in their layer."""
        block, turn, depth = where
        dense = self.engine.blocks[block][depth]
        places = [(g, k) for g, group in enumerate(dense.groups) for k in range(len(group))]
        heads = self.engine.transformer.blocks[block].layers[depth].heads
        for index, head in enumerate(heads):
            group, member = places[dense.order[index]]
            if is_uniform(head) or not head.weighting.hard:
                continue
            kept = self.chosen.setdefault((block, turn, depth, index), [])
            for found, members in self._found:
                if found == group:
                    kept += members[member]
        self._found.clear()

    def fed_forward(self, where: Where, stream: Tensor, positions: range) -> None:
        """Nothing is chosen here."""


def _runs(flags: NDArray[np.bool_]) -> list[Keys]:
    """The keys that are chosen at each position, as runs."""
    single = flags.sum(axis=1) == 1
    first = flags.argmax(axis=1)
    found: list[Keys] = []
    for query, alone in enumerate(single.tolist()):
        found.append([int(first[query]), 1] if alone else _of(np.flatnonzero(flags[query])))
    return found


def _of(keys: NDArray[np.intp]) -> Keys:
    if not len(keys):
        return []
    starts = np.flatnonzero(np.diff(keys, prepend=-2) > 1)
    lengths = np.diff(starts, append=len(keys))
    return [int(item) for pair in zip(keys[starts], lengths, strict=True) for item in pair]


def coded(transformer: Transformer, chosen: Chosen) -> Json:
    """The same for the page: one key by its distance from the last one, several by their runs, relative likewise."""
    return [
        [
            [
                [
                    _coded(chosen[b, turn, depth, index]) if (b, turn, depth, index) in chosen else None
                    for index in range(len(layer.heads))
                ]
                for depth, layer in enumerate(block.layers)
            ]
            for turn in range(1 + max((t for found, t, _, _ in chosen if found == b), default=-1))
        ]
        for b, block in enumerate(transformer.blocks)
    ]


def _coded(positions: Sequence[Keys]) -> list[Json]:
    coded: list[Json] = []
    last = 0
    for keys in positions:
        if len(keys) == 2 and keys[1] == 1:
            coded.append(keys[0] - last)
        else:
            told: list[Json] = list(keys)
            coded.append(told)
        last = keys[0] if keys else last
    return coded
