"""Speculative decoding (Leviathan, Kalman and Matias, 2023), and its draft model.

The draft model has the same weights in float64 without error bounds, and is fast token by token. It proposes tokens,
and one pass in the requested arithmetic verifies them. The tokens of that pass are the output, whatever the draft.

The draft model is a second implementation of the forward pass, for one sequence, without hooks. The residual stream has
an additional coordinate that is 1 everywhere, so that an affine map is one matrix product. (For small arrays ``dot`` is
twice as fast as ``@``.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from softmachine.engines.dense.acceleration import BLOCK_SIZE, Accelerator
from softmachine.engines.dense.forward_pass import concat_columns, evaluate_features, group_by_keys, stack_maps
from softmachine.engines.numerics.base import Flags, Floats
from softmachine.engines.numerics.float_unchecked import UncheckedFloat
from softmachine.support.errors import InputError, SoftmachineError
from softmachine.transformer.attention import AttentionKind, Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Matrix, Transformer

_ZERO, _ONE = np.array(0.0), np.array(1.0)
_MIN_EXPONENT = np.array(-600.0)
"""Lower limit of exponents; smaller ones are negligible, but their exponentials are denormal and slow. (Comparison with
a 0-d array is faster than with a number.)"""
_MAX_MERGED_QUERY = 64
"""Limit of the numbers in the queries of a position up to which heads with different keys are merged."""
_ARITHMETIC = UncheckedFloat("float64:plain")
_INITIAL_DRAFT_LENGTH, _MAX_DRAFT_LENGTH = 16, 128
"""Draft length: starts at the first, doubles after each fully accepted draft, up to the second."""


class Speculator:
    """Drafts the next tokens of a decoder, until one is rejected.

    Args:
        accelerator: The accelerator of the engine that verifies the drafts.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self._is_useful = True
        self._draft_length = _INITIAL_DRAFT_LENGTH
        self._run: DraftModelPass | None = None

    def start_sequence(self) -> None:
        """Start another sequence."""
        self._run = None

    def propose(self, tokens: Sequence[str], stops: Callable[[str], bool]) -> list[str]:
        """Draft the tokens after ``tokens``, at most up to one that stops the run; empty once one was rejected."""
        guesses: list[str] = []
        if not self._is_useful:
            return guesses
        try:
            run = self._run = self._run or DraftModelPass(self.accelerator.draft_weights)
            new = tokens[run.tokens_read :]
            with np.errstate(all="ignore"):
                while len(guesses) < self._draft_length and not (guesses and stops(guesses[-1])):
                    guesses.append(run.predict(new))
                    new = guesses[-1:]
        except SoftmachineError:  # for example, a length that the weights were not compiled for
            self._is_useful = False
        return guesses

    def update(self, draft: Sequence[str], accepted: Sequence[str]) -> None:
        """Stop speculating after the first rejected token."""
        self._is_useful = self._is_useful and len(accepted) > len(draft)
        if draft:
            self._draft_length = min(2 * self._draft_length, _MAX_DRAFT_LENGTH)


class DraftModelPass:
    """A sequence read by the draft model, with a KV cache.

    Args:
        weights: The weights of the draft model.
    """

    def __init__(self, weights: DraftModelWeights) -> None:
        self.weights = weights
        self.tokens_read = 0
        self._caches = [[group.create_cache() for group in layer.groups] for layer in weights.layers]

    def predict(self, tokens: Sequence[str]) -> str:
        """Read at least one more token; return the argmax output after the last."""
        for start in range(0, len(tokens), BLOCK_SIZE):
            stream = self.extend(tokens[start : start + BLOCK_SIZE])
        return self.weights.outputs[int(stream[-1].dot(self.weights.unembedding).argmax())]

    def extend(self, tokens: Sequence[str]) -> Floats:
        """Read more tokens; return the residual stream after the last layer, whose last coordinate is 1."""
        positions = range(self.tokens_read, self.tokens_read + len(tokens))
        stream = self.weights.embed(tokens, positions)
        for layer, searched in zip(self.weights.layers, self._caches, strict=True):
            stream = layer(stream, searched, positions)
        self.tokens_read = positions.stop
        return stream


