"""Attention patterns as page data: chosen keys at all positions or, in a window, also the retrieved vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softmachine.engines.fast.analysis.grids import Declined
from softmachine.engines.fast.audit import Found, found
from softmachine.engines.fast.engine import FastEngine
from softmachine.inspection.choices import Spans
from softmachine.inspection.page.numbers import Json, number
from softmachine.inspection.page.shown import Shown
from softmachine.inspection.page.weights import is_uniform
from softmachine.support.errors import UsageError
from softmachine.transformer.weights import Head, Transformer


def chosen(shown: Shown) -> Json:
    """For every layer, loops unrolled, and every head in it: its keys at each position, or null.

    Uniform and soft heads have none. A single key is encoded as the difference from the last one, several keys as the
    start and the length of each interval.
    """
    transformer = shown.inspection.transformer
    if shown.window.start:
        return _far(shown)
    if not any(map(_chooses, transformer.heads)):
        return []
    watched = shown.inspection.chosen(shown.tokens)
    patterns = {(p.stage.layer, max(p.stage.turn, 1), p.index): p for p in watched}
    layers: list[Json] = []
    for layer, turn, heads in _layers(transformer, shown.length):
        found = [patterns[layer, turn, k] if _chooses(head) else None for k, head in enumerate(heads)]
        layers.append([None if pattern is None else {"keys": _coded(pattern.rows)} for pattern in found])
    return layers


def _chooses(head: Head) -> bool:
    return head.weighting.hard and not is_uniform(head)


def _layers(transformer: Transformer, length: int | None) -> Iterator[tuple[int, int, Sequence[Head]]]:
    """All layers with loops unrolled: the number, the iteration and the heads of each."""
    first = 1
    for block in transformer.blocks:
        for turn in range(1, block.count(length) + 1):
            for depth, layer in enumerate(block.layers):
                yield first + depth, turn, layer.heads
        first += len(block.layers)


def _coded(rows: Sequence[Spans | None]) -> list[Json]:
    coded: list[Json] = []
    last = 0
    for spans in rows:
        if spans is None:
            coded.append(None)
            continue
        if len(spans) == 1 and spans[0][1] - spans[0][0] == 1:
            coded.append(spans[0][0] - last)
        else:
            stretches: list[Json] = [item for first, end in spans for item in (first, end - first)]
            coded.append(stretches)
        last = spans[0][0] if spans else last
    return coded


def _far(shown: Shown) -> Json:
    """The same for a window that does not start at 0, with the retrieved vectors, since the page lacks earlier keys."""
    transformer, positions = shown.inspection.transformer, shown.window
    try:
        engine = FastEngine(transformer)
    except Declined as reason:
        raise UsageError(
            f"only the first positions can be shown: {reason}", hint="choose a step near the beginning"
        ) from None
    heads = iter(found(engine.start(shown.read[: positions.stop + 1]), positions))
    return [[_told(next(heads), head) for head in layer] for _, _, layer in _layers(transformer, shown.length)]


def _told(positions: Sequence[Found | None], head: Head) -> Json:
    values: list[Json] = []
    keys: list[Spans | None] = []
    for one in positions:
        if one is None or None in one.values:
            raise UsageError(
                f"only the first positions can be shown: the fast engine does not compute head {head.name!r}",
                hint="choose a step near the beginning",
            )
        values.append([number(value) for value in one.values if value is not None])
        keys.append(tuple((key, key + 1) for key in one.keys) if len(one.keys) == one.count else None)
    return {"keys": None if is_uniform(head) else _coded(keys), "values": values}
