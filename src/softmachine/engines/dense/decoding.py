"""Greedy decoding: the token of the largest logit is appended until one stops the run.

Runs with summaries are decoded in segments: after a summary, the model continues from the summary alone, which bounds
the context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.forward_pass import Pass
from softmachine.support.errors import UsageError
from softmachine.theorems.codec import Prompt


def decode(
    engine: DenseEngine,
    prompt: Prompt,
    stops: Callable[[str], bool],
    previous: Sequence[str] = (),
    run: Pass | None = None,
) -> Iterator[str]:
    """Yield the tokens that the model appends to the prompt and the tokens emitted before, the stop token included.

    Args:
        engine: The engine.
        prompt: The prompt.
        stops: Whether a token ends the run.
        previous: The tokens emitted before.
        run: The pass of an earlier context, which is rewound and used again; by default a new one.

    Raises:
        UsageError: If the model is not causal.
    """
    transformer = engine.transformer
    if not transformer.is_causal:
        raise UsageError(f"{transformer.name!r} looks ahead or needs the length, so it cannot decode token by token")
    run = run or engine.start()
    run.rewind(0)
    tokens = [*prompt.tokens, *previous]
    while True:
        for token in run.predict_next(tokens, stops):
            yield token
            if stops(token):
                return
            tokens.append(token)


def predict_teacher_forced(
    engine: DenseEngine, prompt: Prompt, tokens: Sequence[str], chunk_size: int, single_from: int | None = None
) -> Iterator[str]:
    """Yield the model's prediction after the prompt and after each of the given tokens (teacher forcing).

    If the predictions equal the tokens, :func:`decode` generates them: every token follows from those before. Reading
    ``chunk_size`` tokens per pass is much faster than decoding; tokens from index ``single_from`` are read one by one,
    so that an error is raised at its token.
    """
    run = engine.start()
    sequence = (*prompt.tokens, *tokens)
    first = len(prompt.tokens) - 1
    careful = len(sequence) if single_from is None else first + single_from
    start = 0
    while start < len(sequence):
        end = min(start + chunk_size, careful) if start < careful else start + 1
        stream = run.extend([sequence[start:end]])
        decoded = stream[:, max(first - start, 0) :]
        if decoded.shape[1]:
            for index in run.argmax_outputs(decoded)[0]:
                yield engine.transformer.outputs[int(index)]
        start = end


@dataclass(frozen=True)
class SegmentToken:
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
    previous: Sequence[str] = (),
) -> Iterator[SegmentToken]:
    """Yield the tokens that the model emits, segment after segment.

    Args:
        engine: The engine.
        prompt: The prompt of the first segment.
        stops: Whether a token ends the run.
        begins: Whether a token begins a summary.
        ends: Whether a token ends a summary. The summary, both tokens included, becomes the next prompt.
        previous: The tokens emitted before, in all segments.
    """
    segment, before, summary = 0, list[str](), list[str]()
    for token in previous:
        before.append(token)
        summary = _extend_summary(summary, token, begins)
        if ends(token):
            prompt, before, summary = Prompt(tuple(summary)), [], []
            segment += 1

    def over(token: str) -> bool:
        return stops(token) or ends(token)

    run = engine.start()
    while True:
        following = decode(engine, prompt, over, before, run)
        for count, token in enumerate(following, len(before) + 1):
            yield SegmentToken(token, segment, len(prompt.tokens) + count)
            if stops(token):
                return
            summary = _extend_summary(summary, token, begins)
        prompt, before, summary = Prompt(tuple(summary)), [], []
        segment += 1


def context_lengths(
    prompt: Prompt, previous: Sequence[str], begins: Callable[[str], bool], ends: Callable[[str], bool]
) -> list[int]:
    """Return the context length of each segment that has emitted tokens."""
    lengths, start, summary = list[int](), len(prompt.tokens), list[str]()
    count = 0
    for token in previous:
        count += 1
        lengths[len(lengths) - (count > 1) :] = [start + count]
        summary = _extend_summary(summary, token, begins)
        if ends(token):
            start, count, summary = len(summary), 0, []
    return lengths


def _extend_summary(summary: list[str], token: str, begins: Callable[[str], bool]) -> list[str]:
    """Extend the summary in progress, if any, by a token; a summary may begin with it."""
    if begins(token):
        return [token]
    if summary:
        summary.append(token)
    return summary
