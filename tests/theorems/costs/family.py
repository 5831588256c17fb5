"""A family of sources of growing size, and what its models cost: measured, and promised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from softmachine.engines.dense.weights import least_precision
from softmachine.languages.source import Source
from softmachine.model import Model

Promised = Mapping[str, object]
Made = tuple[Source | str, int | None]
SIX = (1, 2, 3, 4, 5, 6)


@dataclass(frozen=True)
class Family:
    """Sources of growing size, and what the model of each is to cost.

    Args:
        theorem: The theorem.
        of: What they are.
        words: What the theorem says of its cost, in its own words; all of it is part of ``Theorem.cost``.
        sizes: The sizes.
        make: The source of a size, and the length that the weights are made for.
        promised: These words as numbers, for a size and the codec of its model.
        attentions: With which attentions; all of them cost the same.
    """

    theorem: str
    of: str
    words: tuple[str, ...]
    sizes: tuple[int, ...]
    make: Callable[[int], Made]
    promised: Callable[[int, Any], Promised]
    attentions: tuple[str, ...] = ("hard",)

    def __str__(self) -> str:
        return f"{self.theorem}: {self.of}"


def measured(model: Model) -> dict[str, object]:
    """All that a cost is about, but positions."""
    weights = model.weights
    return {
        "layers": weights.depth(None),
        "layers that there are": len(weights.layers),
        "heads": len(weights.heads),
        "heads of a layer": max(len(layer.heads) for layer in weights.layers),
        "width": weights.width,
        "turns": [block.repeats for block in weights.blocks if block.name],
        "precision": least_precision(weights),
    }


def positions(model: Model) -> int:
    """How many positions a prompt has: the same for all words that the model takes."""
    words = (word for length in count() for word in model.codec.words(length))
    return len(model.codec.prompt(next(words)).tokens)
