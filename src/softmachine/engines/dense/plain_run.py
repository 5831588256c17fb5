"""A run in plain floats, as fast as that goes token by token: what guesses are made with, and nothing else.

The maps are those that the dense engine makes of the weights; attention is written out once more, without bounds,
searches that are shown to somebody, or turns of loops that remember one another. Nothing follows from these numbers:
what is guessed with them is checked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic import Tensor
from softmachine.arithmetic.base import Floats
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.grouping import DenseLayer
from softmachine.transformer.attention import Choice, Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Head

_PIECE = 64
"""So many tokens are read at a time, where several are known."""
_LEAST = -np.finfo(np.float64).max


class PlainRun:
    """One sequence that a decoder reads in plain floats; keys and values are kept.

    Args:
        engine: The weights in plain floats.
    """

    def __init__(self, engine: DenseEngine) -> None:
        self.engine = engine
        self.read = 0
        layers = zip(engine.transformer.blocks, engine.blocks, strict=True)
        turns = (layer for block, layers in layers for _ in range(block.count(None)) for layer in layers)
        self._layers = [(layer, _PlainHeads(layer)) for layer in turns]

    def says(self, tokens: Sequence[str]) -> str:
        """Read more tokens, at least one; the output of the largest logit after the last."""
        with np.errstate(all="ignore"):
            for start in range(0, len(tokens), _PIECE):
                stream = self._extend(tokens[start : start + _PIECE])
            logits = self.engine.unembedding(Tensor(stream[-1:])).value
        return self.engine.transformer.outputs[int(logits.argmax())]

    def _extend(self, tokens: Sequence[str]) -> Floats:
        """The residual stream at more positions: (positions, coordinates)."""
        index = self.engine.transformer.token_index
        stream: Floats = self.engine.embedding.value[[index[token] for token in tokens]]
        positions = range(self.read, self.read + len(tokens))
        if self.engine.transformer.features:
            stream = stream + self.engine.placed(positions, None).value
        for layer, heads in self._layers:
            if layer.groups:
                found = heads.found(layer.project(Tensor(stream)).value, positions)
                stream = layer.output(Tensor(stream), Tensor(found)).value
            if layer.network is not None:
                stream = layer.network(Tensor(stream)).value
        self.read += len(tokens)
        return stream


class _PlainHeads:
    """The heads of a layer, in one turn of its loop.

    Args:
        layer: The layer.
    """

    def __init__(self, layer: DenseLayer) -> None:
        self._groups, start = [], 0
        for heads in layer.groups:
            self._groups.append(_PlainGroup(heads, start))
            start = self._groups[-1].end
        ends = np.cumsum([0, *(len(head.value.bias) for heads in layer.groups for head in heads)])
        columns = [column for place in layer.order for column in range(ends[place], ends[place + 1])]
        self._columns = None if columns == sorted(columns) else np.array(columns, dtype=np.intp)

    def found(self, projected: Floats, positions: range) -> Floats:
        """What they retrieve at new positions, one head after the other."""
        parts = [group.found(projected, positions) for group in self._groups]
        found = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return found if self._columns is None else found[:, self._columns]


class _PlainGroup:
    """Heads that share keys, mask, weighting and bias; they are computed together.

    Args:
        heads: The heads.
        start: Where their keys begin among what is projected; queries and values follow.
    """

    def __init__(self, heads: tuple[Head, ...], start: int) -> None:
        head, self._heads = heads[0], len(heads)
        self._mask, self._weighting, self._bias = head.mask, head.weighting, head.bias
        self._first_query = start + len(head.key.bias)
        self._first_value = self._first_query + len(heads) * len(head.key.bias)
        sizes = [len(each.value.bias) for each in heads]
        self.start, self.end = start, self._first_value + sum(sizes)
        self._own = np.flatnonzero(np.repeat(np.eye(len(heads), dtype=bool), sizes, axis=1))
        self._kept = np.empty((0, self.end - start))
        self._scales = np.empty(0)

    def found(self, projected: Floats, positions: range) -> Floats:
        """What they retrieve at new positions, one head after the other; given all that is projected there."""
        count, keys = len(positions), positions.stop
        if keys > len(self._kept):
            self._kept = np.concatenate([self._kept, np.empty((max(keys, _PIECE), self._kept.shape[1]))])
        self._kept[positions.start : keys] = projected[:, self.start : self.end]
        query = projected[:, self._first_query : self._first_value].reshape(count, self._heads, -1)
        score = query @ self._kept[:keys, : self._first_query - self.start].T
        self._finish(score, positions)
        mixed = _weights(score, self._weighting.choice) @ self._kept[:keys, self._first_value - self.start :]
        return mixed[:, 0] if self._heads == 1 else mixed.reshape(count, -1)[:, self._own]

    def _finish(self, score: Floats, positions: range) -> None:
        """Add biases, scale, and leave out what is not seen."""
        keys = positions.stop
        if self._bias is not None:
            score += np.array([[[float(self._bias.at(j, i)) for j in range(keys)]] for i in positions])
        if not self._weighting.hard:
            score *= self._scale(positions)
        if len(positions) > 1 or self._mask is Mask.PAST:
            last = np.arange(positions.start, keys)[:, None, None] - (self._mask is Mask.PAST)
            np.copyto(score, -np.inf, where=np.arange(keys) > last)

    def _scale(self, positions: range) -> Floats | float:
        scale = self._weighting.scale
        if not isinstance(scale, Feature):
            return float(scale)
        if positions.stop > len(self._scales):
            more = scale.along(range(len(self._scales), positions.stop + _PIECE))
            self._scales = np.concatenate([self._scales, np.array([float(number) for number in more])])
        return self._scales[positions.start : positions.stop, None, None]


def _weights(score: Floats, choice: Choice) -> Floats:
    """Scores as weights, over the last axis; zeros where nothing is seen. The scores may be overwritten."""
    if choice is Choice.LEFTMOST or choice is Choice.RIGHTMOST:
        best = score.argmax(-1) if choice is Choice.LEFTMOST else score.shape[-1] - 1 - score[..., ::-1].argmax(-1)
        weight = np.zeros(score.shape)
        np.put_along_axis(weight, best[..., None], score.max(axis=-1, keepdims=True) >= _LEAST, -1)
        return weight
    score -= np.maximum(score.max(axis=-1, keepdims=True), _LEAST)
    weight = (score == 0).astype(np.float64) if choice is Choice.AVERAGE else np.exp(score, out=score)
    weight /= np.maximum(weight.sum(axis=-1, keepdims=True), 1)
    return weight
