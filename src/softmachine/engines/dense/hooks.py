"""Hook protocol of a pass: residual streams after every sublayer, and attention of every head group."""

from __future__ import annotations

from typing import Protocol

from softmachine.engines.dense.attention import AttentionRecord
from softmachine.engines.numerics import Tensor

LayerIndex = tuple[int, int, int]
"""A block, the iteration of its loop, and the layer in it; all from 0."""


class Hook(Protocol):
    """Callbacks of a pass; residual streams are those of the new positions."""

    def embedded(self, stream: Tensor, positions: range) -> None:
        """Receive the residual stream before the first layer."""

    def searched(self, group: int, search: AttentionRecord) -> None:
        """Receive the attention of a head group at some new positions; :meth:`attended` of its layer follows."""

    def attended(self, where: LayerIndex, stream: Tensor, positions: range) -> None:
        """Receive the residual stream after a layer's heads."""

    def fed_forward(self, where: LayerIndex, stream: Tensor, positions: range) -> None:
        """Receive the residual stream after a layer's feed-forward network."""
