"""A run in plain floats, as fast as that goes token by token: what guesses are made with, and nothing else.

It is the transformer written out once more, for one sequence, without bounds and without anybody who watches. Nothing
follows from these numbers: what is guessed with them is checked. The residual stream has one coordinate more, which is
1 everywhere, so that an affine map is one product. (Of small arrays ``dot`` is twice as fast as ``@``.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from softmachine.engines.dense.grouping import same_keys, side_by_side, stacked
from softmachine.engines.dense.placing import PIECE, Placed
from softmachine.engines.numerics.base import Flags, Floats
from softmachine.engines.numerics.plain import PlainFloat
from softmachine.support.errors import InputError
from softmachine.transformer.attention import Choice, Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Matrix, Transformer

_ZERO, _ONE = np.array(0.0), np.array(1.0)
_FAR = np.array(-600.0)
"""Exponents that are less do not matter, but processors are slow with their exponentials. (An array of one number is
compared faster than the number.)"""
_FEW = 64
"""Up to so many numbers in the queries of a position, heads with different keys are computed together."""
_NUMBERS = PlainFloat("float64:plain")


class PlainRun:
    """One sequence that a decoder reads in plain floats; keys and values are kept.

    Args:
        weights: The transformer in plain floats.
    """

    def __init__(self, weights: PlainWeights) -> None:
        self.weights = weights
        self.read = 0
        self._searched = [[group.begin() for group in layer.groups] for layer in weights.layers]

    def says(self, tokens: Sequence[str]) -> str:
        """Read more tokens, at least one; the output of the largest logit after the last."""
        for start in range(0, len(tokens), PIECE):
            stream = self.extend(tokens[start : start + PIECE])
        return self.weights.outputs[int(stream[-1].dot(self.weights.unembedding).argmax())]

    def extend(self, tokens: Sequence[str]) -> Floats:
        """The residual stream at more positions, after the last layer; its last coordinate is 1."""
        positions = range(self.read, self.read + len(tokens))
        stream = self.weights.embedded(tokens, positions)
        for layer, searched in zip(self.weights.layers, self._searched, strict=True):
            stream = layer(stream, searched, positions)
        self.read = positions.stop
        return stream


class PlainWeights:
    """A decoder's weights in plain floats.

    Args:
        transformer: The decoder.
    """

    def __init__(self, transformer: Transformer) -> None:
        width = transformer.width
        self.outputs, self._index, self._features = transformer.outputs, transformer.token_index, transformer.features
        self._embedding = _NUMBERS.matrix(transformer.embedding.transposed.rows, len(transformer.embedding.rows))
        self._embedding = np.pad(self._embedding, ((0, 0), (0, 1)), constant_values=1)
        self._positions = _NUMBERS.matrix((*transformer.position_embedding.transposed.rows, ()), len(self._features))
        self._placed = np.empty((0, width + 1))
        self.layers = [
            plain
            for block in transformer.blocks
            for plain in [PlainLayer(layer, width) for layer in block.layers] * block.count(None)
        ]
        self.unembedding = _affine(transformer.unembedding)

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
            self._placed = np.concatenate([self._placed, more.dot(self._positions)])
        return embedded + self._placed[positions.start : positions.stop]


class PlainLayer:
    """A layer in plain floats.

    Args:
        layer: The layer.
        width: The number of coordinates of the residual stream.
    """

    def __init__(self, layer: Layer, width: int) -> None:
        self.groups, parts, groups = list[_Group](), list[AffineMap](), _together(layer.heads)
        for same in groups:
            self.groups.append(_Group(same, sum(len(part.bias) for part in parts)))
            parts += _projections(same, width)
        self._project = _affine(stacked(parts, width))
        outputs = side_by_side([head.output for group in self.groups for head in group.heads], width + 1)
        self._output = _NUMBERS.matrix(outputs.rows, outputs.columns)
        self._network = _Network(layer.feed_forward, width)

    def __call__(self, stream: Floats, searched: Sequence[_Search | _Mean], positions: range) -> Floats:
        """The residual stream after the layer; the one before it is overwritten.

        Args:
            stream: The residual stream at new positions.
            searched: What each group of heads looks at.
            positions: The new positions.
        """
        if searched:
            projected = stream.dot(self._project)
            parts = [each.found(projected, positions) for each in searched]
            stream += (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)).dot(self._output)
        return self._network(stream)


def _together(heads: Sequence[Head]) -> list[list[tuple[Head, ...]]]:
    """Heads that are computed together, those that share keys next to each other.

    Few heads that look for different things with the same kind of softmax are: each has products with all keys, with
    zeros for those that are not its own.
    """
    groups = [[same] for same in same_keys(heads)]
    for mask in Mask:
        some = [group for group in groups if group[0][0].mask is mask and _by_softmax(group[0][0])]
        merged = [same for group in some for same in group]
        if sum(map(len, merged)) * sum(len(same[0].key.bias) for same in merged) <= _FEW:
            groups = [group for group in groups if group not in some] + [merged] * bool(merged)
    return groups


def _by_softmax(head: Head) -> bool:
    """Whether scores that are products decide how much attention keys get."""
    return head.weighting.choice is Choice.SOFTMAX and head.bias is None and len(head.key.bias) > 0


def _projections(groups: Sequence[tuple[Head, ...]], width: int) -> list[AffineMap]:
    """What groups of heads project a residual stream to: keys, values, a 1, and queries among zeros."""
    keys, parts = [same[0].key for same in groups], list[AffineMap]()
    for g, same in enumerate(groups):
        before, behind = (sum(len(key.bias) for key in some) for some in (keys[:g], keys[g + 1 :]))
        for head in same:
            parts += [_constant(0, before, width), head.query, _constant(0, behind, width)]
    return [*keys, *(head.value for same in groups for head in same), _constant(1, 1, width), *parts]


def _constant(number: int, rows: int, width: int) -> AffineMap:
    """The map of a residual stream to so many equal numbers."""
    return AffineMap(Matrix(((),) * rows, width), (Fraction(number),) * rows)


def _affine(affine: AffineMap) -> Floats:
    """The map x ↦ W x + b as a matrix that a vector is multiplied by, if its last coordinate is 1."""
    rows, last = affine.weight.rows, affine.weight.columns
    matrix: Floats = _NUMBERS.matrix(
        [(*row, (last, constant)) for row, constant in zip(rows, affine.bias, strict=True)], last + 1
    )
    return matrix


class _Network:
    """The feed-forward, with what it is added to; it has one unit more, which is 1."""

    def __init__(self, forward: FeedForward, width: int) -> None:
        self._first, self._second = (
            _affine(stacked([forward.first, _constant(1, 1, width)], width)),
            _affine(forward.second),
        )
        self._second = np.pad(self._second, ((0, 0), (0, 1)))
        self._nothing = not forward.units and not any(forward.second.bias)
        self._steps: Flags = np.array([*(activation == "step" for activation in forward.activations), False])
        self._any_steps = bool(self._steps.any())
        self._norms = [np.array(group, dtype=np.intp) for group in forward.norms]

    def __call__(self, x: Floats) -> Floats:
        if self._nothing:
            return x
        before = x.dot(self._first)
        hidden = np.maximum(before, _ZERO)
        if self._any_steps:
            hidden[:, self._steps] = before[:, self._steps] >= 0
        for group in self._norms:
            part = before[:, group]
            root = np.sqrt((part * part).mean(axis=-1, keepdims=True))
            hidden[:, group] = part / np.where(root > 0, root, 1)
        x += hidden.dot(self._second)
        return x


class _Group:
    """Heads that share mask, choice and bias, and are computed together.

    Args:
        groups: The heads, those that share keys together.
        start: Where they begin among what is projected: keys, values, a 1, queries.
    """

    def __init__(self, groups: Sequence[tuple[Head, ...]], start: int) -> None:
        self.heads, self.width = (
            [head for same in groups for head in same],
            sum(len(same[0].key.bias) for same in groups),
        )
        head, heads = self.heads[0], len(self.heads)
        self.choice, self.bias, self.past = head.weighting.choice, head.bias, head.mask is Mask.PAST
        sizes = [len(each.value.bias) for each in self.heads]
        self.size = self.width + sum(sizes) + 1
        self.kept = slice(start, start + self.size)
        self.queries = slice(self.kept.stop, self.kept.stop + heads * self.width)
        # Of the values of all keys that each head finds, its own; and the sum of its weights, which is next to them.
        among, whose = np.arange(heads * (sum(sizes) + 1)).reshape(heads, -1), np.repeat(np.arange(heads), sizes)
        self.own, self.total = among[whose, np.arange(len(whose))], among[whose, -1]
        self._scales = np.empty((0, heads))

    def begin(self) -> _Search | _Mean:
        """A sequence that they look at, from its first position on."""
        alike = self.width == 0 and self.bias is None and self.choice in (Choice.SOFTMAX, Choice.AVERAGE)
        return _Mean(self) if alike else _Search(self)

    def scales(self, positions: range) -> Floats:
        """What scores are multiplied by at some positions: (positions, heads)."""
        if positions.stop > len(self._scales):
            more = range(len(self._scales), positions.stop + PIECE)
            scales = [head.weighting.scale for head in self.heads]
            new = {scale: _scale(scale, more) for scale in dict.fromkeys(scales)}
            self._scales = np.concatenate([self._scales, np.hstack([new[scale] for scale in scales])])
        return self._scales[positions.start : positions.stop]


def _scale(scale: Fraction | Feature, positions: range) -> Floats:
    """What the scores of a head are multiplied by at more positions: (positions, 1)."""
    if isinstance(scale, Feature):
        return _along((scale,), positions)
    return np.full((len(positions), 1), _NUMBERS.numbers([[scale]]).value)


class _Mean:
    """A sequence all of whose positions get the same attention: the sums of their values so far, and their number.

    Args:
        group: The heads.
    """

    def __init__(self, group: _Group) -> None:
        self._group = group
        self._sum = np.zeros((1, group.size))

    def found(self, projected: Floats, _: range) -> Floats:
        """What the heads retrieve at new positions, one head after the other, given what is projected there."""
        sums = np.add.accumulate(np.concatenate([self._sum, projected[:, self._group.kept]]))
        self._sum = sums[-1:]
        seen = sums[:-1] if self._group.past else sums[1:]
        return np.asarray(seen[:, :-1] / np.maximum(seen[:, -1:], _ONE))


class _Search:
    """A sequence that heads search: its keys, its values and a 1, (coordinates, positions).

    Args:
        group: The heads.
    """

    def __init__(self, group: _Group) -> None:
        self._group = group
        self._kept = np.empty((group.size, 0))

    def found(self, projected: Floats, positions: range) -> Floats:
        """What the heads retrieve at new positions, one head after the other, given what is projected there."""
        group, end, some, heads = self._group, positions.stop, len(positions), len(self._group.heads)
        if end > self._kept.shape[1]:
            self._kept = np.concatenate([self._kept, np.empty((group.size, end + PIECE))], axis=1)
        self._kept[:, positions.start : end] = projected[:, group.kept].T
        rows = self._kept[:, :end]
        query = projected[:, group.queries].reshape(some, heads, group.width) * group.scales(positions)[:, :, None]
        score = query.reshape(some * heads, group.width) @ rows[: group.width]
        if some > 1 or group.past or group.bias is not None:
            self._finish(score.reshape(some, heads, end), positions)
        mixed = (_weights(score, group.choice) @ rows[group.width :].T).reshape(some, -1)
        found: Floats = mixed[:, group.own] / mixed[:, group.total]
        if group.past and positions.start == 0:
            found[0] = 0  # nothing is seen from there
        return found

    def _finish(self, score: Floats, positions: range) -> None:
        """Add biases, and leave out what is not seen, in scores (positions, heads, keys)."""
        keys, bias = range(positions.stop), self._group.bias
        if bias is not None:
            more = np.array([[float(bias.at(j, i)) for j in keys] for i in positions])
            score += more[:, None] * self._group.scales(positions)[:, :, None]
        last = np.arange(positions.start, positions.stop)[:, None, None] - self._group.past
        np.copyto(score, -np.inf, where=np.array(keys) > last)


def _along(features: tuple[Feature, ...], positions: range) -> Floats:
    """Features at more positions: (positions, features)."""
    found: Floats = Placed.at(features, positions, None).numbers(_NUMBERS).value
    return found


def _weights(score: Floats, choice: Choice) -> Floats:
    """Scores as weights of which the largest is 1, over the last axis; next to nothing where nothing is seen.

    Args:
        score: The scores, -∞ where nothing is seen; they may be overwritten.
        choice: How scores become weights.
    """
    if choice is Choice.LEFTMOST or choice is Choice.RIGHTMOST:
        best = score.argmax(-1) if choice is Choice.LEFTMOST else score.shape[-1] - 1 - score[:, ::-1].argmax(-1)
        weight = np.zeros(score.shape)
        np.put_along_axis(weight, best[:, None], 1, -1)
        return weight
    score -= np.maximum.reduce(score, axis=-1, keepdims=True)
    if choice is Choice.AVERAGE:
        return np.asarray(score == 0, dtype=np.float64)
    np.maximum(score, _FAR, out=score)
    return np.asarray(np.exp(score, out=score))
