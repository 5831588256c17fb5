"""Decoding in segments: after a summary, the model continues from the summary alone, which bounds the context."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from softmachine.engines.dense.decode import decode
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.guessing import Draft
from softmachine.theorems.codec import Prompt


@dataclass(frozen=True)
class Said:
    """An emitted token and its segment.

    Args:
        token: The token.
        segment: The index of the segment, from 0.
        positions: The length of the segment's context, prompt and this token included.
    """

    token: str
    segment: int
    positions: int


def decode_segments(
    engine: DenseEngine,
    prompt: Prompt,
    stops: Callable[[str], bool],
    begins: Callable[[str], bool],
    ends: Callable[[str], bool],
    said: Sequence[str] = (),
) -> Iterator[Said]:
    """Yield the tokens that the model emits, segment after segment.

    Args:
        engine: The engine.
        prompt: The prompt of the first segment.
        stops: Whether a token ends the run.
        begins: Whether a token begins a summary.
        ends: Whether a token ends a summary. The summary, both tokens included, becomes the next prompt.
        said: The tokens emitted before, in all segments.
    """
    segment, before, summary = 0, list[str](), list[str]()
    for token in said:
        before.append(token)
        summary = _summary(summary, token, begins)
        if ends(token):
            prompt, before, summary = Prompt(tuple(summary)), [], []
            segment += 1

    def over(token: str) -> bool:
        return stops(token) or ends(token)

    draft = Draft(engine, over)
    while True:
        following = decode(engine, prompt, over, before, draft)
        for count, token in enumerate(following, len(before) + 1):
            yield Said(token, segment, len(prompt.tokens) + count)
            if stops(token):
                return
            summary = _summary(summary, token, begins)
        prompt, before, summary = Prompt(tuple(summary)), [], []
        segment += 1


def contexts(
    prompt: Prompt, said: Sequence[str], begins: Callable[[str], bool], ends: Callable[[str], bool]
) -> list[int]:
    """Return the context length of each segment that has emitted tokens."""
    lengths, start, summary = list[int](), len(prompt.tokens), list[str]()
    count = 0
    for token in said:
        count += 1
        lengths[len(lengths) - (count > 1) :] = [start + count]
        summary = _summary(summary, token, begins)
        if ends(token):
            start, count, summary = len(summary), 0, []
    return lengths


def _summary(summary: list[str], token: str, begins: Callable[[str], bool]) -> list[str]:
    """Extend the summary in progress, if any, by a token; a summary may begin with it."""
    if begins(token):
        return [token]
    if summary:
        summary.append(token)
    return summary
