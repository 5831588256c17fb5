"""The contexts of a run, and the part of each that a page has room for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from softmachine.codec import DecoderCodec, SegmentedCodec
from softmachine.engines.result import Run
from softmachine.languages.scene import Stretch


@dataclass(frozen=True)
class Context:
    """A sequence that the model read, and what it said.

    Args:
        tokens: The tokens, given and said.
        given: How many of them were given: the prompt, or the summary that it goes on from.
        read: How many of them the model read; the last one that it said it did not.
        answers: What it said at each position, if it answers at once; else what it said is the next token.
        length: The length n that it was told.
        before: What was said in earlier contexts.
    """

    tokens: Sequence[str]
    given: int
    read: int
    answers: Sequence[str] | None = None
    length: int | None = None
    before: Sequence[str] = ()

    def said_at(self, position: int) -> str:
        """What the model said at a position that it read; nobody listens while it reads what is given."""
        if self.answers is not None:
            return self.answers[position]
        return self.tokens[position + 1] if position + 1 < len(self.tokens) else ""

    def stretch(self, first: int, end: int) -> Stretch:
        """The tokens from one position to another, and what was said before."""
        said = max(end - max(first, self.given), 0) if self.answers is None else 0
        before = [*self.before, *self.tokens[self.given : first]] if first > self.given else self.before
        return Stretch(self.tokens[first:end], first, said, before)


def contexts(run: Run) -> list[Context]:
    """The contexts of a run, in order: one, unless the model goes on from summaries."""
    codec, prompt = run.model.codec, run.prompt
    if not isinstance(codec, DecoderCodec):
        return [Context(prompt.tokens, len(prompt.tokens), len(prompt.tokens), run.tokens, prompt.length)]
    if isinstance(codec, SegmentedCodec):
        return list(_segments(codec, prompt.tokens, run.tokens))
    said = run.tokens
    tokens = [*prompt.tokens, *said]
    return [Context(tokens, len(prompt.tokens), len(tokens) - bool(len(said)))]


def _segments(codec: SegmentedCodec, prompt: Sequence[str], said: Sequence[str]) -> Iterator[Context]:  # type: ignore[type-arg]
    """A context a segment: the next one goes on from the summary with which it ended."""
    tokens, begun, summary = list(prompt), 0, list[str]()
    for count, token in enumerate(said, 1):
        tokens.append(token)
        if codec.segment_begins(token):
            summary = []
        summary.append(token)
        if codec.segment_ends(token):
            given = len(tokens) - (count - begun)
            yield Context(tokens, given, len(tokens) - 1, before=said[:begun])
            tokens, begun = list(summary), count
    if begun < len(said) or not len(said):
        given = len(tokens) - (len(said) - begun)
        yield Context(tokens, given, len(tokens) - bool(len(said)), before=said[:begun])
