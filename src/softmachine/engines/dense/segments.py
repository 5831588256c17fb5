"""Decoding in segments: a model that writes a summary goes on from it alone, so that its context stays short."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from softmachine.engines.dense.decode import decode
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.guessing import Draft
from softmachine.theorems.codec import Prompt


@dataclass(frozen=True)
class Said:
    """A token, and where it was said.

    Args:
        token: The token.
        segment: The number of the segment, from 0 on.
        positions: How many tokens that segment's context has now, the prompt and this token included.
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
    """The tokens that the model says, segment after segment.

    Args:
        engine: What runs the model.
        prompt: What the first segment starts on.
        stops: Whether the run is over with a token.
        begins: Whether a token begins a summary.
        ends: Whether a token ends one. The summary, both of these included, is the next prompt; nothing else is kept.
        said: What was said before, in all segments.
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
    """How many tokens the context of each segment has in which something was said."""
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
    """The summary that is being written, if one is, with one more token."""
    if begins(token):
        return [token]
    if summary:
        summary.append(token)
    return summary
