"""Cost estimate of a pass of the dense engine: counted in products, timed on the first tokens.

A pass over n tokens makes about n · (nonzero weights) products in its maps, and n² · (d + e) in a head with keys of d
and values of e numbers; a loop repeats them in every iteration. For bidirectional heads only scores of distinct queries
with distinct keys count, and later iterations only compute what has changed (:mod:`.everywhere`). Memory grows with n
and, for causal models, with the number of iterations.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.attention import MOST_SCORES, sees_all
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.incremental_attention import FEWEST, Kinds
from softmachine.support.errors import SoftmachineError
from softmachine.support.resources import Estimate, allow
from softmachine.support.text import many
from softmachine.transformer.weights import AffineMap, Block, Head, Layer

SHORT = 20.0
"""Passes with an upper bound of at most this many seconds start without a trial."""
TRIED = 0.5
"""Limit of the seconds of a trial on the first tokens of a long pass."""
ENOUGH = TRIED / 4
"""Shorter trials are too inaccurate and are repeated with twice the tokens, which takes at most 8 times as long."""
FEW = 8
"""Number of tokens whose trial measures the fixed cost of an iteration."""
BIAS = 20
"""Cost of the exact bias of a pair of positions, in products."""
Pairs = Mapping[int, int]
"""The number of scores of a head, by ``id(head)``."""
AT_ONCE = 8
"""Arrays of scores, or copies of the residual stream, in memory at a time."""


def allow_pass(engine: DenseEngine, tokens: Sequence[str], length: int | None, sequences: int = 1) -> None:
    """Require that a pass over sequences like these tokens is affordable.

    Args:
        engine: The engine.
        tokens: A sequence.
        length: The length n of the input, if the model reads it.
        sequences: The number of sequences.

    Raises:
        EffortError: If it takes too much time or memory, and expensive work is not allowed.
    """
    count, blocks = len(tokens), engine.transformer.blocks
    memory = sequences * _memory(engine, count, length)
    seconds = sequences * longest(engine, count, length)
    if seconds > SHORT:
        seconds = sequences * _seconds(engine, tokens, length)
    elif memory < MOST_SCORES * AT_ONCE * engine.arithmetic.bytes:
        return
    turns = sum(block.count(length) for block in blocks if block.repeats != 1)
    around = f" and {many(turns, 'loop iteration')}" if turns else ""
    allow(
        Estimate(f"a pass over {many(sequences * count, 'token')}{around} in {engine.arithmetic.name}", seconds, memory)
    )


def longest(engine: DenseEngine, count: int, length: int | None) -> float:
    """Return an upper bound of the seconds of a pass over ``count`` tokens."""
    blocks = engine.transformer.blocks
    return engine.arithmetic.pace * sum(block.count(length) * _products(block, count) for block in blocks)


def _products(block: Block, count: int, pairs: Pairs | None = None) -> int:
    """Return the products of one iteration over ``count`` tokens; ``pairs`` gives the scores of some heads."""
    known = pairs or {}
    return sum(
        count * _linear(layer) + sum(known.get(id(head), count**2) * _quadratic(head) for head in layer.heads)
        for layer in block.layers
    )


def _linear(layer: Layer) -> int:
    """Return the products per token: one per nonzero weight."""
    parts = [part for head in layer.heads for part in (head.query.weight, head.key.weight, head.value.weight)]
    parts += [head.output for head in layer.heads]
    return sum(part.nonzeros for part in (*parts, layer.feed_forward.first.weight, layer.feed_forward.second.weight))


def _quadratic(head: Head) -> int:
    """Return the products per pair of tokens, counting one for the remaining work on its score."""
    return 1 + len(head.key.bias) + len(head.value.bias) + (0 if head.bias is None else BIAS)


def _different(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> Pairs:
    """Estimate the number of distinct scores of bidirectional heads.

    The estimate uses the embeddings of tokens and positions; each coordinate that is computed later may double the
    number of distinct queries or keys.
    """
    heads = [head for head in engine.transformer.heads if sees_all(head)]
    if not heads:
        return {}
    stream = engine.start(length=length).embedded([tokens])
    blank: NDArray[np.bool_] = (stream.value == 0).all(axis=(0, 1))

    def kinds(part: AffineMap) -> int:
        read = np.array(sorted({column for row in part.weight.rows for column, _ in row}), dtype=np.intp)
        return min(len(tokens), len(Kinds.among(stream[..., read]).first) << min(int(blank[read].sum()), 32))

    return {id(head): kinds(head.query) * kinds(head.key) for head in heads}


def _memory(engine: DenseEngine, count: int, length: int | None) -> int:
    """Estimate the bytes for ``count`` tokens: residual stream, KV cache of all iterations, scores of a chunk."""
    transformer = engine.transformer
    causal = all(head.mask.causal for head in transformer.heads)
    kept = sum(
        (block.count(length) if causal else 2) * sum(len(head.key.bias) + len(head.value.bias) for head in layer.heads)
        for block in transformer.blocks
        for layer in block.layers
    )
    widest = max((len(layer.feed_forward.units) + len(layer.heads) for layer in transformer.layers), default=0)
    scores = min(count * count, max(MOST_SCORES, FEWEST * count))
    numbers = count * (kept + AT_ONCE * (transformer.width + widest)) + AT_ONCE * scores
    return numbers * engine.arithmetic.bytes


def _seconds(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> float:
    """Extrapolate the seconds of the pass from trials on the first tokens.

    The fixed cost of an iteration is measured on few tokens and does not grow with their number.
    """
    blocks, pace, pairs = engine.transformer.blocks, engine.arithmetic.pace, _different(engine, tokens, length)
    some = len(tokens)
    while some > 1 and sum(_products(block, some) for block in blocks) * pace > TRIED:
        some //= 2
    least = _tried(engine, tokens[: min(some, FEW)], length)
    timed = _tried(engine, tokens[:some], length)
    while some < len(tokens) and sum(map(sum, timed)) < ENOUGH:
        some = min(2 * some, len(tokens))
        timed = _tried(engine, tokens[:some], length)
    total, tried = 0.0, _different(engine, tokens[:some], length)
    for block, times, fewest in zip(blocks, timed, least, strict=True):
        more = _products(block, len(tokens), pairs) / max(1, _products(block, some, tried))
        growth = more, len(tokens) / some if _revises(block) else more
        first, again = (_grown(*of_turn) for of_turn in zip(times, fewest, growth, strict=True))
        turns = block.count(length)
        total += min(turns, 1) * first + max(turns - 1, 0) * again
    return total


def _grown(seconds: float, fixed: float, more: float) -> float:
    """Scale the seconds of an iteration, except for its fixed cost."""
    return min(fixed, seconds) + max(seconds - fixed, 0) * more


def _revises(block: Block) -> bool:
    """Whether later iterations only recompute changes, so that their time grows linearly with the tokens."""
    return all(sees_all(head) for layer in block.layers for head in layer.heads)


def _tried(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> list[tuple[float, float]]:
    """Return the seconds of the first and of a later iteration of each block; estimated if the trial fails."""
    try:
        return list(_timed(engine, tokens, length))
    except SoftmachineError:
        blocks, pace = engine.transformer.blocks, engine.arithmetic.pace
        return [(pace * _products(block, len(tokens)),) * 2 for block in blocks]


def _timed(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> Iterator[tuple[float, float]]:
    """Time the first and a later iteration of each block on these tokens."""
    run = engine.start(length=length)
    stream = run.embedded([tokens])
    for b, block in enumerate(engine.transformer.blocks):
        times = []
        for turn in range(min(block.count(length), 3)):
            began = time.perf_counter()
            stream = run.turn(stream, b, turn)
            times.append(time.perf_counter() - began)
        yield (times[0], times[-1]) if times else (0.0, 0.0)
