"""Every case of the table at every level: interpreter, signals, weights, engines, files and stock checkpoints.

Each level is checked against the one before: the interpreter against the table, the signals against the interpreter,
and whatever runs the weights against both.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.exports.lowering import lower
from softmachine.ir import evaluate
from softmachine.languages.source import Source
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.theorems import all_theorems
from softmachine.theorems.codec import Codec, DecoderCodec, Prompt, SegmentedCodec
from tests.cases import CASES, Case, summarise
from tests.exports.helpers import checkpoint_model
from tests.exports.plain import lowered_logits
from tests.models import signals_of

MOST = 1000
"""So many steps are enough for every example."""
JITTED_QUICKLY = ("turing-average-hard", "counter")
"""The fast engine writes code for every model, which takes seconds; the others are slow."""
UNPROVEN = (
    "turing-counter-relative-bias",
    "temporal-masked-unbounded-positions",
    "temporal-masked-paper-positions",
    "temporal-masked-unbounded-paper-positions",
)
"""What softmax of growing scores comes to is not proven to the fast engine."""
LARGE_AND_SOFT = (("turing-ternary", "soft"),)
"""A large model is tables to the fast engine, and these have no proof for softmax; code of its own has none, either."""
HASHED = ("automaton-layer-norm",)
"""The layer-norm hash is irrational."""
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def comes_out(case: Case, model: Model, arithmetic: str, engine: str = "dense") -> None:
    for word, expected in case.examples:
        run = sm.run(model, word, arithmetic=arithmetic, engine=engine, max_steps=MOST)
        assert summarise(run.outcome) == expected, word


def segments(codec: Codec[Source], word: str) -> Iterator[tuple[Prompt, tuple[str | None, ...]]]:
    """The prompts of a model for an input, and the expected outputs of the interpreter."""
    if isinstance(codec, SegmentedCodec):
        yield from codec.expected_segments(word, MOST)
    else:
        yield codec.prompt(word), tuple(codec.expected(word, MOST))


def read(codec: Codec[Source], prompt: Prompt, said: tuple[str | None, ...]) -> tuple[list[str], int]:
    """The tokens that a model reads before these outputs, and the first position that is compared."""
    if not isinstance(codec, DecoderCodec):
        return list(prompt.tokens), 0
    return [*prompt.tokens, *(token or "" for token in said[:-1])], len(prompt.tokens) - 1


TINY = {"nl-configuration-graph-unpruned"}
"""For machines smaller than any of the zoo: tests/theorems/test_nondeterministic_logspace.py has one."""


def test_every_theorem_has_a_case() -> None:
    assert {case.theorem for case in CASES} | TINY == {theorem.name for theorem in all_theorems()}
    assert {case.attention for case in CASES} == {"hard", "soft"}


@every_case
def test_interpreter(case: Case) -> None:
    codec = case.model.codec
    for word, expected in case.examples:
        said = [token or "" for token in codec.expected(word, MOST)]
        assert summarise(codec.parse_run(word, said)) == expected, word


@every_case
def test_signals(case: Case) -> None:
    """Exact evaluation checks every promise; softmax of scores that differ has no exact value."""
    program, codec = signals_of(case.model.source, case.theorem, case.attention, case.length)
    for prompt, said in segments(codec, case.examples[-1][0]):
        tokens, begin = read(codec, prompt, said)
        try:
            logits = evaluate(program.logits, tokens, prompt.length)[begin:]
        except ConstructionError as error:
            assert case.attention == "soft" or case.theorem in HASHED
            assert "no rational value" in str(error)  # noqa: PT017
            return
        for row, wanted in zip(logits, said, strict=True):
            assert wanted in (None, program.outputs[row.index(max(row))])


@every_case
def test_weights_in_rationals(case: Case) -> None:
    try:
        comes_out(case, case.model, "exact")
    except ConstructionError as error:
        assert case.attention == "soft" or case.theorem in HASHED
        assert "not a rational number" in str(error)  # noqa: PT017
        comes_out(case, case.model, "ball")


@every_case
def test_weights_in_float64(case: Case) -> None:
    comes_out(case, case.model, "float64")


def is_jitted_quickly(case: Case) -> bool:
    return case.theorem in JITTED_QUICKLY or (case.theorem, case.attention) in LARGE_AND_SOFT


def why_not_fast(case: Case, model: Model) -> str | None:
    """The reason why the fast engine does not support a model, if any."""
    if not model.weights.is_causal:
        return "is an encoder"
    if model.weights.first_group_normalised_unit:
        return "is a layer norm of several"
    if (case.theorem, case.attention) in LARGE_AND_SOFT:
        return "is a softmax, and the model is too large to prove"
    return "softmax is not prove" if case.theorem in UNPROVEN else None


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if is_jitted_quickly(case) else pytest.mark.slow) for case in CASES],
    ids=str,
)
def test_fast_engine(case: Case) -> None:
    model = case.model
    reason = why_not_fast(case, model)
    if reason is None:
        comes_out(case, model, "float64", "fast")
        return
    with pytest.raises(UsageError, match=reason):
        sm.run(model, case.examples[0][0], engine="fast")


@every_case
def test_saved_and_loaded(case: Case, tmp_path: Path) -> None:
    sm.save(case.model, tmp_path / "model")
    again = sm.load(tmp_path / "model")
    assert isinstance(again, Model)
    assert again == case.model
    assert (again.theorem, again.context, again.codec) == (case_theorem(case), case.length, case.model.codec)


def case_theorem(case: Case) -> sm.Theorem:
    return next(theorem for theorem in all_theorems() if theorem.name == case.theorem)


@pytest.mark.parametrize("case", [case for case in CASES if case.positions], ids=str)
def test_stock_checkpoint(case: Case) -> None:
    """The tensors of an exported checkpoint, evaluated with NumPy."""
    model = checkpoint_model(case.model.source, case.theorem, case.positions, "onnx")
    lowered = lower(model, case.positions, bidirectional=not isinstance(model.codec, DecoderCodec))
    for word, _ in case.examples:
        prompt, said = model.codec.prompt(word), tuple(model.codec.expected(word, MOST))
        tokens, begin = read(model.codec, prompt, said)
        rows = lowered_logits(lowered, [lowered.vocabulary.index(token) for token in tokens])[begin:]
        for row, wanted in zip(rows, said, strict=False):
            assert wanted in (None, lowered.labels[int(row.argmax())])
