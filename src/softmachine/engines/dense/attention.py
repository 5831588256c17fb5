"""Attention in an arithmetic: the values that heads retrieve at new positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.incremental_attention import chunk_size
from softmachine.engines.dense.kv_cache import CachedChoice, HeadGroupCache, IterationCache, merge_equal_sequences
from softmachine.engines.dense.layer import HeadGroup
from softmachine.engines.dense.position_cache import PositionFeatures
from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError
from softmachine.engines.numerics.base import TensorMap
from softmachine.support.errors import FixHint, PrecisionError
from softmachine.transformer.attention import KEY_COMPARISONS, Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Head

MAX_SCORES = 2**20
"""Scores per chunk of positions, unless the chunk would have too few positions."""
MAX_SOFTMAX_SCORES = 2**17
"""The same for softmax over one sequence: fewer queries per chunk leave more keys negligible for all of them."""
MIN_DEDUPLICATED_POSITIONS = 128
"""Number of positions from which equal queries and keys of heads without a mask are deduplicated."""


class AttentionRecord(NamedTuple):
    """Inputs and outputs of the attention of a head group at some positions, for hooks.

    Args:
        group: The heads, with their queries at these positions, and the keys and values of all positions read.
        positions: The positions.
        bias: Relative-position biases of the scores: (positions, keys).
        visible: The attention mask: (positions, keys).
        scale: The inverse temperature at each position; None if attention is hard.
        chosen: The keys that each head chose; empty if attention is soft.
        retrieved: The values that each head retrieved.
    """

    group: HeadGroup
    positions: range
    bias: Tensor | None
    visible: NDArray[np.bool_]
    scale: Tensor | None
    chosen: Sequence[NDArray[np.bool_]]
    retrieved: list[Tensor]


AttentionHook = Callable[[AttentionRecord], None]
"""Hook that is called after the attention of a head group."""

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


def attend(
    numbers: Arithmetic,
    group: HeadGroup,
    positions: range,
    length: int | None,
    memory: HeadGroupCache,
    hook: AttentionHook | None = None,
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
        hook: Hook, called for every chunk.

    Raises:
        PrecisionError: If the maximal score of a head is undecided.
    """
    key, *values = memory.append([group.key, *group.values])
    group = group._replace(key=key, values=values)
    if (
        is_bidirectional(group.heads[0])
        and len(positions) >= MIN_DEDUPLICATED_POSITIONS
        and not numbers.overwrites_inputs
    ):
        queries = [merge_equal_sequences(query, key) for query in group.queries]
        if all(query.shape[0] == 1 for query, _ in queries):
            return _attend_bidirectional(numbers, group, queries, positions, memory, hook)
    most = MAX_SCORES if group.heads[0].weighting.is_hard or key.shape[0] > 1 else min(MAX_SCORES, MAX_SOFTMAX_SCORES)
    together = chunk_size(most, len(group.heads) * key.shape[0] * key.shape[1])
    if len(positions) <= together:
        return _attend_chunk(numbers, group, positions, length, memory, hook)
    memory.blocked_results.begin_iteration(*group.queries, key)
    parts = []
    for start in range(0, len(positions), together):
        some = slice(start, start + together)
        part = group._replace(queries=[query[:, some] for query in group.queries])
        parts.append(_attend_chunk(numbers, part, positions[some], length, memory, hook, block=start))
    return [concat(found, axis=1) for found in zip(*parts, strict=True)]


def is_bidirectional(head: Head) -> bool:
    """Whether a head is hard, without mask and bias, so that equal queries retrieve equal values."""
    return head.weighting.is_hard and head.mask is Mask.ALL and head.bias is None


def _attend_bidirectional(
    numbers: Arithmetic,
    group: HeadGroup,
    pairs: Sequence[tuple[Tensor, Tensor]],
    positions: range,
    memory: HeadGroupCache,
    hook: AttentionHook | None,
) -> list[Tensor]:
    """Compute the values that bidirectional heads retrieve, given pairs (queries, keys) of each head."""
    found, flags = [], []
    for number, (head, (query, key), value) in enumerate(zip(group.heads, pairs, group.values, strict=True)):
        try:
            kinds, best = memory.incremental_argmax(number).find(numbers, query, key)
        except UndecidedError as doubt:
            raise _undecided_error(head, positions[doubt.position], doubt) from None
        picks = best.break_ties(head.weighting.kind)
        found.append(picks.mean(numbers, value)[:, kinds.class_of])
        if hook:
            flags.append(picks.to_mask(key.shape[1])[None, kinds.class_of])
    if hook:
        visible = np.ones((len(positions), group.key.shape[1]), dtype=bool)
        hook(AttentionRecord(group, positions, None, visible, None, flags, found))
    return found


