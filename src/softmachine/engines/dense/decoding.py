"""Greedy decoding: the token of the largest logit is appended until one stops the run.

Runs with summaries are decoded in segments: after a summary, the model continues from the summary alone, which bounds
the context.

Decoding is speculative (Leviathan, Kalman and Matias, 2023): a draft model, which has the same weights in floats
without error bounds, proposes tokens, and one pass in the requested arithmetic verifies them. The tokens of that pass
are the output, whatever the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from softmachine.engines.dense.draft_model import DraftModelPass
from softmachine.engines.dense.engine import DenseEngine, Pass
from softmachine.support.errors import SoftmachineError, UsageError
from softmachine.theorems.codec import Prompt

_MIN_TOKENS_BEFORE_DRAFTS = 2
"""Decoded tokens before speculation starts; building the draft model costs more than shorter runs gain."""
_INITIAL_DRAFT_LENGTH, _MAX_DRAFT_LENGTH = 16, 128
"""Draft length: starts at the first, doubles after each fully accepted draft, up to the second."""


class Speculator:
    """Drafts the next tokens of a decoder, until one is rejected.

    Args:
        engine: The engine that verifies the drafts.
        stops: Whether a token ends the run; a draft ends there, too.
    """

    def __init__(self, engine: DenseEngine, stops: Callable[[str], bool]) -> None:
        self.engine = engine
        self.stops = stops
        self.is_useful = engine.arithmetic.is_draft_efficient
        self._draft_length = _INITIAL_DRAFT_LENGTH
        self._run: DraftModelPass | None = None

    def start_sequence(self) -> None:
        """Start another sequence."""
        self._run = None

    def propose(self, tokens: Sequence[str], decoded_count: int) -> tuple[str, ...]:
        """Draft the tokens after ``tokens``, ``decoded_count`` of which were decoded; empty if it does not pay."""
        if not self.is_useful or (decoded_count < _MIN_TOKENS_BEFORE_DRAFTS and not self.engine.has_draft_weights):
            return ()
        guesses: list[str] = []
        try:
            run = self._run = self._run or DraftModelPass(self.engine.draft_weights)
            new = tokens[run.tokens_read :]
            with np.errstate(all="ignore"):
                while len(guesses) < self._draft_length and not (guesses and self.stops(guesses[-1])):
                    guesses.append(run.predict(new))
                    new = guesses[-1:]
        except SoftmachineError:  # for example, a length that the weights were not compiled for
            self.is_useful = False
        return tuple(guesses)

    def update(self, draft: Sequence[str], accepted: Sequence[str]) -> None:
        """Stop speculating after the first rejected token."""
        self.is_useful = self.is_useful and len(accepted) > len(draft)
        if draft:
            self._draft_length = min(2 * self._draft_length, _MAX_DRAFT_LENGTH)


PROMPT_CHUNK = 1024
"""Tokens of a long prompt per pass, to limit the memory of scores."""


def decode(
    engine: DenseEngine,
    prompt: Prompt,
    stops: Callable[[str], bool],
    previous: Sequence[str] = (),
    speculator: Speculator | None = None,
) -> Iterator[str]:
    """Yield the tokens that the model appends to the prompt and the tokens emitted before, the stop token included.

    Args:
        engine: The engine.
        prompt: The prompt.
        stops: Whether a token ends the run.
        previous: The tokens emitted before.
        speculator: The speculator of an earlier context, to be continued; by default a new one.

    Raises:
        UsageError: If the model is not causal.
    """
    transformer = engine.transformer
    if not transformer.is_causal:
        raise UsageError(f"{transformer.name!r} looks ahead or needs the length, so it cannot decode token by token")
    run, speculator = engine.start(), speculator or Speculator(engine, stops)
    speculator.start_sequence()
    tokens = [*prompt.tokens, *previous]
    while len(tokens) - run.tokens_read > PROMPT_CHUNK:
        run.extend([tokens[run.tokens_read : run.tokens_read + PROMPT_CHUNK]])
    while True:
        guesses = speculator.propose(tokens, len(tokens) - len(prompt.tokens))
        found = _verify_draft(run, tokens[run.tokens_read :], guesses)
        speculator.update(guesses, found)
        for token in found:
            yield token
            if stops(token):
                return
        tokens += found


def _verify_draft(run: Pass, new: Sequence[str], draft: Sequence[str]) -> list[str]:
    """Verify a draft: return its accepted tokens and one more token."""
    begin = run.tokens_read
    try:
        predicted = run.predict([*new, *draft], 1 + len(draft))
    except SoftmachineError:
        if not draft:
            raise
        run.rewind(begin)  # without a draft, so that an error is raised only if the run reaches its token
        return run.predict(new)
    right = next((k for k, guess in enumerate(draft) if guess != predicted[k]), len(draft))
    run.rewind(begin + len(new) + right)
    return predicted[: right + 1]


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

    draft = Speculator(engine, over)
    while True:
        following = decode(engine, prompt, over, before, draft)
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