class DraftModelWeights:
    """A decoder's weights in float64.

    Args:
        transformer: The decoder.
    """

    def __init__(self, transformer: Transformer) -> None:
        width = transformer.width
        self.outputs, self._index, self._features = transformer.outputs, transformer.token_index, transformer.features
        self._embedding = _ARITHMETIC.matrix(transformer.embedding.transposed.rows, len(transformer.embedding.rows))
        self._embedding = np.pad(self._embedding, ((0, 0), (0, 1)), constant_values=1)
        self._positions = _ARITHMETIC.matrix((*transformer.position_embedding.transposed.rows, ()), len(self._features))
        self._position_cache = np.empty((0, width + 1))
        self.layers = [
            plain
            for block in transformer.blocks
            for plain in [DraftModelLayer(layer, width) for layer in block.layers] * block.iterations(None)
        ]
        self.unembedding = _augmented_matrix(transformer.unembedding)

    def embed(self, tokens: Sequence[str], positions: range) -> Floats:
        """Return the residual stream before the first layer."""
        try:
            embedded: Floats = self._embedding[[self._index[token] for token in tokens]]
        except KeyError as missing:
            raise InputError(f"{missing.args[0]!r} is not an input token") from None
        if not self._features:
            return embedded
        if positions.stop > len(self._position_cache):
            more = _evaluate_features(self._features, range(len(self._position_cache), positions.stop + BLOCK_SIZE))
            self._position_cache = np.concatenate([self._position_cache, more.dot(self._positions)])
        return embedded + self._position_cache[positions.start : positions.stop]


class DraftModelLayer:
    """A layer of the draft model.

    Args:
        layer: The layer.
        width: The number of coordinates of the residual stream.
    """

    def __init__(self, layer: Layer, width: int) -> None:
        self.groups, parts, groups = list[_MergedHeads](), list[AffineMap](), _merge_heads(layer.heads)
        for same in groups:
            self.groups.append(_MergedHeads(same, sum(len(part.bias) for part in parts)))
            parts += _projections(same, width)
        self._project = _augmented_matrix(stack_maps(parts, width))
        outputs = concat_columns([head.output for group in self.groups for head in group.heads], width + 1)
        self._output = _ARITHMETIC.matrix(outputs.rows, outputs.columns)
        self._network = _FeedForward(layer.feed_forward, width)

    def __call__(self, stream: Floats, caches: Sequence[_KvCache | _UniformAttention], positions: range) -> Floats:
        """Return the residual stream after the layer; the input is overwritten.

        Args:
            stream: The residual stream at new positions.
            caches: The KV cache of each head group.
            positions: The new positions.
        """
        if caches:
            projected = stream.dot(self._project)
            parts = [each.attend(projected, positions) for each in caches]
            stream += (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)).dot(self._output)
        return self._network(stream)


def _merge_heads(heads: Sequence[Head]) -> list[list[tuple[Head, ...]]]:
    """Group heads that are computed in one product, those with shared keys adjacent.

    Small softmax heads with different keys are merged as well: each query is padded with zeros for the keys of the
    other heads.
    """
    groups = [[same] for same in group_by_keys(heads)]
    for mask in Mask:
        some = [group for group in groups if group[0][0].mask is mask and _is_unbiased_softmax(group[0][0])]
        merged = [same for group in some for same in group]
        if sum(map(len, merged)) * sum(len(same[0].key.bias) for same in merged) <= _MAX_MERGED_QUERY:
            groups = [group for group in groups if group not in some] + [merged] * bool(merged)
    return groups


