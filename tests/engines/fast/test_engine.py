"""Choice of indexes, growth of arrays, changes of plan, and audits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import softmachine as sm
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast import FastEngine, audit
from softmachine.engines.fast.analysis.plans import GroupsPlan, PositionPlan, TablePlan, UniformPlan
from softmachine.engines.fast.analysis.unrolled_program import unroll
from softmachine.engines.fast.codegen.emitter import GeneratedCode
from softmachine.support.errors import AmbiguousTokenError, InputError, UsageError
from softmachine.transformer.weights import AffineMap, Matrix, Transformer
from tests.sources.transformers import CAUSAL, RandomTransformer, random_word

MODEL = sm.compile("busy-beaver-5")


@pytest.fixture(scope="module")
def model() -> Transformer:
    return MODEL.weights


def kinds_of(engine: FastEngine) -> list[type]:
    assert isinstance(engine.code, GeneratedCode)
    return [type(plan) for plan in engine.code.plans]


def test_chapter_8_uses_closed_forms_and_a_table(model: Transformer) -> None:
    kinds = kinds_of(FastEngine(model))
    assert kinds == [UniformPlan, PositionPlan, PositionPlan, PositionPlan, PositionPlan, TablePlan]


def test_names_are_irrelevant(model: Transformer) -> None:
    nameless = replace(model, coordinates=tuple(f"x{k}" for k in range(model.width)))
    assert FastEngine(nameless).code.text == FastEngine(model).code.text


def test_machines_of_one_shape_share_their_code() -> None:
    assert FastEngine(sm.compile("busy-beaver-4").weights).code.text == FastEngine(MODEL.weights).code.text


def test_explanations_name_every_head(model: Transformer) -> None:
    code = FastEngine(model).code
    assert [row[1] for row in code.explanation()] == [head.name for head in model.heads]
    assert any("1,073,741,824" in line for line in code.summary())


def test_unused_numbers_are_omitted(model: Transformer) -> None:
    program = unroll(model)
    assert len(program.order) < len(program.atoms) + len(program.heads)


def spoiled(model: Transformer) -> Transformer:
    """The square of the cell is off by one from the second write on, so that keys leave the parabola."""
    block = model.blocks[0]
    layers = list(block.layers)
    (head,) = layers[2].heads
    rows = list(head.key.weight.rows)
    state = next(c for c, name in enumerate(model.coordinates) if name.startswith("state["))
    rows[1] = tuple(sorted([*rows[1], (state, Fraction(1))]))
    key = AffineMap(Matrix(tuple(rows), head.key.weight.columns), head.key.bias)
    layers[2] = replace(layers[2], heads=(replace(head, key=key),))
    return replace(model, blocks=(replace(block, layers=tuple(layers)), *model.blocks[1:]))


def test_keys_that_leave_the_parabola_change_the_plan(model: Transformer) -> None:
    wrong = spoiled(model)
    engine = FastEngine(wrong, plain=True)
    assert kinds_of(engine)[-1] is TablePlan
    tokens = [*MODEL.codec.prompt("").tokens, *map(str, MODEL.codec.expected("", 60))]
    found = engine.argmax_outputs(tokens)
    assert kinds_of(engine)[-1] is GroupsPlan
    assert found == DenseEngine(wrong, "exact").predict([tokens])[0]


@pytest.mark.usefixtures("uncompiled")
def test_tables_grow_to_both_sides() -> None:
    for source in ("1RA1RZ_------", "1LA1RZ_------"):
        run = sm.run(source, engine="fast", max_steps=3_000)
        assert run.output == "1" * 3_000


def test_unknown_tokens_and_empty_prompts_are_refused(model: Transformer) -> None:
    engine = FastEngine(model, plain=True)
    with pytest.raises(InputError, match="not a token"):
        engine.start(["nonsense"])
    with pytest.raises(InputError, match="empty"):
        engine.start([])


def test_a_tie_of_logits_stops_the_run() -> None:
    transformer = RandomTransformer(3, masks=CAUSAL).transformer()
    row: tuple[tuple[int, Fraction], ...] = ()
    outputs = len(transformer.outputs)
    flat = AffineMap(Matrix((row,) * outputs, transformer.width), (Fraction(0),) * outputs)
    with pytest.raises(AmbiguousTokenError, match="'y0', 'y1'"):
        FastEngine(replace(transformer, unembedding=flat), plain=True).argmax_outputs(["a"])


def test_audits_pass_on_a_run_and_find_a_wrong_token(model: Transformer) -> None:
    codec = MODEL.codec
    run = FastEngine(model, plain=True).start(codec.prompt("").tokens)
    run.run_until(120)
    assert audit(run, 100, seed=1).holds
    run.tokens.write(80, (run.tokens[80] + 1) % len(model.vocabulary))
    found = audit(run, 119, seed=2)
    assert 79 in {difference.position for difference in found.differences}
    assert "differ" in str(found)


@pytest.mark.parametrize("seed", range(12))
def test_audits_agree_on_random_transformers(seed: int) -> None:
    """Fractions, ties, leftmost and rightmost choices, biases: audits must agree with the run."""
    transformer = RandomTransformer(seed, masks=CAUSAL).transformer()
    transformer = replace(transformer, outputs=("a", "b", "c", "d")[: len(transformer.outputs)])
    run = FastEngine(transformer, plain=True).start(random_word(seed, 6), lambda token: token == "d")
    try:
        run.run_until(20)
    except AmbiguousTokenError:
        return
    assert audit(run, 20, seed=seed).holds


def test_only_fast_runs_are_audited() -> None:
    from softmachine.engines.run import RunSession

    running = RunSession(MODEL, "", engine="dense", max_steps=3)
    list(running)
    with pytest.raises(UsageError, match="fast"):
        running.audit(1)


def test_code_too_large_to_compile_becomes_bytecode(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    from softmachine.engines.fast.bytecode.interpreter import Bytecode
    from softmachine.engines.fast.codegen import emitter

    monkeypatch.setattr(emitter, "MAX_LINES", 50)
    assert isinstance(FastEngine(model).code, Bytecode)
