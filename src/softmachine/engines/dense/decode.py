"""Decoding: read the prompt, then append the token of the largest logit until one stops the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from softmachine.engines.dense.engine import DenseEngine, Pass
from softmachine.engines.dense.guessing import Draft
from softmachine.support.errors import SoftmachineError, UsageError
from softmachine.theorems.codec import Prompt

PIECE = 1024
"""So much of a long prompt is read at a time: scores take memory."""


def decode(
    engine: DenseEngine,
    prompt: Prompt,
    stops: Callable[[str], bool],
    said: Sequence[str] = (),
    draft: Draft | None = None,
) -> Iterator[str]:
    """The tokens that the model appends to the prompt and what was said before, the stopping one included.

    Args:
        engine: What runs the model.
        prompt: What it starts on.
        stops: Whether the run is over with a token.
        said: What was said before.
        draft: Who guessed before, in another context; else guesses are those of a new draft.
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
    """What is said after new tokens and after each guess that is right: it says it, and one token more."""
    begin = run.read
    try:
        said = run.says([*new, *guesses], 1 + len(guesses))
    except SoftmachineError:
        if not guesses:
            raise
        run.rewind(begin)  # One by one, so that an error comes where it belongs, and only if the run gets there.
        return run.says(new)
    right = next((k for k, guess in enumerate(guesses) if guess != said[k]), len(guesses))
    run.rewind(begin + len(new) + right)
    return said[: right + 1]


def continuation(
    engine: DenseEngine, prompt: Prompt, tokens: Sequence[str], piece: int, careful_from: int | None = None
) -> Iterator[str]:
    """What the model would append after the prompt and after each of the tokens, if it were given them.

    If this equals the tokens themselves, then :func:`decode` produces them: every token follows from those before.
    Reading ``piece`` of them at a time is much faster than decoding; from token ``careful_from`` on they are read one
    by one, so that an error comes where it belongs.
    """
    run = engine.start()
    sequence = (*prompt.tokens, *tokens)
    first = len(prompt.tokens) - 1
    careful = len(sequence) if careful_from is None else first + careful_from
    start = 0
    while start < len(sequence):
        end = min(start + piece, careful) if start < careful else start + 1
        stream = run.extend([sequence[start:end]])
        wanted = stream[:, max(first - start, 0) :]
        if wanted.shape[1]:
            for index in run.decisions(wanted)[0]:
                yield engine.transformer.outputs[int(index)]
        start = end
