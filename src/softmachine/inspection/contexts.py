"""Contexts of a run: one token sequence, or one per segment in runs that resume from summaries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.engines.result import Run
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec


@dataclass(frozen=True)
class Context:
    """A token sequence that a model reads.

    Args:
        segment: Its index, from 0.
        prompt: The tokens that it begins with.
        output_start: The number of tokens that the run emits before its first one.
        output_end: The number of tokens that the run emits up to its end.
        start: The position in the whole run of its first token after the prompt.
    """

    segment: int
    prompt: Sequence[str]
    output_start: int
    output_end: int
    start: int

    def local_position(self, position: int) -> int:
        """The index in this context of a position of the run."""
        return len(self.prompt) + position - self.start


class Contexts:
    """All positions of a run, counted from 0 over the prompt and the output.

    A model reads each emitted token except the last. The end of a summary is read as the end of the next prompt: the
    next token depends on the summary only.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.prompt = run.prompt.tokens
        self.is_decoder = isinstance(run.model.codec, DecoderCodec)

    def __len__(self) -> int:
        read = max(0, len(self.run.tokens) - 1) if self.is_decoder else 0
        return len(self.prompt) + read

    @cached_property
    def _all(self) -> list[Context]:
        codec, emitted = self.run.model.codec, self.run.tokens
        if not isinstance(codec, SegmentedCodec):
            return [Context(0, self.prompt, 0, len(emitted), len(self.prompt))]
        found, prompt, first, begin = list[Context](), self.prompt, 0, 0
        for k, token in enumerate(emitted):
            if codec.begins_segment(token):
                begin = k
            if codec.ends_segment(token):
                found.append(Context(len(found), prompt, first, k + 1, len(self.prompt) + first))
                prompt, first = tuple(emitted[begin : k + 1]), k + 1
        return [*found, Context(len(found), prompt, first, len(emitted), len(self.prompt) + first)]

    def context_at(self, position: int) -> Context:
        """The context in which a position is read and the next token emitted."""
        starts = [context.start for context in self._all]
        return self._all[max(bisect_right(starts, position + 1) - 1, 0)]

    def tokens_of(self, context: Context) -> list[str]:
        """All tokens of a context that the model reads."""
        if not self.is_decoder:
            return list(context.prompt)
        read = min(context.output_end, max(len(self.run.tokens) - 1, context.output_start))
        return [*context.prompt, *self.run.tokens[context.output_start : read]]

    def token_at(self, position: int) -> str:
        """The token at a position."""
        prompt = len(self.prompt)
        return self.prompt[position] if position < prompt else self.run.tokens[position - prompt]

    def output_at(self, position: int) -> str | None:
        """The output of the run at a position: a decoder's next token, an encoder's answer; None where it has none."""
        if not self.is_decoder:
            return self.run.tokens[position]
        number = position - len(self.prompt) + 1
        return self.run.tokens[number] if 0 <= number < len(self.run.tokens) else None
