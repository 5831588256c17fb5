"""Cost estimate of a pass of the dense engine: counted in products, timed on the first tokens.

A pass over n tokens makes about n · (nonzero weights) products in its maps, and n² · (d + e) in a head with keys of d
and values of e numbers; a loop repeats them in every iteration. For bidirectional heads only scores of distinct queries
with distinct keys count, and later iterations only compute what has changed, if the engine is accelerated. Memory grows
with n and, for causal models, with the number of iterations.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.acceleration import MAX_SCORES, QUERY_BLOCK, is_bidirectional
from softmachine.engines.dense.engine import DenseEngine
from softmachine.support.errors import SoftmachineError
from softmachine.support.resources import Estimate, require_affordable
from softmachine.support.text import pluralize
from softmachine.transformer.weights import AffineMap, Block, Head, Layer

MAX_UNTIMED_SECONDS = 20.0
"""Passes with an upper bound of at most this many seconds start without a trial."""
MAX_TRIAL_SECONDS = 0.5
"""Limit of the seconds of a trial on the first tokens of a long pass."""
MIN_TRIAL_SECONDS = MAX_TRIAL_SECONDS / 4
"""Shorter trials are too inaccurate and are repeated with twice the tokens, which takes at most 8 times as long."""
FIXED_COST_TOKENS = 8
"""Number of tokens whose trial measures the fixed cost of an iteration."""
BIAS_PRODUCTS = 20
"""Cost of the exact bias of a pair of positions, in products."""
ScoreCounts = Mapping[int, int]
"""The number of scores of a head, by ``id(head)``."""
LIVE_ARRAYS = 8
"""Arrays of scores, or copies of the residual stream, in memory at a time."""


def require_affordable_pass(engine: DenseEngine, tokens: Sequence[str], length: int | None, sequences: int = 1) -> None:
    """Require that a pass over sequences like these tokens is affordable.

    Args:
        engine: The engine.
        tokens: A sequence.
        length: The length n of the input, if the model reads it.
        sequences: The number of sequences.

    Raises:
        TooExpensiveError: If it takes too much time or memory, and expensive work is not allowed.
    """
    count, blocks = len(tokens), engine.transformer.blocks
    memory = sequences * _estimate_memory(engine, count, length)
    seconds = sequences * estimate_max_seconds(engine, count, length)
    if seconds > MAX_UNTIMED_SECONDS:
        seconds = sequences * _estimate_seconds(engine, tokens, length)
    elif memory < MAX_SCORES * LIVE_ARRAYS * engine.arithmetic.bytes_per_number:
        return
    turns = sum(block.iterations(length) for block in blocks if block.repeats != 1)
    around = f" and {pluralize(turns, 'loop iteration')}" if turns else ""
    require_affordable(
        Estimate(
            f"a pass over {pluralize(sequences * count, 'token')}{around} in {engine.arithmetic.name}", seconds, memory
        )
    )


def estimate_max_seconds(engine: DenseEngine, count: int, length: int | None) -> float:
    """Return an upper bound of the seconds of a pass over ``count`` tokens."""
    blocks = engine.transformer.blocks
    return engine.arithmetic.seconds_per_product * sum(
        block.iterations(length) * _count_products(block, count) for block in blocks
    )


def _count_products(block: Block, count: int, pairs: ScoreCounts | None = None) -> int:
    """Return the products of one iteration over ``count`` tokens; ``pairs`` gives the scores of some heads."""
    known = pairs or {}
    return sum(
        count * _products_per_token(layer)
        + sum(known.get(id(head), count**2) * _products_per_pair(head) for head in layer.heads)
        for layer in block.layers
    )


def _products_per_token(layer: Layer) -> int:
    """Return the products per token: one per nonzero weight."""
    parts = [part for head in layer.heads for part in (head.query.weight, head.key.weight, head.value.weight)]
    parts += [head.output for head in layer.heads]
    return sum(
        part.nonzero_count for part in (*parts, layer.feed_forward.first.weight, layer.feed_forward.second.weight)
    )


def _products_per_pair(head: Head) -> int:
    """Return the products per pair of tokens, counting one for the remaining work on its score."""
    return 1 + len(head.key.bias) + len(head.value.bias) + (0 if head.bias is None else BIAS_PRODUCTS)


def _count_distinct_scores(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> ScoreCounts:
    """Estimate the number of distinct scores of bidirectional heads.

    The estimate uses the embeddings of tokens and positions; each coordinate that is computed later may double the
    number of distinct queries or keys.
    """
    heads = [head for head in engine.transformer.heads if is_bidirectional(head) and engine.accelerator]
    if not heads:
        return {}
    from softmachine.engines.dense.acceleration.incremental_attention import RowClasses

    stream = engine.start(length=length).embed([tokens])
    blank: NDArray[np.bool_] = (stream.value == 0).all(axis=(0, 1))

    def kinds(part: AffineMap) -> int:
        read = np.array(sorted({column for row in part.weight.rows for column, _ in row}), dtype=np.intp)
        return min(len(tokens), len(RowClasses.of_rows(stream[..., read]).first) << min(int(blank[read].sum()), 32))

    return {id(head): kinds(head.query) * kinds(head.key) for head in heads}


def _estimate_memory(engine: DenseEngine, count: int, length: int | None) -> int:
    """Estimate the bytes for ``count`` tokens: residual stream, KV cache of all iterations, scores of a chunk."""
    transformer = engine.transformer
    causal = all(head.mask.is_causal for head in transformer.heads)
    kept = sum(
        (block.iterations(length) if causal else 2)
        * sum(len(head.key.bias) + len(head.value.bias) for head in layer.heads)
        for block in transformer.blocks
        for layer in block.layers
    )
    widest = max((len(layer.feed_forward.units) + len(layer.heads) for layer in transformer.layers), default=0)
    scores = min(count * count, max(MAX_SCORES, QUERY_BLOCK * count)) if engine.accelerator else count * count
    numbers = count * (kept + LIVE_ARRAYS * (transformer.width + widest)) + LIVE_ARRAYS * scores
    return numbers * engine.arithmetic.bytes_per_number


def _estimate_seconds(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> float:
    """Extrapolate the seconds of the pass from trials on the first tokens.

    The fixed cost of an iteration is measured on few tokens and does not grow with their number.
    """
    blocks, pace, pairs = (
        engine.transformer.blocks,
        engine.arithmetic.seconds_per_product,
        _count_distinct_scores(engine, tokens, length),
    )
    some = len(tokens)
    while some > 1 and sum(_count_products(block, some) for block in blocks) * pace > MAX_TRIAL_SECONDS:
        some //= 2
    least = _time_trial(engine, tokens[: min(some, FIXED_COST_TOKENS)], length)
    timed = _time_trial(engine, tokens[:some], length)
    while some < len(tokens) and sum(map(sum, timed)) < MIN_TRIAL_SECONDS:
        some = min(2 * some, len(tokens))
        timed = _time_trial(engine, tokens[:some], length)
    total, tried = 0.0, _count_distinct_scores(engine, tokens[:some], length)
    for block, times, fewest in zip(blocks, timed, least, strict=True):
        more = _count_products(block, len(tokens), pairs) / max(1, _count_products(block, some, tried))
        growth = more, len(tokens) / some if engine.accelerator and _is_incremental(block) else more
        first, again = (_scale_seconds(*of_turn) for of_turn in zip(times, fewest, growth, strict=True))
        turns = block.iterations(length)
        total += min(turns, 1) * first + max(turns - 1, 0) * again
    return total


def _scale_seconds(seconds: float, fixed: float, more: float) -> float:
    """Scale the seconds of an iteration, except for its fixed cost."""
    return min(fixed, seconds) + max(seconds - fixed, 0) * more


def _is_incremental(block: Block) -> bool:
    """Whether later iterations only recompute changes, so that their time grows linearly with the tokens."""
    return all(is_bidirectional(head) for layer in block.layers for head in layer.heads)


def _time_trial(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> list[tuple[float, float]]:
    """Return the seconds of the first and of a later iteration of each block; estimated if the trial fails."""
    try:
        return list(_time_iterations(engine, tokens, length))
    except SoftmachineError:
        blocks, pace = engine.transformer.blocks, engine.arithmetic.seconds_per_product
        return [(pace * _count_products(block, len(tokens)),) * 2 for block in blocks]


def _time_iterations(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> Iterator[tuple[float, float]]:
    """Time the first and a later iteration of each block on these tokens."""
    run = engine.start(length=length)
    stream = run.embed([tokens])
    for b, block in enumerate(engine.transformer.blocks):
        times = []
        for turn in range(min(block.iterations(length), 3)):
            began = time.perf_counter()
            stream = run.run_block(stream, b, turn)
            times.append(time.perf_counter() - began)
        yield (times[0], times[-1]) if times else (0.0, 0.0)
