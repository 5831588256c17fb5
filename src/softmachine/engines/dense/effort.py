"""What a pass of the dense engine will take: counted in products, timed on the first tokens.

A pass over n tokens makes about n · (weights that are not 0) products in its maps, and n² · (d + e) in a head with keys
of d and values of e numbers; a loop makes them again in every turn. Where every position sees every other, only scores
of different queries with different keys count, and later turns only look at what has changed (:mod:`.everywhere`).
Memory grows with n, and, if a model can go on from what it has read, with the turns.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.attention import MOST_SCORES, sees_all
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.everywhere import FEWEST, Kinds
from softmachine.support.errors import SoftmachineError
from softmachine.support.estimates import Estimate, allow
from softmachine.support.text import many
from softmachine.transformer.weights import AffineMap, Block, Head, Layer

SHORT = 20.0
"""Passes that cannot take more seconds than this are begun without further ado."""
TRIED = 0.5
"""So many seconds, at most, a first part of a long pass is tried."""
ENOUGH = TRIED / 4
"""A part that takes less says too little: twice as much is tried, which takes eight times as long at most."""
FEW = 8
"""So few tokens take no longer than what is to be done in any case."""
BIAS = 20
"""The exact bias of a pair of positions takes as long as so many products."""
Pairs = Mapping[int, int]
"""How many scores a head has, by the head's identity."""
AT_ONCE = 8
"""So many arrays of scores, or copies of the residual stream, there are at a time."""


def allow_pass(engine: DenseEngine, tokens: Sequence[str], length: int | None, sequences: int = 1) -> None:
    """Go on with a pass over sequences like these tokens, of an input of length n if the model knows it.

    Raises:
        EffortError: If it takes too long, or too much memory, and nobody said yes.
    """
    count, blocks = len(tokens), engine.transformer.blocks
    memory = sequences * _memory(engine, count, length)
    seconds = sequences * longest(engine, count, length)
    if seconds > SHORT:
        seconds = sequences * _seconds(engine, tokens, length)
    elif memory < MOST_SCORES * AT_ONCE * engine.arithmetic.bytes:
        return
    turns = sum(block.count(length) for block in blocks if block.repeats != 1)
    around = f" and {many(turns, 'turn')} of loops" if turns else ""
    allow(
        Estimate(f"a pass over {many(sequences * count, 'token')}{around} in {engine.arithmetic.name}", seconds, memory)
    )


def longest(engine: DenseEngine, count: int, length: int | None) -> float:
    """So many seconds a pass over so many tokens takes at most."""
    blocks = engine.transformer.blocks
    return engine.arithmetic.pace * sum(block.count(length) * _products(block, count) for block in blocks)


def _products(block: Block, count: int, pairs: Pairs | None = None) -> int:
    """How many products one turn makes over so many tokens; of some heads it is known how many scores they have."""
    known = pairs or {}
    return sum(
        count * _linear(layer) + sum(known.get(id(head), count**2) * _quadratic(head) for head in layer.heads)
        for layer in block.layers
    )


def _linear(layer: Layer) -> int:
    """The products for a token: every weight that is not 0 takes part once."""
    parts = [part for head in layer.heads for part in (head.query.weight, head.key.weight, head.value.weight)]
    parts += [head.output for head in layer.heads]
    return sum(part.nonzeros for part in (*parts, layer.feed_forward.first.weight, layer.feed_forward.second.weight))


def _quadratic(head: Head) -> int:
    """The products for a pair of tokens; one for what else is to be done with its score."""
    return 1 + len(head.key.bias) + len(head.value.bias) + (0 if head.bias is None else BIAS)


def _different(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> Pairs:
    """For heads that see everything about how many different scores they have.

    To judge by what tokens and positions say: what is computed later may tell twice as many queries or keys apart with
    each coordinate.
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
    """The bytes for so many tokens: the stream, keys and values of all turns, and the scores of a few positions."""
    transformer = engine.transformer
    goes_on = all(head.mask.causal for head in transformer.heads)
    kept = sum(
        (block.count(length) if goes_on else 2) * sum(len(head.key.bias) + len(head.value.bias) for head in layer.heads)
        for block in transformer.blocks
        for layer in block.layers
    )
    widest = max((len(layer.feed_forward.units) + len(layer.heads) for layer in transformer.layers), default=0)
    scores = min(count * count, max(MOST_SCORES, FEWEST * count))
    numbers = count * (kept + AT_ONCE * (transformer.width + widest)) + AT_ONCE * scores
    return numbers * engine.arithmetic.bytes


def _seconds(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> float:
    """How long all tokens take, to judge by the first ones; or by the counted products, if those cannot be read.

    What a turn takes however few tokens there are does not grow with them.
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
    """What a turn takes over more tokens, if some of its seconds are fixed."""
    return min(fixed, seconds) + max(seconds - fixed, 0) * more


def _revises(block: Block) -> bool:
    """Whether a later turn asks only where something has changed, so that it takes time in proportion to the tokens."""
    return all(sees_all(head) for layer in block.layers for head in layer.heads)


def _tried(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> list[tuple[float, float]]:
    """For each block how long its first turn takes, and how long another one; counted, if these cannot be read."""
    try:
        return list(_timed(engine, tokens, length))
    except SoftmachineError:
        blocks, pace = engine.transformer.blocks, engine.arithmetic.pace
        return [(pace * _products(block, len(tokens)),) * 2 for block in blocks]


def _timed(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> Iterator[tuple[float, float]]:
    """For each block how long its first turn takes over these tokens, and how long one that is like most others."""
    run = engine.start(length=length)
    stream = run.embedded([tokens])
    for b, block in enumerate(engine.transformer.blocks):
        times = []
        for turn in range(min(block.count(length), 3)):
            began = time.perf_counter()
            stream = run.turn(stream, b, turn)
            times.append(time.perf_counter() - began)
        yield (times[0], times[-1]) if times else (0.0, 0.0)