def _is_unbiased_softmax(head: Head) -> bool:
    """Whether a head is softmax attention with a query-key product and no bias."""
    return head.weighting.kind is AttentionKind.SOFTMAX and head.bias is None and len(head.key.bias) > 0


def _projections(groups: Sequence[tuple[Head, ...]], width: int) -> list[AffineMap]:
    """Return the projections of head groups: keys, values, a 1, and zero-padded queries."""
    keys, parts = [same[0].key for same in groups], list[AffineMap]()
    for g, same in enumerate(groups):
        before, behind = (sum(len(key.bias) for key in some) for some in (keys[:g], keys[g + 1 :]))
        for head in same:
            parts += [_constant(0, before, width), head.query, _constant(0, behind, width)]
    return [*keys, *(head.value for same in groups for head in same), _constant(1, 1, width), *parts]


def _constant(number: int, rows: int, width: int) -> AffineMap:
    """Return the map from a residual stream to ``rows`` copies of a number."""
    return AffineMap(Matrix(((),) * rows, width), (Fraction(number),) * rows)


def _augmented_matrix(affine: AffineMap) -> Floats:
    """Return the map x ↦ W x + b as a matrix acting on vectors whose last coordinate is 1."""
    rows, last = affine.weight.rows, affine.weight.columns
    matrix: Floats = _ARITHMETIC.matrix(
        [(*row, (last, constant)) for row, constant in zip(rows, affine.bias, strict=True)], last + 1
    )
    return matrix


