"""What a pass of the dense engine will take: counted in products, timed on the first tokens.

A pass over n tokens makes about n · (weights that are not 0) products in its maps, and n² · (d + e) in a head with keys
of d and values of e numbers; a loop makes them again in every turn. Memory grows with n and the turns.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from softmachine.engines.dense.attention import FEWEST, MOST_SCORES
from softmachine.engines.dense.engine import DenseEngine
from softmachine.errors import SoftmachineError
from softmachine.estimates import Estimate, allow
from softmachine.text import many
from softmachine.transformer.weights import Block, Layer

SHORT = 20.0
"""Passes that cannot take more seconds than this are begun without further ado."""
TRIED = 0.5
"""So many seconds, at most, a first part of a long pass is tried."""
BIAS = 20
"""The exact bias of a pair of positions takes as long as so many products."""
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


def _products(block: Block, count: int) -> int:
    """How many products one turn makes over so many tokens."""
    return sum(count * _linear(layer) + count**2 * _quadratic(layer) for layer in block.layers)


def _linear(layer: Layer) -> int:
    """The products for a token: every weight that is not 0 takes part once."""
    parts = [part for head in layer.heads for part in (head.query.weight, head.key.weight, head.value.weight)]
    parts += [head.output for head in layer.heads]
    return sum(part.nonzeros for part in (*parts, layer.feed_forward.first.weight, layer.feed_forward.second.weight))


def _quadratic(layer: Layer) -> int:
    """The products for a pair of tokens; one for what else is to be done with its score."""
    return sum(
        1 + len(head.key.bias) + len(head.value.bias) + (0 if head.bias is None else BIAS) for head in layer.heads
    )


def _memory(engine: DenseEngine, count: int, length: int | None) -> int:
    """The bytes for so many tokens: the stream, keys and values of all turns, and the scores of a few positions."""
    transformer = engine.transformer
    kept = sum(
        block.count(length) * sum(len(head.key.bias) + len(head.value.bias) for head in layer.heads)
        for block in transformer.blocks
        for layer in block.layers
    )
    widest = max((len(layer.feed_forward.units) + len(layer.heads) for layer in transformer.layers), default=0)
    scores = min(count * count, max(MOST_SCORES, FEWEST * count))
    numbers = count * (kept + AT_ONCE * (transformer.width + widest)) + AT_ONCE * scores
    return numbers * engine.arithmetic.bytes


def _seconds(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> float:
    """How long all tokens take, to judge by the first ones; or by the counted products, if those cannot be read."""
    blocks, pace = engine.transformer.blocks, engine.arithmetic.pace
    some = len(tokens)
    while some > 1 and sum(_products(block, some) for block in blocks) * pace > TRIED:
        some //= 2
    try:
        timed = list(_timed(engine, tokens[:some], length))
    except SoftmachineError:
        timed = [(pace * _products(block, some),) * 2 for block in blocks]
    total = 0.0
    for block, (first, again) in zip(blocks, timed, strict=True):
        more = _products(block, len(tokens)) / max(1, _products(block, some))
        turns = block.count(length)
        total += more * (min(turns, 1) * first + max(turns - 1, 0) * again)
    return total


def _timed(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> Iterator[tuple[float, float]]:
    """For each block how long its first turn takes over these tokens, and how long another one."""
    run = engine.start(length=length)
    stream = run.embedded([tokens])
    for b, block in enumerate(engine.transformer.blocks):
        times = []
        for turn in range(min(block.count(length), 2)):
            began = time.perf_counter()
            stream = run.turn(stream, b, turn)
            times.append(time.perf_counter() - began)
        yield (times[0], times[-1]) if times else (0.0, 0.0)
