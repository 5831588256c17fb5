"""Acceleration of the dense engine: the outputs of :mod:`softmachine.engines.dense.forward_pass` with less work.

`DenseEngine` uses an :class:`Accelerator` unless it is constructed with ``accelerated=False``. The plain engine imports
nothing from here. What is accelerated:

- KV caches with amortised append (:mod:`.caches`); position embeddings in blocks of positions.
- Attention in chunks of queries, so that memory grows linearly with the length. In bidirectional hard attention, equal
  queries and equal keys are scored once (:mod:`.incremental_attention`).
- Loops: results whose inputs are unchanged are reused in the next iteration (:mod:`.caches`), and a loop in a cycle
  ends early (:mod:`.loop_cycles`).
- Decoding: a draft model proposes tokens, and one pass verifies them (:mod:`.draft_model`).
- Batches: error bounds are shared by all sequences, and undecided sequences are repeated with their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.acceleration.caches import (
    AppendableKvCache,
    AttentionMemo,
    IncrementalMap,
    SparseKeyMask,
    collapse_equal_sequences,
)
from softmachine.engines.dense.attention import (
    AttentionRecord,
    HeadGroup,
    HeadGroupIndex,
    LayerIndex,
    attention_mask,
    inverse_temperatures,
    relative_bias,
    undecided_error,
)
from softmachine.engines.dense.forward_pass import DenseLayer, Pass, PreparedTransformer, concat, evaluate_features
from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError
from softmachine.engines.numerics.float import Float
from softmachine.support.errors import SoftmachineError
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Head, Transformer

if TYPE_CHECKING:
    from softmachine.engines.dense.acceleration.draft_model import DraftModelWeights, Speculator
    from softmachine.engines.dense.acceleration.incremental_attention import IncrementalArgmax

BLOCK_SIZE = 64
"""Position features are evaluated for this many positions at a time; decoding requests one position at a time."""
MIN_SHARED_BATCH, MAX_CHUNK_POSITIONS = 64, 4096
"""Batch size from which shared error bounds pay off; positions per chunk with per-sequence bounds."""
MAX_SCORES = 2**20
"""Scores per chunk of positions, unless the chunk would have too few positions."""
MAX_SOFTMAX_SCORES = 2**17
"""The same for softmax over one sequence: fewer queries per chunk leave more keys negligible for all of them."""
MIN_DEDUPLICATED_POSITIONS = 128
"""Number of positions from which equal queries and keys of heads without a mask are deduplicated."""
PROMPT_CHUNK = 1024
"""Tokens of a long prompt per pass, to limit the memory of scores."""
MIN_TOKENS_BEFORE_DRAFTS = 2
"""Decoded tokens before speculation starts; building the draft model costs more than shorter runs gain."""

_inverse_temperatures = lru_cache(maxsize=64)(inverse_temperatures)
"""Cached for passes over sequences of one length."""


class Accelerator:
    """The state that the accelerated passes of an engine share.

    Args:
        transformer: The weights.
        arithmetic: The arithmetic of the engine.
    """

    def __init__(self, transformer: Transformer, arithmetic: Arithmetic) -> None:
        self.transformer, self.arithmetic = transformer, arithmetic
        self._position_cache: tuple[range, int | None, Tensor] | None = None

    def start(self, engine: PreparedTransformer, batch: int, length: int | None) -> AcceleratedPass:
        """Start a pass over a batch of sequences."""
        return AcceleratedPass(engine, self, batch, length)

    @cached_property
    def draft_weights(self) -> DraftModelWeights:
        """The draft model: the same weights in floats without error bounds."""
        from softmachine.engines.dense.acceleration.draft_model import DraftModelWeights

        return DraftModelWeights(self.transformer)

    @cached_property
    def batch_engine(self) -> BatchEngine | None:
        """The engine with error bounds shared by a batch; None unless the arithmetic is float64 without layer norm.

        It has no cycle detection, so models whose loop count depends on the input length do not use it.
        """
        weights = self.transformer
        long = any(isinstance(block.repeats, Feature) for block in weights.blocks)
        known = (
            type(self.arithmetic) is Float and self.arithmetic.digits == 53 and weights.first_normalised_unit is None
        )
        return BatchEngine(weights) if known and not long else None

    def embed_positions(self, engine: PreparedTransformer, positions: range, length: int | None) -> Tensor:
        """Return the position embedding at some positions of an input of length n."""
        start, known = positions.start, self._position_cache
        if known is None or known[1] != length or not known[0].start <= start <= positions.stop <= known[0].stop:
            # With a given length, features may be undefined beyond it.
            ahead = positions if length is not None else range(start, -(-positions.stop // BLOCK_SIZE) * BLOCK_SIZE)
            features = evaluate_features(self.arithmetic, self.transformer.features, ahead, length)
            known = self._position_cache = ahead, length, engine.position_embedding(features)
        return known[2][start - known[0].start : positions.stop - known[0].start]

    def predict_indices(
        self, engine: PreparedTransformer, indices: NDArray[np.intp], length: int | None
    ) -> NDArray[np.intp]:
        """Return the argmax outputs as indices; sequences undecided with shared bounds are repeated with their own."""
        if self.batch_engine is None or len(indices) < MIN_SHARED_BATCH:
            return self.predict_chunks(engine, indices, length)
        found, undecided = self.batch_engine.predict_indices(indices, length)
        if undecided.any():
            found[undecided] = self.predict_chunks(engine, indices[undecided], length)
        return found

    def predict_chunks(
        self, engine: PreparedTransformer, indices: NDArray[np.intp], length: int | None
    ) -> NDArray[np.intp]:
        """Return the argmax outputs as indices, for some sequences at a time."""
        together = max(1, MAX_CHUNK_POSITIONS // max(1, indices.shape[1]))
        parts = np.split(indices, range(together, len(indices), together))
        runs = [(self.start(engine, len(part), length), part) for part in parts]
        return np.concatenate([run.argmax_outputs(run.extend(part)) for run, part in runs])


class BatchEngine:
    """Runs a transformer on a batch of sequences with shared error bounds.

    Args:
        transformer: The weights.
    """

    def __init__(self, transformer: Transformer) -> None:
        from softmachine.engines.numerics.float_batched import BatchFloat

        self.arithmetic = BatchFloat()
        self.engine = PreparedTransformer(transformer, self.arithmetic)
        self.accelerator = Accelerator(transformer, self.arithmetic)
        self.is_useful = True

    def predict_indices(
        self, indices: NDArray[np.intp], length: int | None
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the argmax outputs as indices, and which sequences are undecided.

        If most are undecided, as in deep networks, whose errors accumulate, later batches are not tried.
        """
        if self.is_useful:
            self.arithmetic.start_batch(len(indices))
            run = self.accelerator.start(self.engine, len(indices), length)
            try:
                found = run.argmax_outputs(run.extend(indices))
            except SoftmachineError:  # for example, overflow in any sequence
                self.is_useful = False
            else:
                self.is_useful = 2 * int(np.count_nonzero(self.arithmetic.undecided)) <= len(indices)
                return found, self.arithmetic.undecided
        return np.zeros(indices.shape, dtype=np.intp), np.ones(len(indices), dtype=bool)


