"""Oracle of the compiler: the output of a program's transformer must equal the exact evaluation of its signals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import Program, Signal, Vocabulary, evaluate, recogniser

START = "<s>"
LETTERS = Vocabulary({START: "", "a": "a", "b": "b"})
"""A start token and two letters."""


def letter(name: str) -> Signal:
    return LETTERS.bit(name, lambda meaning: meaning == name)


def words(length: int, letters: str = "ab") -> list[str]:
    return [""] if length == 0 else [word + x for word in words(length - 1, letters) for x in letters]


@lru_cache(maxsize=16)
def prepared(program: Program, arithmetic: str) -> DenseEngine:
    """The program's transformer, compiled once for all words."""
    return DenseEngine(compile_program(program), arithmetic)


def logits(program: Program, tokens: Sequence[str], length: int | None, arithmetic: str) -> list[list[Fraction]]:
    """The logits at every position, as the transformer computes them."""
    engine = prepared(program, arithmetic)
    stream = engine.residual_stream([tokens], length)
    numbers = engine.unembedding(stream).value[0]
    return [
        [Fraction(str(number)) if arithmetic == "exact" else Fraction(float(number)) for number in row]
        for row in numbers
    ]


def agrees_with_signals(
    program: Program, tokens: Sequence[str], length: int | None = None
) -> list[tuple[Fraction, ...]]:
    """The logits by exact evaluation of the signals, and a check that those of the weights are the same numbers."""
    expected = evaluate(program.logits, tokens, length)
    assert logits(program, tokens, length, "exact") == [list(row) for row in expected]
    return expected


def truths(
    signal: Signal, tokens: Sequence[str], length: int | None = None, vocabulary: Iterable[str] = ()
) -> list[bool]:
    """The value of a bit at every position, by the transformer in exact arithmetic and in float64, which must agree."""
    program = recogniser("test", tuple(vocabulary) or LETTERS.tokens, signal)
    exact = [true > false for false, true in agrees_with_signals(program, tokens, length)]
    assert exact == [answer == "true" for answer in prepared(program, "float64").answers([tokens], length)[0]]
    return exact
