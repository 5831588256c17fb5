"""Who watches a pass: shown the residual stream after every sublayer, and what every group of heads looked at."""

from __future__ import annotations

from typing import Protocol

from softmachine.engines.dense.attention import Search
from softmachine.engines.numerics import Tensor

Where = tuple[int, int, int]
"""A block, the turn of its loop, and the layer in it; all from 0 on."""


class Watcher(Protocol):
    """Is shown what a pass computes, while it does; streams are those of the new positions."""

    def embedded(self, stream: Tensor, positions: range) -> None:
        """The residual stream before the first layer."""

    def searched(self, group: int, search: Search) -> None:
        """What a group of heads looked at and found, at some new positions; their layer's stream comes after all."""

    def attended(self, where: Where, stream: Tensor, positions: range) -> None:
        """The residual stream after a layer's heads."""

    def fed_forward(self, where: Where, stream: Tensor, positions: range) -> None:
        """The residual stream after a layer's feed-forward."""
