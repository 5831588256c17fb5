"""The compiler's oracle: what a program's transformer says must be what exact evaluation of its signals says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.signals import Program, Signal, Vocabulary, evaluate, recogniser
from softmachine.transformer.weights import Transformer

START = "<s>"
LETTERS = Vocabulary({START: "", "a": "a", "b": "b"})
"""A start token and two letters."""


def letter(name: str) -> Signal:
    return LETTERS.bit(name, lambda meaning: meaning == name)


def words(length: int, letters: str = "ab") -> list[str]:
    return [""] if length == 0 else [word + x for word in words(length - 1, letters) for x in letters]


def logits(program: Program, tokens: Sequence[str], length: int | None, arithmetic: str) -> list[list[Fraction]]:
    """The logits at every position, as the transformer computes them."""
    engine = DenseEngine(compile_program(program), arithmetic)
    stream = engine.residual_stream([tokens], length)
    numbers = engine.unembedding(stream).value[0]
    return [
        [Fraction(str(number)) if arithmetic == "exact" else Fraction(float(number)) for number in row]
        for row in numbers
    ]


def agrees_with_signals(program: Program, tokens: Sequence[str], length: int | None = None) -> None:
    """Check that exact evaluation of the signals and the exact run of the weights are the same, number for number."""
    expected = [list(row) for row in evaluate(program.logits, tokens, length)]
    assert logits(program, tokens, length, "exact") == expected


def truths(
    signal: Signal, tokens: Sequence[str], length: int | None = None, vocabulary: Iterable[str] = ()
) -> list[bool]:
    """What a bit is at every position, by the transformer in exact arithmetic and in float64, which must agree."""
    program = recogniser("test", tuple(vocabulary) or LETTERS.tokens, signal)
    agrees_with_signals(program, tokens, length)
    transformer = compile_program(program)
    exact, floating = (answers(transformer, tokens, length, arithmetic) for arithmetic in ("exact", "float64"))
    assert exact == floating
    return exact


def answers(transformer: Transformer, tokens: Sequence[str], length: int | None, arithmetic: str) -> list[bool]:
    return [answer == "true" for answer in DenseEngine(transformer, arithmetic).answers([tokens], length)[0]]
