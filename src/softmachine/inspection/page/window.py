"""Visible window of a page: the whole run if it fits, else a window around the position at which it opens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.inspection.contexts import Context
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.page.model_json import MOST_SOFT
from softmachine.languages.run_view import Stretch
from softmachine.support.errors import UsageError
from softmachine.theorems.codec import AnsweringCodec, DecoderCodec

MOST_POSITIONS = 12_000
"""The largest context that is shown as a whole."""
MOST_CHOICES = 400_000
"""The largest number of positions times heads, loops unrolled; it limits the number of positions."""
WINDOW = 800
"""The number of positions shown around one that is far from the beginning."""


@dataclass(frozen=True)
class Shown:
    """A window of one context of a run.

    Args:
        inspection: The run.
        context: The context.
        window: The positions that are shown, counted from the beginning of the context.
        opens: The position at which the page opens; None for the default.
    """

    inspection: Inspection
    context: Context
    window: range
    opens: int | None

    @cached_property
    def read(self) -> list[str]:
        """All tokens of the context that the model reads."""
        return _read(self.inspection, self.context)

    @property
    def tokens(self) -> list[str]:
        """The tokens that are shown."""
        return self.read[self.window.start : self.window.stop]

    @property
    def length(self) -> int | None:
        """The length n of the input, if the model uses it."""
        return self.inspection.run.prompt.length

    @property
    def decodes(self) -> bool:
        """Whether the model is autoregressive."""
        return self.inspection.contexts.decodes

    @property
    def given(self) -> int:
        """The number of tokens of the prompt."""
        return len(self.context.prompt)

    def said(self) -> list[str]:
        """The output at every position; empty before the end of the prompt."""
        offset, contexts = self.context.start - self.given, self.inspection.contexts
        heard = self.given - 1 if self.decodes else 0
        return [(contexts.said(place + offset) or "") if place >= heard else "" for place in self.window]

    def heard(self) -> list[int]:
        """The positions whose output is constrained, counted from the first one shown."""
        codec, run = self.inspection.run.model.codec, self.inspection.run
        if not isinstance(codec, AnsweringCodec):
            return [place - self.window.start for place in self.window if place >= self.given - 1]
        return [place for place, wanted in enumerate(codec.expected(run.outcome.word, 0)) if wanted is not None]

    def steps(self) -> Iterator[int | None]:
        """The step of the source language that is decided at each position; None where none is."""
        codec, output = self.inspection.run.model.codec, self.inspection.run.tokens
        if not isinstance(codec, DecoderCodec):
            return
        first = self.context.first + self.window.start - self.given + 1
        count = sum(map(codec.is_step, output[: max(first, self.context.first)])) - codec.announces
        for place in self.window:
            number = self.context.first + place - self.given + 1
            step = self.context.first <= number < len(output) and codec.is_step(output[number])
            count += step
            yield count if step else None

    def stretch(self) -> Stretch:
        """The window as the source language's view of the run takes it."""
        first, end, output = self.window.start, self.window.stop, self.inspection.run.tokens
        before = output[: self.context.first + max(first - self.given, 0)]
        return Stretch(self.tokens, first, max(end - max(first, self.given), 0) if self.decodes else 0, before)

    def left_out(self) -> Iterator[str]:
        """Sentences about the parts of the run that the page does not show."""
        run = self.inspection.run
        if len(run.segments) > 1:
            yield f"context {self.context.segment + 1:,} of {len(run.segments):,}: the model resumes from summaries"
        if len(self.window) < len(self.read):
            yield f"positions {self.window.start:,} to {self.window.stop - 1:,} of {len(self.read):,}"


def shown(inspection: Inspection, position: int | None) -> Shown:
    """The window of a page, around a position of the run if one is given.

    Raises:
        UsageError: If the page cannot show it.
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
            f"a page can show {room:,} positions of this model, and the run has {len(tokens):,}",
            hint="choose a shorter input",
        )
    elif inspection.soft and (place or 0) >= room:
        raise UsageError(f"soft attention is shown at the first {room:,} positions, and this is {place:,}")
    else:
        window = _around(place or 0, len(tokens), room)
    if not tokens:
        raise UsageError("there is nothing to show: the model has read no tokens")
    return Shown(inspection, context, window, place)


def _read(inspection: Inspection, context: Context) -> list[str]:
    """The tokens of a context after which it emits one; the end of a summary is read by the next context."""
    tokens = inspection.contexts.tokens(context)
    return tokens[:-1] if context.last < len(inspection.run.tokens) else tokens


def _room(inspection: Inspection) -> int:
    """The largest number of positions from the beginning that are shown."""
    transformer, length = inspection.transformer, inspection.run.prompt.length
    if inspection.soft or transformer.rooted or any(head.bias is not None for head in transformer.heads):
        return MOST_SOFT  # relative biases are stored for every pair
    heads = sum(len(layer.heads) for layer in transformer.unrolled(length))
    return max(1, min(MOST_POSITIONS, MOST_CHOICES // max(heads, 1)))


def _around(place: int, count: int, room: int) -> range:
    """The beginning, if it contains the position; else a window with the position in its middle."""
    if place < room:
        return range(room)
    first = min(place - WINDOW // 2, count - WINDOW)
    return range(first, first + WINDOW)


def names_of(tokens: Sequence[str]) -> dict[str, int]:
    """The different tokens, numbered."""
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}
