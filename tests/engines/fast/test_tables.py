"""Large models as bytecode: the same numbers, the same tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.fast import FastEngine, UnsupportedModel
from softmachine.engines.fast.bytecode.interpreter import Bytecode, is_large
from softmachine.engines.run import RunSession
from softmachine.support.errors import AmbiguousTokenError, SourceError
from softmachine.theorems.turing.ternary.codec import TernaryCodec
from tests.engines.fast.test_random import compare
from tests.sources.transformers import CAUSAL, RandomTransformer


@pytest.fixture(scope="module")
def ternary() -> Model:
    return sm.compile("binary-counter", theorem="turing-ternary", length=256)


def compared(seed: int, words: int, longest: int) -> int:
    """The number of words of a random transformer that were compared with the exact dense engine."""
    numbers = (1,) if seed % 2 == 0 else (1, 1, 1, 2, 3)
    transformer = RandomTransformer(seed, masks=CAUSAL, denominators=numbers).transformer()
    done, refused = compare(transformer, seed, words, longest, plain=False, tables=True)
    return done - refused


@pytest.mark.parametrize("seed", range(40))
def test_random_transformers_as_bytecode(seed: int) -> None:
    """Fractions, ties, leftmost and rightmost choices, strict masks, biases, all position features."""
    assert compared(seed, 4, 20) > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_10000_random_sequences_as_bytecode(part: int) -> None:
    """Words whose numbers overflow 64 bits are refused; they are few."""
    assert sum(compared(seed, 10, 30) for seed in range(5000 + 50 * part, 5050 + 50 * part)) > 450


def test_large_models_are_interpreted_and_small_ones_compiled(ternary: Model) -> None:
    assert is_large(ternary.weights)
    assert isinstance(FastEngine(ternary.weights).code, Bytecode)
    assert not isinstance(FastEngine(sm.compile("busy-beaver-5").weights).code, Bytecode)


def test_a_ternary_machine_agrees_with_the_interpreter(ternary: Model) -> None:
    codec = ternary.codec
    assert isinstance(codec, TernaryCodec)
    run = FastEngine(ternary.weights).start(codec.prompt("").tokens, codec.is_stop_token)
    run.run_until(256)
    assert list(run.output(254)) == list(codec.expected("", 200))[:254]


@pytest.mark.parametrize(("name", "word"), [("increment", "1011"), ("palindrome", "ab")])
def test_small_machines_run_as_bytecode(name: str, word: str) -> None:
    model = sm.compile(name, theorem="turing-ternary", length=64)
    assert sm.run(model, word, engine="fast").tokens == sm.run(model, word, engine="dense").tokens


def test_chapter_8_as_bytecode_gives_the_same_tokens() -> None:
    """Numbers that are not small integers: shares h/(i+1), squares."""
    model = sm.compile("busy-beaver-4")
    codec = model.codec
    run = FastEngine(model.weights, tables=True).start(codec.prompt("").tokens)
    run.run_until(100)
    assert list(run.output(98)) == list(codec.expected("", 1000))[:98]


def test_bytecode_has_an_explanation(ternary: Model) -> None:
    code = FastEngine(ternary.weights).code
    assert [row[1] for row in code.explanation()] == [head.name for head in ternary.weights.heads]
    assert any("interpreted" in line for line in code.summary())


def test_a_warm_softmax_is_declined_as_bytecode(ternary: Model) -> None:
    soft = sm.soften(sm.compile("increment", theorem="turing-ternary", length=64), length=20)[0]
    with pytest.raises(UnsupportedModel, match="softmax"):
        FastEngine(soft.weights, tables=True)
    del ternary


def test_audits_of_bytecode_pass_and_find_a_wrong_token(ternary: Model) -> None:
    codec = ternary.codec
    from softmachine.engines.fast import audit

    run = FastEngine(ternary.weights).start(codec.prompt("").tokens)
    run.run_until(40)
    assert audit(run, 10, seed=1).holds
    run.tokens.write(30, (run.tokens[30] + 1) % len(ternary.weights.vocabulary))
    assert 29 in {difference.position for difference in audit(run, 39, seed=2).differences}


def test_a_bytecode_run_resumes_from_its_checkpoint(ternary: Model, tmp_path: Path) -> None:
    whole = sm.run(ternary, "", engine="fast", max_steps=60)
    first = RunSession(ternary, "", engine="fast", max_steps=30, checkpoint=tmp_path / "run")
    list(first)
    again = RunSession(ternary, "", max_steps=60, resume=tmp_path / "run")
    list(again)
    assert again.result().tokens == whole.tokens
    with pytest.raises(SourceError, match="another input"):
        RunSession(ternary, "1", resume=tmp_path / "run")


def test_a_tie_of_logits_names_the_outputs() -> None:
    from dataclasses import replace
    from fractions import Fraction

    from softmachine.transformer.weights import AffineMap, Matrix

    transformer = RandomTransformer(3, masks=CAUSAL).transformer()
    row: tuple[tuple[int, Fraction], ...] = ()
    outputs = len(transformer.outputs)
    flat = AffineMap(Matrix((row,) * outputs, transformer.width), (Fraction(0),) * outputs)
    with pytest.raises(AmbiguousTokenError, match="'y0', 'y1'"):
        FastEngine(replace(transformer, unembedding=flat), tables=True).argmax_outputs(["a"])
