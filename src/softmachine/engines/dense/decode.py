"""Greedy decoding: read the prompt, then append the token of the largest logit until one stops the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from softmachine.engines.dense.engine import DenseEngine, Pass
from softmachine.engines.dense.guessing import Draft
from softmachine.support.errors import SoftmachineError, UsageError
from softmachine.theorems.codec import Prompt

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