def _undecided_error(head: Head, position: int, doubt: UndecidedError) -> PrecisionError:
    return PrecisionError(
        f"head {head.name!r} at position {position} cannot choose between the positions "
        f"{', '.join(map(str, doubt.candidates[:6]))}: {doubt.reason}",
        hint=FixHint("use {}, or a theorem for this format", arithmetic="exact"),
    )


def _attend_chunk(
    numbers: Arithmetic,
    group: HeadGroup,
    positions: range,
    length: int | None,
    memory: HeadGroupCache,
    hook: AttentionHook | None,
    block: int | None = None,
) -> list[Tensor]:
    """Compute the values that each head retrieves at some positions (a block, or all) from all keys and values."""
    head, key, values = group.heads[0], group.key, group.values
    visible = _attention_mask(head.mask, positions, key.shape[1])
    bias = _relative_bias(numbers, head, positions, key.shape[1])
    if not head.weighting.is_hard:
        scale = _inverse_temperatures(numbers, head.weighting.scale, positions, length)
        mix = partial(numbers.softmax_attention, bias=bias, visible=visible, scale=scale)
        find = memory.softmax_results.find if block is None else IterationCache[TensorMap](looped=False).find
        means = [find(k, query, key, mix) for k, query in enumerate(group.queries)]
        found = [mean(value) for mean, value in zip(means, values, strict=True)]
        if hook:
            hook(AttentionRecord(group, positions, bias, visible, scale, (), found))
        return found
    # All queries of the group in one tensor, head after head.
    query, repeated = concat(group.queries, axis=1), np.tile(visible, (len(group.heads), 1))
    biases = None if bias is None else concat([bias] * len(group.heads), axis=0)
    choose = partial(numbers.select_keys, bias=biases, visible=repeated, choice=head.weighting.kind)
    try:
        turns, which = (memory.hard_results, 0) if block is None else (memory.blocked_results, block)
        chosen = turns.find(which, query, key, lambda query, key: CachedChoice.from_mask(choose(query, key)))
    except UndecidedError as doubt:
        which, at = divmod(doubt.position, len(positions))
        raise _undecided_error(group.heads[which], positions[at], doubt) from None
    split = chosen.split(len(group.heads))
    found = [numbers.average(part.flags, part.values(value)) for part, value in zip(split, values, strict=True)]
    if hook:
        hook(AttentionRecord(group, positions, bias, visible, None, [part.to_mask for part in split], found))
    return found


def concat(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Concatenate tensors along an axis."""
    first, *others = parts
    return first.concat(others, axis)


def _attention_mask(mask: Mask, positions: range, keys: int) -> NDArray[np.bool_]:
    """Return the attention mask: (positions, keys)."""
    if mask is Mask.ALL:
        return np.ones((len(positions), keys), dtype=bool)
    seen: NDArray[np.bool_] = KEY_COMPARISONS[mask](
        np.arange(keys), np.arange(positions.start, positions.stop)[:, None]
    )
    return seen


def _relative_bias(numbers: Arithmetic, head: Head, positions: range, keys: int) -> Tensor | None:
    relation = head.bias
    if relation is None:
        return None
    return numbers.convert([[relation.at(j, i) for j in range(keys)] for i in positions])


@lru_cache(maxsize=64)
def _inverse_temperatures(
    numbers: Arithmetic, scale: Fraction | Feature, positions: range, length: int | None
) -> Tensor:
    """Return the inverse temperature at each position; cached for passes over sequences of one length."""
    if isinstance(scale, Feature):
        different, places = PositionFeatures.evaluate((scale,), positions, length)
        return numbers.convert_scales(different, feature=True)[places[:, 0]]
    return numbers.convert_scales([scale] * len(positions), feature=False)
