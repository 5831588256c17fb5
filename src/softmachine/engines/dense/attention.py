"""Attention in an arithmetic: what heads retrieve at new positions, from these and all earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic import Arithmetic, Tensor, UndecidedError
from softmachine.arithmetic.base import Map
from softmachine.engines.dense.grouping import Group
from softmachine.engines.dense.memory import Chosen, GroupMemory, Turns
from softmachine.errors import PrecisionError, Remedy
from softmachine.transformer.attention import COMPARED, Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Head

MOST_SCORES = 2**20
"""So many scores are computed at a time, unless that were too few positions."""
FEWEST = 48
"""The number of positions is a multiple of this, as of what matrix products do together: every sum stays the same."""


class Search(NamedTuple):
    """What the heads of a group looked at and found, at some positions.

    Args:
        group: The heads, with their queries at these positions, and the keys and values of all that were read.
        positions: The positions.
        bias: What relations of positions add to the scores: (positions, keys).
        visible: Which keys count: (positions, keys).
        scale: The inverse temperature at each position; None if attention is hard.
        chosen: Which keys each head chose; none if attention is soft.
        found: What each head retrieved.
    """

    group: Group
    positions: range
    bias: Tensor | None
    visible: NDArray[np.bool_]
    scale: Tensor | None
    chosen: Sequence[NDArray[np.bool_]]
    found: list[Tensor]


Look = Callable[[Search], None]
"""Is shown a search, when it is done."""


def retrieved(
    numbers: Arithmetic,
    group: Group,
    positions: range,
    length: int | None,
    memory: GroupMemory,
    look: Look | None = None,
) -> list[Tensor]:
    """What each head of a group, which share their keys, retrieves at these positions.

    Scores of all positions with all keys are many, so only some positions are looked at at a time. What one of them
    gets does not depend on the others; and memory grows as the length does, not as its square.

    Args:
        numbers: The arithmetic.
        group: The heads, with their keys, queries and values at the new positions.
        positions: The new positions.
        length: The length n of the input, if the model knows it.
        memory: The keys and values of earlier positions.
        look: Is shown every search.

    Raises:
        PrecisionError: If a head cannot choose between positions.
    """
    key, *values = memory.append([group.key, *group.values])
    group = group._replace(key=key, values=values)
    together = _together(len(group.heads) * key.shape[0] * key.shape[1])
    if len(positions) <= together:
        return _found(numbers, group, positions, length, memory, look)
    memory.blocks.turn(*group.queries, key)
    parts = []
    for start in range(0, len(positions), together):
        some = slice(start, start + together)
        part = group._replace(queries=[query[:, some] for query in group.queries])
        parts.append(_found(numbers, part, positions[some], length, memory, look, block=start))
    return [joined(found, axis=1) for found in zip(*parts, strict=True)]


def _together(scores: int) -> int:
    """How many positions are looked at at a time, if each has so many scores."""
    return max(1, MOST_SCORES // max(1, scores) // FEWEST) * FEWEST


def _found(
    numbers: Arithmetic,
    group: Group,
    positions: range,
    length: int | None,
    memory: GroupMemory,
    look: Look | None,
    block: int | None = None,
) -> list[Tensor]:
    """What each head of a group finds at some positions, a block or all, among the keys and values of all."""
    head, key, values = group.heads[0], group.key, group.values
    visible = _visible(head.mask, positions, key.shape[1])
    bias = _bias(numbers, head, positions, key.shape[1])
    if not head.weighting.hard:
        scale = _scales(numbers, head.weighting.scale, positions, length)
        mix = partial(numbers.soft, bias=bias, visible=visible, scale=scale)
        find = memory.shares.find if block is None else Turns[Map](looped=False).find
        means = [find(k, query, key, mix) for k, query in enumerate(group.queries)]
        found = [mean(value) for mean, value in zip(means, values, strict=True)]
        if look:
            look(Search(group, positions, bias, visible, scale, (), found))
        return found
    # All queries of the group at once: those of the second head after those of the first, and so on.
    query, repeated = joined(group.queries, axis=1), np.tile(visible, (len(group.heads), 1))
    biases = None if bias is None else joined([bias] * len(group.heads), axis=0)
    choose = partial(numbers.choose, bias=biases, visible=repeated, choice=head.weighting.choice)
    try:
        turns, which = (memory.chosen, 0) if block is None else (memory.blocks, block)
        chosen = turns.find(which, query, key, lambda query, key: Chosen.of(choose(query, key)))
    except UndecidedError as doubt:
        which, at = divmod(doubt.query, len(positions))
        raise PrecisionError(
            f"head {group.heads[which].name!r} at position {positions[at]} cannot choose between the positions "
            f"{', '.join(map(str, doubt.candidates[:6]))}: {doubt.reason}",
            hint=Remedy("use {}, or a theorem that is made for this format", arithmetic="exact"),
        ) from None
    split = chosen.split(len(group.heads))
    found = [numbers.mean(part.flags, part.values(value)) for part, value in zip(split, values, strict=True)]
    if look:
        look(Search(group, positions, bias, visible, None, [part.every for part in split], found))
    return found


def joined(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one after the other."""
    first, *others = parts
    return first.joined(others, axis)


def _visible(mask: Mask, positions: range, keys: int) -> NDArray[np.bool_]:
    """Which keys each position sees."""
    if mask is Mask.ALL:
        return np.ones((len(positions), keys), dtype=bool)
    seen: NDArray[np.bool_] = COMPARED[mask](np.arange(keys), np.arange(positions.start, positions.stop)[:, None])
    return seen


def _bias(numbers: Arithmetic, head: Head, positions: range, keys: int) -> Tensor | None:
    relation = head.bias
    if relation is None:
        return None
    return numbers.numbers([[relation.at(j, i) for j in range(keys)] for i in positions])


@lru_cache(maxsize=64)
def _scales(numbers: Arithmetic, scale: Fraction | Feature, positions: range, length: int | None) -> Tensor:
    """The inverse temperature at each position; kept, since many passes over sequences of one length ask for it."""
    if isinstance(scale, Feature):
        return numbers.scales([scale.at(i, length) for i in positions], feature=True)
    return numbers.scales([scale] * len(positions), feature=False)
