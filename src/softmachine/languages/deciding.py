"""Membership of a word in the language of a source, decided by the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from softmachine.languages import counter, crasp, srasp, temporal, turing
from softmachine.languages.source import Source
from softmachine.support.errors import UsageError
from softmachine.support.text import many

MAX_STEPS = 1_000_000

Word: TypeAlias = tuple[str, ...]


def decider(source: Source, *, max_steps: int = MAX_STEPS) -> Callable[[Word], bool]:
    """Return the membership predicate of a source.

    The predicate raises a `UsageError` for a word on which the run does not end within the step limit.

    Raises:
        UsageError: If the source is not a machine, formula or program with a verdict.
    """
    run = _runner(source, max_steps)

    def accepts(word: Word) -> bool:
        verdict = run(word)
        if verdict is None:
            shown = " ".join(word) or "the empty word"
            limit = many(max_steps, "step")
            raise UsageError(f"{source.name!r} has no verdict on {shown} within {limit}", hint="allow more steps")
        return verdict == "accept"

    return accepts


def _runner(source: Source, max_steps: int) -> Callable[[Word], str | None]:
    """Return the function from a word to the verdict; None if the step limit was reached."""
    match source:
        case turing.TuringMachine():
            return lambda word: turing.execute(source, word, max_steps=max_steps).verdict
        case counter.CounterMachine():
            return lambda word: counter.execute(source, word, max_steps=max_steps).verdict
        case crasp.Program():
            return lambda word: crasp.run(source, word, max_tokens=max_steps).verdict
        case temporal.Specification():
            return lambda word: "accept" if temporal.satisfies(source, word) else "reject"
        case srasp.Program() if source.decides:
            return lambda word: "accept" if srasp.accepts(source, word) else "reject"
        case _:
            raise UsageError(f"{source.name!r} does not accept or reject words of every length, so it has no language")
