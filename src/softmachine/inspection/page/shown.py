"""Which part of a run a page shows: all of it if it fits, else a window around the position that it opens at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.inspection.contexts import Context
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.page.soft import MOST_SOFT
from softmachine.languages.scene import Stretch
from softmachine.support.errors import UsageError
from softmachine.theorems.codec import AnsweringCodec, DecoderCodec

MOST_POSITIONS = 12_000
"""A context with more of them is not shown as a whole."""
MOST_CHOICES = 400_000
"""Positions times heads, in all turns of loops; with more, fewer positions are shown."""
WINDOW = 800
"""So many positions are shown around one that is far from the beginning."""


@dataclass(frozen=True)
class Shown:
    """A stretch of one context of a run.

    Args:
        inspection: The run.
        context: The context.
        window: The places in it that are shown, counted from its beginning.
        opens: The place that the page opens at; None if nobody chose one.
    """

    inspection: Inspection
    context: Context
    window: range
    opens: int | None

    @cached_property
    def read(self) -> list[str]:
        """All tokens of the context that the model read."""
        return _read(self.inspection, self.context)

    @property
    def tokens(self) -> list[str]:
        """Those that are shown."""
        return self.read[self.window.start : self.window.stop]

    @property
    def length(self) -> int | None:
        """The length n that the model was told."""
        return self.inspection.run.prompt.length

    @property
    def decodes(self) -> bool:
        """Whether the model goes on, token by token."""
        return self.inspection.contexts.decodes

    @property
    def given(self) -> int:
        """How many tokens of the context were given."""
        return len(self.context.prompt)

    def said(self) -> list[str]:
        """What the model says at every place; nothing where nobody listens."""
        offset, contexts = self.context.start - self.given, self.inspection.contexts
        heard = self.given - 1 if self.decodes else 0
        return [(contexts.said(place + offset) or "") if place >= heard else "" for place in self.window]

    def heard(self) -> list[int]:
        """The places at which it matters what is said, counted from the first that is shown."""
        codec, run = self.inspection.run.model.codec, self.inspection.run
        if not isinstance(codec, AnsweringCodec):
            return [place - self.window.start for place in self.window if place >= self.given - 1]
        return [place for place, wanted in enumerate(codec.expected(run.outcome.word, 0)) if wanted is not None]

    def steps(self) -> Iterator[int | None]:
        """The step of the source language that is decided at each place; None where none is."""
        codec, said = self.inspection.run.model.codec, self.inspection.run.tokens
        if not isinstance(codec, DecoderCodec):
            return
        first = self.context.first + self.window.start - self.given + 1
        count = sum(map(codec.is_step, said[: max(first, self.context.first)])) - codec.announces
        for place in self.window:
            number = self.context.first + place - self.given + 1
            step = self.context.first <= number < len(said) and codec.is_step(said[number])
            count += step
            yield count if step else None

    def stretch(self) -> Stretch:
        """The same for whoever draws the run in the terms of its source."""
        first, end, said = self.window.start, self.window.stop, self.inspection.run.tokens
        before = said[: self.context.first + max(first - self.given, 0)]
        return Stretch(self.tokens, first, max(end - max(first, self.given), 0) if self.decodes else 0, before)

    def left_out(self) -> Iterator[str]:
        """What the page does not show, if anything."""
        run = self.inspection.run
        if len(run.segments) > 1:
            yield f"context {self.context.segment + 1:,} of {len(run.segments):,}: the model goes on from summaries"
        if len(self.window) < len(self.read):
            yield f"positions {self.window.start:,} to {self.window.stop - 1:,} of {len(self.read):,}"


def shown(inspection: Inspection, position: int | None) -> Shown:
    """What a page has room for, around a position of the run if one is chosen.

    Raises:
        UsageError: If that cannot be shown.
    """
    contexts = inspection.contexts
    context = contexts.of(len(contexts.prompt) - 1 if position is None else inspection.index(position))
    tokens = _read(inspection, context)
    place = None if position is None else context.place(inspection.index(position))
    room = _room(inspection)
    if len(tokens) <= room:
        window = range(len(tokens))
    elif inspection.looks_ahead or not contexts.decodes:
        raise UsageError(
            f"a page has room for {room:,} positions of this model, and the run has {len(tokens):,}",
            hint="choose a shorter input",
        )
    elif inspection.soft and (place or 0) >= room:
        raise UsageError(f"soft attention is shown at the first {room:,} positions, and this is {place:,}")
    else:
        window = _around(place or 0, len(tokens), room)
    if not tokens:
        raise UsageError("there is nothing to show: the model has read nothing")
    return Shown(inspection, context, window, place)


def _read(inspection: Inspection, context: Context) -> list[str]:
    """The tokens of a context after which something is said in it; the end of a summary is read by the next one."""
    tokens = inspection.contexts.tokens(context)
    return tokens[:-1] if context.last < len(inspection.run.tokens) else tokens


def _room(inspection: Inspection) -> int:
    """How many positions from the beginning are shown at most."""
    transformer, length = inspection.transformer, inspection.run.prompt.length
    if inspection.soft or transformer.rooted or any(head.bias is not None for head in transformer.heads):
        return MOST_SOFT  # relations of positions are told for every pair
    heads = sum(len(layer.heads) for layer in transformer.unrolled(length))
    return max(1, min(MOST_POSITIONS, MOST_CHOICES // max(heads, 1)))


def _around(place: int, count: int, room: int) -> range:
    """The beginning, if the place is in it; else a window that it is in the middle of."""
    if place < room:
        return range(room)
    first = min(place - WINDOW // 2, count - WINDOW)
    return range(first, first + WINDOW)


def names_of(tokens: Sequence[str]) -> dict[str, int]:
    """The different tokens, numbered."""
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}
