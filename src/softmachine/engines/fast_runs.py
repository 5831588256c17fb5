"""Runs on the fast engine: in one context, or in segments that go on from summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softmachine.codec import Codec, DecoderCodec, Prompt, SegmentedCodec
from softmachine.engines.fast import Audit, Declined, FastEngine, FastPass, SegmentedPass, audit
from softmachine.errors import UsageError
from softmachine.transformer.weights import Transformer

FIRST_PIECE, LARGEST_PIECE = 1 << 12, 1 << 21
"""How many positions the engine computes before it lets others look."""

Pass = FastPass | SegmentedPass


def start(transformer: Transformer, codec: Codec, prompt: Prompt, said: Sequence[str], most_steps: int) -> Pass:
    """A run that goes on from what was said; only in segments, the limit of steps is its own.

    Raises:
        UsageError: If the fast engine cannot do it.
    """
    if not isinstance(codec, DecoderCodec):
        raise UsageError(f"{transformer.name!r} is an encoder; the fast engine decodes", hint="--engine dense")
    try:
        engine = FastEngine(transformer)
    except Declined as reason:
        raise UsageError(f"the fast engine cannot run {transformer.name!r}: {reason}", hint="--engine dense") from None
    if not isinstance(codec, SegmentedCodec):
        return engine.start(prompt.tokens, codec.stops, said)
    return SegmentedPass(engine, codec, prompt.tokens, said, most_steps=most_steps, most_positions=transformer.length)


def advance(run: Pass, end: int) -> Iterator[None]:
    """Let a run go on, piece by piece, until it stops; in one context at the latest when ``end`` positions are read."""
    pieces = _pieces()
    if isinstance(run, SegmentedPass):
        while not run.ended:
            run.go(next(pieces))
            yield
        return
    run.reserve(end)
    while run.stopped_by is None and run.read < end:
        run.go(min(end, run.read + next(pieces)))
        yield


def _pieces() -> Iterator[int]:
    """The sizes of pieces: small at first, so that something is seen early."""
    piece = FIRST_PIECE
    while True:
        yield piece
        piece = min(2 * piece, LARGEST_PIECE)


def outgrown(run: Pass, end: int, wanted: int) -> bool:
    """Whether a run had to end for want of positions: it was to go on to those wanted, and had only ``end``."""
    return run.outgrown if isinstance(run, SegmentedPass) else run.stopped_by is None and end + 1 < wanted


def audited(run: Pass, steps: int, seed: int | None) -> Audit:
    """Random steps done again, with every score computed in exact arithmetic."""
    return audit(run, steps, seed) if isinstance(run, FastPass) else run.audit(steps, seed)
