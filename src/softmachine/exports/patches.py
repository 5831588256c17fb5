"""NumPy forward pass of a lowered model, and a search for an activation patch that flips an answer.

The patch is the example of the model card.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from softmachine.exports.lowered import Array, Lowered, LoweredHead, LoweredLayer
from softmachine.support.text import family

MOST_TRIED = 200
"""The number of patches to try; if none of them works, the model card has no example."""
CLEAR = 0.5
"""The smallest margin between the two largest logits that counts as an answer; exact arithmetic has at least 1."""


@dataclass(frozen=True)
class Patch:
    """Values written to coordinates at one position, and the answer before and after.

    Args:
        layer: The layer before which they are written; the number of layers means after the last one.
        position: The position of both the patch and the answer.
        values: A value for each coordinate, by name.
        was: The value of the first coordinate without the patch.
        before: The label of the answer without the patch.
        after: The label of the answer with the patch.
    """

    layer: int
    position: int
    values: Mapping[str, int]
    was: int
    before: int
    after: int


def telling_patch(model: Lowered, ids: Sequence[int], position: int) -> Patch | None:
    """Find a patch that changes the answer at a position; None if none of :data:`MOST_TRIED` does.

    Tries the last layer first, then earlier ones, and finally the stream after the last layer.
    """
    stages = [*streams(model, ids)]
    before, tried = _answer(model, stages[-1][position]), 0
    last = len(model.layers)
    for layer in (*reversed(range(last)), last) if before is not None else ():
        for values in _moves(model, stages[layer][position]):
            tried += 1
            if tried > MOST_TRIED:
                return None
            after = _answer(model, patched(model, stages[layer], layer, position, values)[position])
            if before is not None and after not in (None, before):
                return Patch(layer, position, values, 1 - next(iter(values.values())), before, after)
    return None


def patched(model: Lowered, stream: Array, layer: int, position: int, values: Mapping[str, int]) -> Array:
    """The stream after the last layer when these values are written to the stream before a layer."""
    stream = stream.copy()
    for name, value in values.items():
        c = model.coordinates.index(name)
        stream[position, c] = value * model.scales[c]
    for each in model.layers[layer:]:
        stream = _after(each, stream, causal=model.causal)
    return stream


def streams(model: Lowered, ids: Sequence[int]) -> Iterator[Array]:
    """The residual stream before each layer, and after the last one: (position, coordinate), in float64."""
    stream = model.embedding[list(ids)] + model.positions[: len(ids)]
    yield stream
    for layer in model.layers:
        stream = _after(layer, stream, causal=model.causal)
        yield stream


def attention(head: LoweredHead, stream: Array, *, causal: bool) -> Array:
    """The attention weights: (query position, key position)."""
    scores = head.query.of(stream) @ head.key.of(stream).T
    if causal:
        scores = np.where(np.tri(len(stream), dtype=bool), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: Array = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights


def _after(layer: LoweredLayer, stream: Array, *, causal: bool) -> Array:
    found = [attention(head, stream, causal=causal) @ head.value.of(stream) @ head.output.T for head in layer.heads]
    stream = stream + sum(found)
    return stream + layer.second.of(np.maximum(layer.first.of(stream), 0))


def _moves(model: Lowered, row: Array) -> Iterator[dict[str, int]]:
    """Candidate patches: move the 1 of a one-hot vector, set a 1 to 0, set a 0 to 1."""
    values, names = np.round(row / model.scales, 6), model.coordinates
    ones = np.flatnonzero(values == 1).tolist()
    vectors: dict[str, list[int]] = {}
    for c, name in enumerate(names):
        vectors.setdefault(family(name), []).append(c)
    for c in ones:
        others = [d for d in vectors[family(names[c])] if d != c]
        if not values[others].any():
            yield from ({names[c]: 0, names[d]: 1} for d in others)
    yield from ({names[c]: 0} for c in ones)
    yield from ({names[c]: 1} for c in np.flatnonzero(values == 0))


def _answer(model: Lowered, row: Array) -> int | None:
    """The label with the largest logit, if its margin is at least :data:`CLEAR`."""
    logits = model.unembedding.of(row)
    first = int(logits.argmax())
    rest = np.delete(logits, first)
    return first if logits[first] - rest.max(initial=-np.inf) >= CLEAR else None
