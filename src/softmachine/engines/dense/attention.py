"""Attention in an arithmetic: the values that heads retrieve at new positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.incremental_attention import at_a_time
from softmachine.engines.dense.kv_cache import Chosen, GroupMemory, Turns, once
from softmachine.engines.dense.layer import Group
from softmachine.engines.dense.position_cache import Placed
from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError
from softmachine.engines.numerics.base import Map
from softmachine.support.errors import PrecisionError, Remedy
from softmachine.transformer.attention import COMPARED, Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Head

MOST_SCORES = 2**20
"""Scores per chunk of positions, unless the chunk would have too few positions."""
MOST_SOFT = 2**17
"""The same for softmax over one sequence: fewer queries per chunk leave more keys negligible for all of them."""
MANY = 128
"""Number of positions from which equal queries and keys of heads without a mask are deduplicated."""


class Search(NamedTuple):
    """Inputs and outputs of the attention of a head group at some positions, for hooks.

    Args:
        group: The heads, with their queries at these positions, and the keys and values of all positions read.
        positions: The positions.
        bias: Relative-position biases of the scores: (positions, keys).
        visible: The attention mask: (positions, keys).
        scale: The inverse temperature at each position; None if attention is hard.
        chosen: The keys that each head chose; empty if attention is soft.
        found: The values that each head retrieved.
    """

    group: Group
    positions: range
    bias: Tensor | None
    visible: NDArray[np.bool_]
    scale: Tensor | None
    chosen: Sequence[NDArray[np.bool_]]
    found: list[Tensor]


Look = Callable[[Search], None]
"""Hook that is called after the attention of a head group."""


def retrieved(
    numbers: Arithmetic,
    group: Group,
    positions: range,
    length: int | None,
    memory: GroupMemory,
    look: Look | None = None,
) -> list[Tensor]:
    """Compute the values that each head of a group with shared keys retrieves at the given positions.

    Positions are processed in chunks, so that memory grows linearly with the length. The result of a position does not
    depend on the chunk.

    Args:
        numbers: The arithmetic.
        group: The heads, with their keys, queries and values at the new positions.
        positions: The new positions.
        length: The length n of the input, if the model reads it.
        memory: The KV cache of the group.
        look: Hook, called for every chunk.

    Raises:
        PrecisionError: If the maximal score of a head is undecided.
    """
    key, *values = memory.append([group.key, *group.values])
    group = group._replace(key=key, values=values)
    if sees_all(group.heads[0]) and len(positions) >= MANY and not numbers.in_place:
        queries = [once(query, key) for query in group.queries]
        if all(query.shape[0] == 1 for query, _ in queries):
            return _found_everywhere(numbers, group, queries, positions, memory, look)
    most = MOST_SCORES if group.heads[0].weighting.hard or key.shape[0] > 1 else min(MOST_SCORES, MOST_SOFT)
    together = at_a_time(most, len(group.heads) * key.shape[0] * key.shape[1])
    if len(positions) <= together:
        return _found(numbers, group, positions, length, memory, look)
    memory.blocks.turn(*group.queries, key)
    parts = []
    for start in range(0, len(positions), together):
        some = slice(start, start + together)
        part = group._replace(queries=[query[:, some] for query in group.queries])
        parts.append(_found(numbers, part, positions[some], length, memory, look, block=start))
    return [joined(found, axis=1) for found in zip(*parts, strict=True)]


def sees_all(head: Head) -> bool:
    """Whether a head is hard, without mask and bias, so that equal queries retrieve equal values."""
    return head.weighting.hard and head.mask is Mask.ALL and head.bias is None


def _found_everywhere(
    numbers: Arithmetic,
    group: Group,
    pairs: Sequence[tuple[Tensor, Tensor]],
    positions: range,
    memory: GroupMemory,
    look: Look | None,
) -> list[Tensor]:
    """Compute the values that bidirectional heads retrieve, given pairs (queries, keys) of each head."""
    found, flags = [], []
    for number, (head, (query, key), value) in enumerate(zip(group.heads, pairs, group.values, strict=True)):
        try:
            kinds, best = memory.asked(number).found(numbers, query, key)
        except UndecidedError as doubt:
            raise _undecided(head, positions[doubt.query], doubt) from None
        picks = best.one(head.weighting.choice)
        found.append(picks.mean(numbers, value)[:, kinds.of])
        if look:
            flags.append(picks.flags(key.shape[1])[None, kinds.of])
    if look:
        visible = np.ones((len(positions), group.key.shape[1]), dtype=bool)
        look(Search(group, positions, None, visible, None, flags, found))
    return found


def _undecided(head: Head, position: int, doubt: UndecidedError) -> PrecisionError:
    return PrecisionError(
        f"head {head.name!r} at position {position} cannot choose between the positions "
        f"{', '.join(map(str, doubt.candidates[:6]))}: {doubt.reason}",
        hint=Remedy("use {}, or a theorem for this format", arithmetic="exact"),
    )


def _found(
    numbers: Arithmetic,
    group: Group,
    positions: range,
    length: int | None,
    memory: GroupMemory,
    look: Look | None,
    block: int | None = None,
) -> list[Tensor]:
    """Compute the values that each head retrieves at some positions (a block, or all) from all keys and values."""
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
    # All queries of the group in one tensor, head after head.
    query, repeated = joined(group.queries, axis=1), np.tile(visible, (len(group.heads), 1))
    biases = None if bias is None else joined([bias] * len(group.heads), axis=0)
    choose = partial(numbers.choose, bias=biases, visible=repeated, choice=head.weighting.choice)
    try:
        turns, which = (memory.chosen, 0) if block is None else (memory.blocks, block)
        chosen = turns.find(which, query, key, lambda query, key: Chosen.of(choose(query, key)))
    except UndecidedError as doubt:
        which, at = divmod(doubt.query, len(positions))
        raise _undecided(group.heads[which], positions[at], doubt) from None
    split = chosen.split(len(group.heads))
    found = [numbers.mean(part.flags, part.values(value)) for part, value in zip(split, values, strict=True)]
    if look:
        look(Search(group, positions, bias, visible, None, [part.every for part in split], found))
    return found


def joined(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Concatenate tensors along an axis."""
    first, *others = parts
    return first.joined(others, axis)


def _visible(mask: Mask, positions: range, keys: int) -> NDArray[np.bool_]:
    """Return the attention mask: (positions, keys)."""
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
    """Return the inverse temperature at each position; cached for passes over sequences of one length."""
    if isinstance(scale, Feature):
        different, places = Placed.at((scale,), positions, length)
        return numbers.scales(different, feature=True)[places[:, 0]]
    return numbers.scales([scale] * len(positions), feature=False)
