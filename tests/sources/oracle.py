"""Signals over two letters, and their values by the weights of a compiled program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from softmachine.ir import Signal, Vocabulary, recogniser
from softmachine.testing.agreement import assert_computes_signals, engine_of

START = "<s>"
LETTERS = Vocabulary({START: "", "a": "a", "b": "b"})
"""A start token and two letters."""


def letter(name: str) -> Signal:
    return LETTERS.bit(name, lambda meaning: meaning == name)


def truths(
    signal: Signal, tokens: Sequence[str], length: int | None = None, vocabulary: Iterable[str] = ()
) -> list[bool]:
    """The value of a bit at every position, by the weights in exact arithmetic and in float64, which must agree."""
    program = recogniser("test", tuple(vocabulary) or LETTERS.tokens, signal)
    exact = [true > false for false, true in assert_computes_signals(program, tokens, length)]
    assert exact == [answer == "true" for answer in engine_of(program, "float64").predict([tokens], length)[0]]
    return exact