class AcceleratedPass(Pass):
    """A forward pass with the accelerators.

    Args:
        engine: The transformer.
        accelerator: The state that passes share.
        batch: The number of sequences.
        length: The length n of the input, for models that read it.
    """

    def __init__(self, engine: PreparedTransformer, accelerator: Accelerator, batch: int, length: int | None) -> None:
        super().__init__(engine, batch, length)
        self.accelerator = accelerator
        self.kv_cache = AppendableKvCache()
        self._layers: dict[tuple[int, int], DenseLayer] = {}
        self._head_groups: dict[tuple[int, int, int], AttentionMemo] = {}
        self._argmaxes: dict[tuple[int, int, int, int], IncrementalArgmax] = {}
        self._speculator: Speculator | None = None
        self._steps = 0

    def embed_positions(self, positions: range) -> Tensor:
        """Return the position embedding, from the cache of the engine."""
        return self.accelerator.embed_positions(self.engine, positions, self.length)

    def run_loop(self, stream: Tensor, block: int, count: int) -> Tensor:
        """Run all iterations of a block; sequences in a cycle finish early.

        With all positions present, an iteration is a function of the stream alone, so a repeated stream is a cycle.
        """
        is_repeatable = not (self.engine.is_extendable or self.engine.arithmetic.overwrites_inputs)
        if self.hook or not is_repeatable or count <= 1:
            return super().run_loop(stream, block, count)
        from softmachine.engines.dense.acceleration.loop_cycles import iterate_until_cycle

        return iterate_until_cycle(lambda stream: self.run_block(stream, block, 0), stream, count)

    def run_layer(self, layer: DenseLayer, stream: Tensor, positions: range, where: LayerIndex) -> Tensor:
        """Run one layer; in a loop, its maps are computed only at the positions that have changed."""
        if self._is_looped(where):
            place = where[0], where[2]
            if place not in self._layers:
                maps = (
                    IncrementalMap(layer.projection),
                    IncrementalMap(layer.output),
                    layer.network and IncrementalMap(layer.network),
                )
                self._layers[place] = replace(layer, projection=maps[0], output=maps[1], network=maps[2])
            layer = self._layers[place]
        return super().run_layer(layer, stream, positions, where)

    def _is_looped(self, where: Sequence[int]) -> bool:
        """Whether a layer is looped and tensors may be cached between iterations."""
        return self.engine.transformer.blocks[where[0]].repeats != 1 and not self.engine.arithmetic.overwrites_inputs

    def attend(self, where: HeadGroupIndex, group: HeadGroup, positions: range) -> list[Tensor]:
        """Return the values that each head of a group retrieves at the new positions.

        Positions are processed in chunks. The result of a position does not depend on the chunk.
        """
        block, _, depth, index = where
        place, head, key = (block, depth, index), group.heads[0], group.key
        if (
            is_bidirectional(head)
            and len(positions) >= MIN_DEDUPLICATED_POSITIONS
            and not self.engine.arithmetic.overwrites_inputs
        ):
            queries = [collapse_equal_sequences(query, key) for query in group.queries]
            if all(query.shape[0] == 1 for query, _ in queries):
                return self._attend_bidirectional(where, group, queries, positions)
        if place not in self._head_groups:
            self._head_groups[place] = AttentionMemo(looped=self._is_looped(where))
        cache = self._head_groups[place]
        most = MAX_SCORES if head.weighting.is_hard or key.shape[0] > 1 else min(MAX_SCORES, MAX_SOFTMAX_SCORES)
        together = chunk_size(most, len(group.heads) * key.shape[0] * key.shape[1])
        if len(positions) <= together:
            return self._attend_chunk(cache, index, group, positions, 0)
        if not head.weighting.is_hard:
            cache = AttentionMemo(looped=False)  # softmax has too many weights to keep, hard attention chooses few keys
        parts = []
        for start in range(0, len(positions), together):
            some = slice(start, start + together)
            part = group._replace(queries=[query[:, some] for query in group.queries])
            parts.append(self._attend_chunk(cache, index, part, positions[some], start))
        return [concat(found, axis=1) for found in zip(*parts, strict=True)]

    def _attend_bidirectional(
        self, where: HeadGroupIndex, group: HeadGroup, pairs: Sequence[tuple[Tensor, Tensor]], positions: range
    ) -> list[Tensor]:
        """Return the values that bidirectional heads retrieve, given pairs (queries, keys) of each head."""
        from softmachine.engines.dense.acceleration.incremental_attention import IncrementalArgmax

        block, _, depth, index = where
        found, flags = [], []
        for number, (head, (query, key), value) in enumerate(zip(group.heads, pairs, group.values, strict=True)):
            place = block, depth, index, number
            if place not in self._argmaxes:
                self._argmaxes[place] = IncrementalArgmax(looped=self._is_looped(where))
            try:
                kinds, best = self._argmaxes[place].find(self.engine.arithmetic, query, key)
            except UndecidedError as doubt:
                raise undecided_error(head, positions[doubt.position], doubt) from None
            picks = best.break_ties(head.weighting.kind)
            found.append(picks.mean(self.engine.arithmetic, value)[:, kinds.class_of])
            if self.hook:
                flags.append(picks.to_mask(key.shape[1])[None, kinds.class_of])
        if self.hook:
            visible = np.ones((len(positions), group.key.shape[1]), dtype=bool)
            self.hook.searched(index, AttentionRecord(group, positions, None, visible, None, flags, found))
        return found

    def _attend_chunk(
        self, cache: AttentionMemo, index: int, group: HeadGroup, positions: range, start: int
    ) -> list[Tensor]:
        """Return the values that each head retrieves at the positions of a chunk, which begins with query ``start``."""
        numbers, head, key, values = self.engine.arithmetic, group.heads[0], group.key, group.values
        visible = attention_mask(head.mask, positions, key.shape[1])
        bias = relative_bias(numbers, head, positions, key.shape[1])
        if not head.weighting.is_hard:
            scale = _inverse_temperatures(numbers, head.weighting.scale, positions, self.length)
            mix = partial(numbers.softmax_attention, bias=bias, visible=visible, scale=scale)
            means = [cache.find(k, query, key, mix) for k, query in enumerate(group.queries)]
            found = [mean(value) for mean, value in zip(means, values, strict=True)]
            if self.hook:
                self.hook.searched(index, AttentionRecord(group, positions, bias, visible, scale, (), found))
            return found
        # All queries of the group in one tensor, head after head.
        query, repeated = concat(group.queries, axis=1), np.tile(visible, (len(group.heads), 1))
        biases = None if bias is None else concat([bias] * len(group.heads), axis=0)
        choose = partial(numbers.select_keys, bias=biases, visible=repeated, choice=head.weighting.kind)
        try:
            chosen = cache.find(start, query, key, lambda q, k: SparseKeyMask.from_mask(choose(q, k)))
        except UndecidedError as doubt:
            which, at = divmod(doubt.position, len(positions))
            raise undecided_error(group.heads[which], positions[at], doubt) from None
        split = chosen.split(len(group.heads))
        found = [numbers.average(part.flags, part.values(value)) for part, value in zip(split, values, strict=True)]
        if self.hook:
            flags = [part.to_mask for part in split]
            self.hook.searched(index, AttentionRecord(group, positions, bias, visible, None, flags, found))
        return found

    def predict_next(self, tokens: Sequence[str], stops: Callable[[str], bool]) -> list[str]:
        """Return the tokens that follow a sequence: those of a draft that are right, and one more."""
        while len(tokens) - self.tokens_read > PROMPT_CHUNK:
            self.extend([tokens[self.tokens_read : self.tokens_read + PROMPT_CHUNK]])
        self._steps += 1
        if self._speculator is None:
            pays = self._steps > MIN_TOKENS_BEFORE_DRAFTS or "draft_weights" in vars(self.accelerator)
            if not (pays and self.engine.arithmetic.is_draft_efficient):
                return super().predict_next(tokens, stops)
            from softmachine.engines.dense.acceleration.draft_model import Speculator

            self._speculator = Speculator(self.accelerator)
        draft = self._speculator.propose(tokens, stops)
        found = self._verify_draft(tokens[self.tokens_read :], draft)
        self._speculator.update(draft, found)
        return found

    def _verify_draft(self, new: Sequence[str], draft: Sequence[str]) -> list[str]:
        """Verify a draft: return its accepted tokens and one more token."""
        begin = self.tokens_read
        try:
            predicted = self.predict([*new, *draft], 1 + len(draft))
        except SoftmachineError:
            if not draft:
                raise
            self.rewind(begin)  # without a draft, so that an error is raised only if the run reaches its token
            return self.predict(new)
        right = next((k for k, guess in enumerate(draft) if guess != predicted[k]), len(draft))
        if right < len(draft):
            self.rewind(begin + len(new) + right)
        return predicted[: right + 1]

    def rewind(self, read: int) -> None:
        """Truncate the pass, and discard the results cached between iterations."""
        super().rewind(read)
        for cached in (self._layers, self._head_groups, self._argmaxes):
            cached.clear()
        if not read and self._speculator:
            self._speculator.start_sequence()


def is_bidirectional(head: Head) -> bool:
    """Whether a head is hard, without mask and bias, so that equal queries retrieve equal values."""
    return head.weighting.is_hard and head.mask is Mask.ALL and head.bias is None


QUERY_BLOCK = 48
"""Chunks are multiples of this many queries, the block size of matrix products, so that rounding is the same."""


def chunk_size(max_scores: int, scores: int) -> int:
    """Return the number of queries per chunk, if each has ``scores`` scores."""
    return max(1, max_scores // max(1, scores) // QUERY_BLOCK) * QUERY_BLOCK
