"""What a model read at each position of a run: one sequence, or in runs that go on from summaries one a segment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.engines.result import Run
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec


@dataclass(frozen=True)
class Context:
    """A sequence that a model read.

    Args:
        segment: Its number, from 0 on.
        prompt: What it begins with.
        first: How many tokens of the run were said before its first one.
        last: How many were said up to its end.
        start: The position, of those of the whole run, of its first token after the prompt.
    """

    segment: int
    prompt: Sequence[str]
    first: int
    last: int
    start: int

    def place(self, position: int) -> int:
        """Where a position of the run is in it."""
        return len(self.prompt) + position - self.start


class Contexts:
    """All positions of a run. They count from 0 over the prompt and all that was said.

    A model reads a token after it was said; the one that was said last is not read. The end of a summary is read as the
    end of the next prompt: what is said next follows from the summary alone.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.prompt = run.prompt.tokens
        self.decodes = isinstance(run.model.codec, DecoderCodec)

    def __len__(self) -> int:
        read = max(0, len(self.run.tokens) - 1) if self.decodes else 0
        return len(self.prompt) + read

    @cached_property
    def _all(self) -> list[Context]:
        codec, said = self.run.model.codec, self.run.tokens
        if not isinstance(codec, SegmentedCodec):
            return [Context(0, self.prompt, 0, len(said), len(self.prompt))]
        found, prompt, first, begin = list[Context](), self.prompt, 0, 0
        for k, token in enumerate(said):
            if codec.segment_begins(token):
                begin = k
            if codec.segment_ends(token):
                found.append(Context(len(found), prompt, first, k + 1, len(self.prompt) + first))
                prompt, first = tuple(said[begin : k + 1]), k + 1
        return [*found, Context(len(found), prompt, first, len(said), len(self.prompt) + first)]

    def of(self, position: int) -> Context:
        """The context in which a position was read, and the next token said."""
        starts = [context.start for context in self._all]
        return self._all[max(bisect_right(starts, position + 1) - 1, 0)]

    def tokens(self, context: Context) -> list[str]:
        """All tokens of a context that were read."""
        if not self.decodes:
            return list(context.prompt)
        read = min(context.last, max(len(self.run.tokens) - 1, context.first))
        return [*context.prompt, *self.run.tokens[context.first : read]]

    def token(self, position: int) -> str:
        """The token at a position."""
        prompt = len(self.prompt)
        return self.prompt[position] if position < prompt else self.run.tokens[position - prompt]

    def said(self, position: int) -> str | None:
        """What the run has from a position: a decoder's next token, an encoder's answer; None where nobody listened."""
        if not self.decodes:
            return self.run.tokens[position]
        number = position - len(self.prompt) + 1
        return self.run.tokens[number] if 0 <= number < len(self.run.tokens) else None
