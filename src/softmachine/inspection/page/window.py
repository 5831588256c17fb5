"""Visible window of a page: the whole run if it fits, else a window around the position at which it opens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.inspection.contexts import Context
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.page.model_json import MAX_SOFT_POSITIONS
from softmachine.languages.run_view import TokenWindow
from softmachine.support.errors import UsageError
from softmachine.theorems.codec import AnsweringCodec, DecoderCodec

MAX_POSITIONS = 12_000
"""The largest context that is shown as a whole."""
MAX_PATTERN_ENTRIES = 400_000
"""The largest number of positions times heads, loops unrolled; it limits the number of positions."""
WINDOW_SIZE = 800
"""The number of positions shown around one that is far from the beginning."""


@dataclass(frozen=True)
class Window:
    """A window of one context of a run.

    Args:
        inspection: The run.
        context: The context.
        positions: The positions that are shown, counted from the beginning of the context.
        initial_position: The position at which the page opens; None for the default.
    """

    inspection: Inspection
    context: Context
    positions: range
    initial_position: int | None

    @cached_property
    def all_tokens(self) -> list[str]:
        """All tokens of the context that the model reads."""
        return _read_tokens(self.inspection, self.context)

    @property
    def tokens(self) -> list[str]:
        """The tokens that are shown."""
        return self.all_tokens[self.positions.start : self.positions.stop]

    @property
    def length(self) -> int | None:
        """The length n of the input, if the model uses it."""
        return self.inspection.run.prompt.length

    @property
    def is_decoder(self) -> bool:
        """Whether the model is autoregressive."""
        return self.inspection.contexts.is_decoder

    @property
    def prompt_length(self) -> int:
        """The number of tokens of the prompt."""
        return len(self.context.prompt)

    def outputs(self) -> list[str]:
        """The output at every position; empty before the end of the prompt."""
        offset, contexts = self.context.start - self.prompt_length, self.inspection.contexts
        heard = self.prompt_length - 1 if self.is_decoder else 0
        return [(contexts.output_at(place + offset) or "") if place >= heard else "" for place in self.positions]

    def constrained_positions(self) -> list[int]:
        """The positions whose output is constrained, counted from the first one shown."""
        codec, run = self.inspection.run.model.codec, self.inspection.run
        if not isinstance(codec, AnsweringCodec):
            return [place - self.positions.start for place in self.positions if place >= self.prompt_length - 1]
        return [place for place, wanted in enumerate(codec.expected(run.outcome.word, 0)) if wanted is not None]

    def steps(self) -> Iterator[int | None]:
        """The step of the source language that is decided at each position; None where none is."""
        codec, output = self.inspection.run.model.codec, self.inspection.run.tokens
        if not isinstance(codec, DecoderCodec):
            return
        first = self.context.output_start + self.positions.start - self.prompt_length + 1
        count = sum(map(codec.is_step, output[: max(first, self.context.output_start)])) - codec.has_initial_token
        for place in self.positions:
            number = self.context.output_start + place - self.prompt_length + 1
            step = self.context.output_start <= number < len(output) and codec.is_step(output[number])
            count += step
            yield count if step else None

    def token_window(self) -> TokenWindow:
        """The window as the source language's view of the run takes it."""
        first, end, output = self.positions.start, self.positions.stop, self.inspection.run.tokens
        before = output[: self.context.output_start + max(first - self.prompt_length, 0)]
        return TokenWindow(
            self.tokens, first, max(end - max(first, self.prompt_length), 0) if self.is_decoder else 0, before
        )

    def omission_notes(self) -> Iterator[str]:
        """Sentences about the parts of the run that the page does not show."""
        run = self.inspection.run
        if len(run.segments) > 1:
            yield f"context {self.context.segment + 1:,} of {len(run.segments):,}: the model resumes from summaries"
        if len(self.positions) < len(self.all_tokens):
            yield f"positions {self.positions.start:,} to {self.positions.stop - 1:,} of {len(self.all_tokens):,}"


def choose_window(inspection: Inspection, position: int | None) -> Window:
    """The window of a page, around a position of the run if one is given.

    Raises:
        UsageError: If the page cannot show it.
    """
    contexts = inspection.contexts
    context = contexts.context_at(
        len(contexts.prompt) - 1 if position is None else inspection.resolve_position(position)
    )
    tokens = _read_tokens(inspection, context)
    place = None if position is None else context.local_position(inspection.resolve_position(position))
    room = _max_positions(inspection)
    if len(tokens) <= room:
        window = range(len(tokens))
    elif inspection.is_bidirectional or not contexts.is_decoder:
        raise UsageError(
            f"a page can show {room:,} positions of this model, and the run has {len(tokens):,}",
            hint="choose a shorter input",
        )
    elif inspection.has_soft_attention and (place or 0) >= room:
        raise UsageError(f"soft attention is shown at the first {room:,} positions, and this is {place:,}")
    else:
        window = _centre_window(place or 0, len(tokens), room)
    if not tokens:
        raise UsageError("there is nothing to show: the model has read no tokens")
    return Window(inspection, context, window, place)


def _read_tokens(inspection: Inspection, context: Context) -> list[str]:
    """The tokens of a context after which it emits one; the end of a summary is read by the next context."""
    tokens = inspection.contexts.tokens_of(context)
    return tokens[:-1] if context.output_end < len(inspection.run.tokens) else tokens


def _max_positions(inspection: Inspection) -> int:
    """The largest number of positions from the beginning that are shown."""
    transformer, length = inspection.transformer, inspection.run.prompt.length
    if (
        inspection.has_soft_attention
        or transformer.first_group_normalised_unit
        or any(head.bias is not None for head in transformer.heads)
    ):
        return MAX_SOFT_POSITIONS  # relative biases are stored for every pair
    heads = sum(len(layer.heads) for layer in transformer.iterate_layers(length))
    return max(1, min(MAX_POSITIONS, MAX_PATTERN_ENTRIES // max(heads, 1)))


def _centre_window(place: int, count: int, room: int) -> range:
    """The beginning, if it contains the position; else a window with the position in its middle."""
    if place < room:
        return range(room)
    first = min(place - WINDOW_SIZE // 2, count - WINDOW_SIZE)
    return range(first, first + WINDOW_SIZE)


def number_tokens(tokens: Sequence[str]) -> dict[str, int]:
    """The different tokens, numbered."""
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}