class _FeedForward:
    """The feed-forward network with residual connection; it has an additional unit that is 1."""

    def __init__(self, forward: FeedForward, width: int) -> None:
        self._first, self._second = (
            _augmented_matrix(stack_maps([forward.first, _constant(1, 1, width)], width)),
            _augmented_matrix(forward.second),
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


class _MergedHeads:
    """Heads with the same mask, choice and bias that are computed together.

    Args:
        groups: The heads, grouped by shared keys.
        start: The offset of their projections: keys, values, a 1, queries.
    """

    def __init__(self, groups: Sequence[tuple[Head, ...]], start: int) -> None:
        self.heads, self.width = (
            [head for same in groups for head in same],
            sum(len(same[0].key.bias) for same in groups),
        )
        head, heads = self.heads[0], len(self.heads)
        self.choice, self.bias, self.past = head.weighting.kind, head.bias, head.mask is Mask.PAST
        sizes = [len(each.value.bias) for each in self.heads]
        self.size = self.width + sum(sizes) + 1
        self.kept = slice(start, start + self.size)
        self.queries = slice(self.kept.stop, self.kept.stop + heads * self.width)
        # Each head computes means of all values; select its own values, and the adjacent sum of its weights.
        among, whose = np.arange(heads * (sum(sizes) + 1)).reshape(heads, -1), np.repeat(np.arange(heads), sizes)
        self.own, self.total = among[whose, np.arange(len(whose))], among[whose, -1]
        self._scales = np.empty((0, heads))

    def create_cache(self) -> _KvCache | _UniformAttention:
        """Return an empty KV cache for a sequence."""
        alike = self.width == 0 and self.bias is None and self.choice in (AttentionKind.SOFTMAX, AttentionKind.AVERAGE)
        return _UniformAttention(self) if alike else _KvCache(self)

    def scales(self, positions: range) -> Floats:
        """Return the inverse temperatures at some positions: (positions, heads)."""
        if positions.stop > len(self._scales):
            more = range(len(self._scales), positions.stop + BLOCK_SIZE)
            scales = [head.weighting.scale for head in self.heads]
            new = {scale: _inverse_temperatures(scale, more) for scale in dict.fromkeys(scales)}
            self._scales = np.concatenate([self._scales, np.hstack([new[scale] for scale in scales])])
        return self._scales[positions.start : positions.stop]


def _inverse_temperatures(scale: Fraction | Feature, positions: range) -> Floats:
    """Return the inverse temperature of a head at some positions: (positions, 1)."""
    if isinstance(scale, Feature):
        return _evaluate_features((scale,), positions)
    return np.full((len(positions), 1), _ARITHMETIC.convert([[scale]]).value)


class _UniformAttention:
    """Uniform attention over a sequence: running sums of the values, and their number.

    Args:
        group: The heads.
    """

    def __init__(self, group: _MergedHeads) -> None:
        self._group = group
        self._sum = np.zeros((1, group.size))

    def attend(self, projected: Floats, _: range) -> Floats:
        """Return the values that the heads retrieve at new positions, concatenated, given the projections there."""
        sums = np.add.accumulate(np.concatenate([self._sum, projected[:, self._group.kept]]))
        self._sum = sums[-1:]
        seen = sums[:-1] if self._group.past else sums[1:]
        return np.asarray(seen[:, :-1] / np.maximum(seen[:, -1:], _ONE))


class _KvCache:
    """KV cache of a sequence: keys, values and a 1, (coordinates, positions).

    Args:
        group: The heads.
    """

    def __init__(self, group: _MergedHeads) -> None:
        self._group = group
        self._kept = np.empty((group.size, 0))

    def attend(self, projected: Floats, positions: range) -> Floats:
        """Return the values that the heads retrieve at new positions, concatenated, given the projections there."""
        group, end, some, heads = self._group, positions.stop, len(positions), len(self._group.heads)
        if end > self._kept.shape[1]:
            self._kept = np.concatenate([self._kept, np.empty((group.size, end + BLOCK_SIZE))], axis=1)
        self._kept[:, positions.start : end] = projected[:, group.kept].T
        rows = self._kept[:, :end]
        query = projected[:, group.queries].reshape(some, heads, group.width) * group.scales(positions)[:, :, None]
        score = query.reshape(some * heads, group.width) @ rows[: group.width]
        if some > 1 or group.past or group.bias is not None:
            self._bias_and_mask(score.reshape(some, heads, end), positions)
        mixed = (_unnormalised_weights(score, group.choice) @ rows[group.width :].T).reshape(some, -1)
        found: Floats = mixed[:, group.own] / mixed[:, group.total]
        if group.past and positions.start == 0:
            found[0] = 0  # no key is visible from position 0
        return found

    def _bias_and_mask(self, score: Floats, positions: range) -> None:
        """Add biases to scores (positions, heads, keys), and mask them."""
        keys, bias = range(positions.stop), self._group.bias
        if bias is not None:
            more = np.array([[float(bias.at(j, i)) for j in keys] for i in positions])
            score += more[:, None] * self._group.scales(positions)[:, :, None]
        last = np.arange(positions.start, positions.stop)[:, None, None] - self._group.past
        np.copyto(score, -np.inf, where=np.array(keys) > last)


def _evaluate_features(features: tuple[Feature, ...], positions: range) -> Floats:
    """Return features at some positions: (positions, features)."""
    found: Floats = evaluate_features(_ARITHMETIC, features, positions, None).value
    return found


def _unnormalised_weights(score: Floats, choice: AttentionKind) -> Floats:
    """Convert scores to weights with maximum 1 over the last axis; negligible where masked.

    Args:
        score: The scores, -∞ where masked; they may be overwritten.
        choice: The kind of attention.
    """
    if choice is AttentionKind.LEFTMOST or choice is AttentionKind.RIGHTMOST:
        best = score.argmax(-1) if choice is AttentionKind.LEFTMOST else score.shape[-1] - 1 - score[:, ::-1].argmax(-1)
        weight = np.zeros(score.shape)
        np.put_along_axis(weight, best[:, None], 1, -1)
        return weight
    score -= np.maximum.reduce(score, axis=-1, keepdims=True)
    if choice is AttentionKind.AVERAGE:
        return np.asarray(score == 0, dtype=np.float64)
    np.maximum(score, _MIN_EXPONENT, out=score)
    return np.asarray(np.exp(score, out=score))
