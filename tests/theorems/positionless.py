"""Common tests of the theorems about formulas without position features."""

from __future__ import annotations

from collections.abc import Callable

from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import Program
from softmachine.languages.temporal import Formula, Specification, parse_formula, truth_values
from softmachine.theorems.shared.recogniser_codec import START_TOKEN
from softmachine.transformer.weights import Transformer

Proof = Callable[[Specification], Program]


def compiled(signals: Proof, formula: Formula | str) -> tuple[Transformer, Specification]:
    parsed = parse_formula(formula) if isinstance(formula, str) else formula
    specification = Specification(name="formula", formula=parsed, alphabet=("a", "b"))
    return compile_program(signals(specification)), specification


def right(signals: Proof, formula: Formula | str, words: list[tuple[str, ...]], arithmetic: str) -> None:
    """Assert that the output at every position of some words is whether the formula holds there."""
    model, specification = compiled(signals, formula)
    engine = DenseEngine(model, arithmetic)
    for word in words:
        answers = engine.predict([[START_TOKEN, *word]], len(word))[0]
        assert [answer == "true" for answer in answers[1:]] == list(truth_values(specification, word)), (
            f"{formula} on {word}"
        )
