"""A run in plain floats, as fast as that goes token by token: what guesses are made with, and nothing else.

It is the transformer written out once more, for one sequence, without bounds and without anybody who watches. Nothing
follows from these numbers: what is guessed with them is checked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softmachine.arithmetic.base import Flags, Floats
from softmachine.arithmetic.plain import PlainFloat
from softmachine.engines.dense.grouping import same_keys, side_by_side, stacked
from softmachine.engines.dense.placing import PIECE, Placed
from softmachine.errors import InputError
from softmachine.transformer.attention import Choice, Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Transformer

_LEAST, _FAR = -np.finfo(np.float64).max, -600.0
"""The least number; and exponents that are less do not matter, but processors are slow with their exponentials."""
_NUMBERS = PlainFloat("float64:plain")


class PlainRun:
    """One sequence that a decoder reads in plain floats; keys and values are kept.

    Args:
        weights: The transformer in plain floats.
    """

    def __init__(self, weights: PlainWeights) -> None:
        self.weights = weights
        self.read = 0
        self._kept = [[np.empty((group.size, 0)) for group in layer.groups] for layer in weights.layers]

    def says(self, tokens: Sequence[str]) -> str:
        """Read more tokens, at least one; the output of the largest logit after the last."""
        with np.errstate(all="ignore"):
            for start in range(0, len(tokens), PIECE):
                stream = self._extend(tokens[start : start + PIECE])
            logits = self.weights.unembedding(stream if stream.ndim == 1 else stream[-1])
        return self.weights.outputs[int(logits.argmax())]

    def _extend(self, tokens: Sequence[str]) -> Floats:
        """The residual stream at more positions, after the last layer; of one position a vector, which is faster."""
        positions = range(self.read, self.read + len(tokens))
        stream = self.weights.embedded(tokens, positions)
        stream = stream[0] if len(tokens) == 1 else stream
        for layer, kept in zip(self.weights.layers, self._kept, strict=True):
            if layer.groups:
                projected, found = layer.project(stream), []
                for number, group in enumerate(layer.groups):
                    if positions.stop > kept[number].shape[1]:
                        more = np.empty((group.size, positions.stop + PIECE))
                        kept[number] = np.concatenate([kept[number], more], axis=1)
                    new, rows = projected[..., group.kept], kept[number][:, : positions.stop]
                    rows[:, positions.start :] = new[:, None] if new.ndim == 1 else new.T
                    found.append(group.found(projected[..., group.queries], rows, positions))
                stream = stream + (found[0] if len(found) == 1 else np.concatenate(found, axis=-1)) @ layer.output
            stream = layer.network(stream)
        self.read += len(tokens)
        return stream


class PlainWeights:
    """A decoder's weights in plain floats.

    Args:
        transformer: The decoder.
    """

    def __init__(self, transformer: Transformer) -> None:
        self.outputs, self._index, self._features = transformer.outputs, transformer.token_index, transformer.features
        self._embedding = np.ascontiguousarray(_NUMBERS.matrix(transformer.embedding.rows, transformer.width).T)
        self._positions = _NUMBERS.matrix(transformer.position_embedding.transposed.rows, len(self._features))
        self._placed = np.empty((0, transformer.width))
        self.layers = [
            plain
            for block in transformer.blocks
            for plain in [PlainLayer(layer, transformer.width) for layer in block.layers] * block.count(None)
        ]
        self.unembedding = _Affine(transformer.unembedding)

    def embedded(self, tokens: Sequence[str], positions: range) -> Floats:
        """The residual stream before the first layer."""
        try:
            embedded: Floats = self._embedding[[self._index[token] for token in tokens]]
        except KeyError as missing:
            raise InputError(f"{missing.args[0]!r} is no token that can be read") from None
        if not self._features:
            return embedded
        if positions.stop > len(self._placed):
            more = _along(self._features, range(len(self._placed), positions.stop + PIECE))
            self._placed = np.concatenate([self._placed, more @ self._positions])
        return embedded + self._placed[positions.start : positions.stop]


class PlainLayer:
    """A layer in plain floats.

    Args:
        layer: The layer.
        width: The number of coordinates of the residual stream.
    """

    def __init__(self, layer: Layer, width: int) -> None:
        self.groups, parts, groups = list[_PlainGroup](), list[AffineMap](), same_keys(layer.heads)
        for heads in groups:
            self.groups.append(_PlainGroup(heads, sum(len(part.bias) for part in parts)))
            parts += [heads[0].key, *(head.value for head in heads), *(head.query for head in heads)]
        self.project = _Affine(stacked(parts, width))
        outputs = side_by_side([head.output for heads in groups for head in heads], width)
        self.output = _NUMBERS.matrix(outputs.rows, outputs.columns)
        self.network = _Network(layer.feed_forward)


class _Affine:
    """x ↦ W x + b, of the last axis."""

    def __init__(self, affine: AffineMap) -> None:
        self._weight = _NUMBERS.matrix(affine.weight.rows, affine.weight.columns)
        self._bias = _NUMBERS.numbers([affine.bias]).value[0]

    def __call__(self, x: Floats) -> Floats:
        result: Floats = x @ self._weight
        result += self._bias
        return result


class _Network:
    """The feed-forward, with what it is added to."""

    def __init__(self, forward: FeedForward) -> None:
        self._first, self._second = _Affine(forward.first), _Affine(forward.second)
        self._nothing = not forward.units and not any(forward.second.bias)
        self._steps: Flags = np.array([activation == "step" for activation in forward.activations], dtype=bool)
        self._any_steps = bool(self._steps.any())
        self._norms = [np.array(group, dtype=np.intp) for group in forward.norms]

    def __call__(self, x: Floats) -> Floats:
        if self._nothing:
            return x
        before = self._first(x)
        hidden = np.maximum(before, 0)
        if self._any_steps:
            hidden[..., self._steps] = before[..., self._steps] >= 0
        for group in self._norms:
            part = before[..., group]
            root = np.sqrt((part * part).mean(axis=-1, keepdims=True))
            hidden[..., group] = part / np.where(root > 0, root, 1)
        return x + self._second(hidden)


class _PlainGroup:
    """Heads that share keys, mask, weighting and bias; they are computed together.

    Args:
        heads: The heads.
        start: Where they begin among what is projected: keys, values, queries.
    """

    def __init__(self, heads: tuple[Head, ...], start: int) -> None:
        head, self._heads, self._width = heads[0], len(heads), len(heads[0].key.bias)
        self._choice, scale = head.weighting.choice, head.weighting.scale
        self._feature = scale if isinstance(scale, Feature) else None
        self._scale = 1.0 if isinstance(scale, Feature) else _NUMBERS.numbers([[scale]]).value[0]
        self._bias, self._past = head.bias, head.mask is Mask.PAST
        self._uniform = self._width == 0 and head.bias is None and self._choice in (Choice.SOFTMAX, Choice.AVERAGE)
        sizes = [len(each.value.bias) for each in heads]
        self.size = self._width + sum(sizes)
        self.kept = slice(start, start + self.size)
        self.queries = slice(start + self.size, start + self.size + len(heads) * self._width)
        self._own = np.flatnonzero(np.repeat(np.eye(len(heads), dtype=bool), sizes, axis=1))
        self._scales = np.empty((0, 1))

    def found(self, query: Floats, kept: Floats, positions: range) -> Floats:
        """What they retrieve at new positions, one head after the other.

        Args:
            query: Their queries at the new positions, one head after the other.
            kept: Their keys and values so far: (coordinates, positions).
            positions: The new positions.
        """
        if self._uniform and len(positions) == 1:
            seen = kept[:, : positions.stop - self._past]
            return np.asarray(np.add.reduce(seen, axis=1) / max(seen.shape[1], 1))
        masked = len(positions) > 1 or self._past
        score = query.reshape(len(positions) * self._heads, self._width) @ kept[: self._width]
        self._finish(score.reshape(len(positions), self._heads, -1), positions, masked=masked)
        weight = _weights(score, self._choice, masked=masked)
        mixed = weight @ kept[self._width :].T
        total = np.add.reduce(weight, axis=-1, keepdims=True)
        mixed /= np.maximum(total, 1) if masked else total
        found = mixed.reshape(*query.shape[:-1], -1)
        return found if self._heads == 1 else found[..., self._own]

    def _finish(self, score: Floats, positions: range, *, masked: bool) -> None:
        """Add biases, scale, and leave out what is not seen, in scores (positions, heads, keys)."""
        keys = positions.stop
        if self._bias is not None:
            score += np.array([[[float(self._bias.at(j, i)) for j in range(keys)]] for i in positions])
        if self._feature is not None:
            if keys > len(self._scales):
                more = _along((self._feature,), range(len(self._scales), keys + PIECE))
                self._scales = np.concatenate([self._scales, more])
            score *= self._scales[positions.start : keys, None]
        elif self._choice is Choice.SOFTMAX:
            score *= self._scale
        if masked:
            last = np.arange(positions.start, keys)[:, None, None] - self._past
            np.copyto(score, -np.inf, where=np.arange(keys) > last)


def _along(features: tuple[Feature, ...], positions: range) -> Floats:
    """Features at more positions: (positions, features)."""
    found: Floats = Placed.at(features, positions, None).numbers(_NUMBERS).value
    return found


def _weights(score: Floats, choice: Choice, *, masked: bool) -> Floats:
    """Scores as weights of which the largest is 1, over the last axis; zeros where nothing is seen.

    Args:
        score: The scores, -∞ where nothing is seen; they may be overwritten.
        choice: How scores become weights.
        masked: Whether that may be anywhere.
    """
    if choice is Choice.LEFTMOST or choice is Choice.RIGHTMOST:
        best = score.argmax(-1) if choice is Choice.LEFTMOST else score.shape[-1] - 1 - score[:, ::-1].argmax(-1)
        weight = np.zeros(score.shape)
        np.put_along_axis(weight, best[:, None], score.max(axis=-1, keepdims=True) >= _LEAST, -1)
        return weight
    top = np.maximum.reduce(score, axis=-1, keepdims=True)
    score -= np.maximum(top, _LEAST) if masked else top
    if choice is Choice.AVERAGE:
        return np.asarray(score == 0, dtype=np.float64)
    hidden = score < _FAR if masked else None
    np.maximum(score, _FAR, out=score)
    weight = np.exp(score, out=score)
    if hidden is not None:
        weight[hidden] = 0
    return weight
