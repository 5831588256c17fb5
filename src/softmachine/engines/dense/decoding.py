"""Greedy decoding: read the prompt, then append the token of the largest logit until one stops the run.

Decoding in segments: after a summary, the model continues from the summary alone, which bounds the context.

Speculative decoding (Leviathan, Kalman and Matias, 2023): a draft model proposes tokens that one pass verifies.

The draft model has the same weights in floats without error bounds. A pass in the requested arithmetic verifies the
draft, and its tokens are the output, whatever the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from softmachine.engines.dense.draft_model import PlainRun
from softmachine.engines.dense.engine import DenseEngine, Pass
from softmachine.support.errors import SoftmachineError, UsageError
from softmachine.theorems.codec import Prompt

_FROM = 2
"""Decoded tokens before speculation starts; building the draft model costs more than shorter runs gain."""
_FEWEST, _MOST = 16, 128
"""Draft length: starts at the first, doubles after each fully accepted draft, up to the second."""


class Draft:
    """Drafts the next tokens of a decoder, until one is rejected.

    Args:
        engine: The engine that verifies the drafts.
        stops: Whether a token ends the run; a draft ends there, too.
    """

    def __init__(self, engine: DenseEngine, stops: Callable[[str], bool]) -> None:
        self.engine = engine
        self.stops = stops
        self.useful = engine.arithmetic.checks_many
        self._at_once = _FEWEST
        self._run: PlainRun | None = None

    def begin(self) -> None:
        """Start another sequence."""
        self._run = None

    def after(self, tokens: Sequence[str], said: int) -> tuple[str, ...]:
        """Draft the tokens after ``tokens``, ``said`` of which were decoded; empty if speculation does not pay off."""
        if not self.useful or (said < _FROM and not self.engine.has_plain):
            return ()
        guesses: list[str] = []
        try:
            run = self._run = self._run or PlainRun(self.engine.plain)
            new = tokens[run.read :]
            with np.errstate(all="ignore"):
                while len(guesses) < self._at_once and not (guesses and self.stops(guesses[-1])):
                    guesses.append(run.says(new))
                    new = guesses[-1:]
        except SoftmachineError:  # for example, a length that the weights were not compiled for
            self.useful = False
        return tuple(guesses)

    def compare(self, guesses: Sequence[str], said: Sequence[str]) -> None:
        """Stop speculating after the first rejected token."""
        self.useful = self.useful and len(said) > len(guesses)
        if guesses:
            self._at_once = min(2 * self._at_once, _MOST)


PIECE = 1024
"""Tokens of a long prompt per pass, to limit the memory of scores."""


def decode(
    engine: DenseEngine,
    prompt: Prompt,
    stops: Callable[[str], bool],
    said: Sequence[str] = (),
    draft: Draft | None = None,
) -> Iterator[str]:
    """Yield the tokens that the model appends to the prompt and the tokens emitted before, the stop token included.

    Args:
        engine: The engine.
        prompt: The prompt.
        stops: Whether a token ends the run.
        said: The tokens emitted before.
        draft: The speculator of an earlier context, to be continued; by default a new one.

    Raises:
        UsageError: If the model is not causal.
    """
    transformer = engine.transformer
    if not transformer.causal:
        raise UsageError(f"{transformer.name!r} looks ahead or needs the length, so it cannot decode token by token")
    run, draft = engine.start(), draft or Draft(engine, stops)
    draft.begin()
    tokens = [*prompt.tokens, *said]
    while len(tokens) - run.read > PIECE:
        run.extend([tokens[run.read : run.read + PIECE]])
    while True:
        guesses = draft.after(tokens, len(tokens) - len(prompt.tokens))
        found = _checked(run, tokens[run.read :], guesses)
        draft.compare(guesses, found)
        for token in found:
            yield token
            if stops(token):
                return
        tokens += found


def _checked(run: Pass, new: Sequence[str], guesses: Sequence[str]) -> list[str]:
    """Verify a draft: return its accepted tokens and one more token."""
    begin = run.read
    try:
        predicted = run.says([*new, *guesses], 1 + len(guesses))
    except SoftmachineError:
        if not guesses:
            raise
        run.rewind(begin)  # without a draft, so that an error is raised only if the run reaches its token
        return run.says(new)
    right = next((k for k, guess in enumerate(guesses) if guess != predicted[k]), len(guesses))
    run.rewind(begin + len(new) + right)
    return predicted[: right + 1]


def continuation(
    engine: DenseEngine, prompt: Prompt, tokens: Sequence[str], piece: int, careful_from: int | None = None
) -> Iterator[str]:
    """Yield the model's prediction after the prompt and after each of the given tokens (teacher forcing).

    If the predictions equal the tokens, :func:`decode` generates them: every token follows from those before. Reading
    ``piece`` tokens per pass is much faster than decoding; tokens from index ``careful_from`` are read one by one, so
    that an error is raised at its token.
    """
    run = engine.start()
    sequence = (*prompt.tokens, *tokens)
    first = len(prompt.tokens) - 1
    careful = len(sequence) if careful_from is None else first + careful_from
    start = 0
    while start < len(sequence):
        end = min(start + piece, careful) if start < careful else start + 1
        stream = run.extend([sequence[start:end]])
        decoded = stream[:, max(first - start, 0) :]
        if decoded.shape[1]:
            for index in run.decisions(decoded)[0]:
                yield engine.transformer.outputs[int(index)]
        start = end


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
