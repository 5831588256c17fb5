"""Attention in an arithmetic: the values that heads retrieve, and the hooks that receive all activations."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError
from softmachine.support.errors import FixHint, PrecisionError
from softmachine.transformer.attention import KEY_COMPARISONS, Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Head

LayerIndex = tuple[int, int, int]
"""A block, the iteration of its loop, and the layer in it; all from 0."""
HeadGroupIndex = tuple[int, int, int, int]
"""A layer, and the head group in it."""


class HeadGroup(NamedTuple):
    """Heads that share keys, mask, weighting and bias, with their queries, keys and values."""

    heads: tuple[Head, ...]
    key: Tensor
    queries: list[Tensor]
    values: list[Tensor]


class AttentionRecord(NamedTuple):
    """Inputs and outputs of the attention of a head group at some positions.

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


def attend(numbers: Arithmetic, group: HeadGroup, positions: range, length: int | None) -> AttentionRecord:
    """Compute softmax(QKᵀ)V: the values that each head of a group retrieves at some positions.

    A head has a query qᵢ, a key kⱼ and a value vⱼ at every position. The score of query i and key j is
    sᵢⱼ = qᵢ · kⱼ + bᵢⱼ, where b is the relative-position bias (0 if the head has none). Query i, whose inverse
    temperature is τᵢ, retrieves a weighted mean of the values at the visible positions::

        rᵢ = Σⱼ aᵢⱼ vⱼ,    aᵢⱼ = exp(τᵢ sᵢⱼ) / Σₖ exp(τᵢ sᵢₖ)

    In matrices, R = softmax(τ (QKᵀ + B)) V, with scores of -∞ where the mask hides the key.

    Hard attention is the limit τ → ∞. Let mᵢ be the maximal score of query i, and Mᵢ the set of keys that attain it.
    Dividing numerator and denominator by exp(τ mᵢ) gives::

        aᵢⱼ = exp(-τ (mᵢ - sᵢⱼ)) / (|Mᵢ| + Σ_{k ∉ Mᵢ} exp(-τ (mᵢ - sᵢₖ)))

    Every exponent outside Mᵢ tends to -∞, so aᵢⱼ → 1/|Mᵢ| for j in Mᵢ, and aᵢⱼ → 0 elsewhere: the average of the values
    of maximal score. Leftmost and rightmost attention put all weight on the first or the last key of Mᵢ. This is the
    limit for the scores sᵢⱼ - εj or sᵢⱼ + εj, with an ε > 0 so small that these terms only decide between equal scores.

    A query without visible keys retrieves 0, the empty sum.

    Args:
        numbers: The arithmetic.
        group: The heads, with their queries at the positions, and the keys and values of all positions.
        positions: The positions.
        length: The length n of the input, if the model reads it.

    Raises:
        PrecisionError: If the maximal score of a head is undecided.
    """
    head, key = group.heads[0], group.key
    visible = attention_mask(head.mask, positions, key.shape[1])
    bias = relative_bias(numbers, head, positions, key.shape[1])
    if head.weighting.is_hard:
        chosen = [
            _select_keys(numbers, head, positions, query, key, bias, visible)
            for head, query in zip(group.heads, group.queries, strict=True)
        ]
        retrieved = [numbers.average(flags, value) for flags, value in zip(chosen, group.values, strict=True)]
        return AttentionRecord(group, positions, bias, visible, None, chosen, retrieved)
    scale = inverse_temperatures(numbers, head.weighting.scale, positions, length)
    weights = [numbers.softmax_attention(query, key, bias, visible, scale) for query in group.queries]
    retrieved = [weigh(value) for weigh, value in zip(weights, group.values, strict=True)]
    return AttentionRecord(group, positions, bias, visible, scale, (), retrieved)


def _select_keys(
    numbers: Arithmetic,
    head: Head,
    positions: range,
    query: Tensor,
    key: Tensor,
    bias: Tensor | None,
    visible: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Select the keys of a hard head; an undecided choice becomes an error with the position."""
    try:
        return numbers.select_keys(query, key, bias, visible, head.weighting.kind)
    except UndecidedError as doubt:
        raise undecided_error(head, positions[doubt.position], doubt) from None


def undecided_error(head: Head, position: int, doubt: UndecidedError) -> PrecisionError:
    """Return the error for a head whose maximal score is undecided at a position."""
    return PrecisionError(
        f"head {head.name!r} at position {position} cannot choose between the positions "
        f"{', '.join(map(str, doubt.candidates[:6]))}: {doubt.reason}",
        hint=FixHint("use {}, or a theorem for this format", arithmetic="exact"),
    )


def attention_mask(mask: Mask, positions: range, keys: int) -> NDArray[np.bool_]:
    """Return the attention mask: (positions, keys)."""
    if mask is Mask.ALL:
        return np.ones((len(positions), keys), dtype=bool)
    seen: NDArray[np.bool_] = KEY_COMPARISONS[mask](
        np.arange(keys), np.arange(positions.start, positions.stop)[:, None]
    )
    return seen


def relative_bias(numbers: Arithmetic, head: Head, positions: range, keys: int) -> Tensor | None:
    """Return the relative-position biases of a head, if it has any: (positions, keys)."""
    relation = head.bias
    if relation is None:
        return None
    return numbers.convert([[relation.at(j, i) for j in range(keys)] for i in positions])


def inverse_temperatures(
    numbers: Arithmetic, scale: Fraction | Feature, positions: range, length: int | None
) -> Tensor:
    """Return the inverse temperature at each position."""
    if isinstance(scale, Feature):
        return numbers.convert_scales([Fraction(value) for value in scale.values_at(positions, length)], feature=True)
    return numbers.convert_scales([scale] * len(positions), feature=False)
