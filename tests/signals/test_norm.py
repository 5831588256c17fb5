"""Layer norm of a part of the vector: exact where it is rational, enclosed elsewhere, refused by name by others."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softmachine as sm
from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor, UndecidedError, find_arithmetic
from softmachine.exports.manifest import MANIFEST_FILE, compute_digest
from softmachine.ir import Program, attend, constant, evaluate, norm, position, stack, token
from softmachine.ir.gadgets.lookup import layer_norm_hash, lookup_by_hash
from softmachine.support.errors import ConstructionError, SourceError, UsageError
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import RECIPROCAL
from softmachine.transformer.weights import Transformer

TOKENS = ("a", "b", "c", "d")
SIGNED = token("number", {"a": (3, 4), "b": (-3, 4), "c": (0, 0), "d": (0, -5)})
small = st.integers(-6, 6)


def program(*logits: object) -> Program:
    parts = stack(*logits)  # type: ignore[arg-type]
    return Program("normed", TOKENS, tuple(f"out {k}" for k in range(len(parts))), parts)


def test_of_one_number_it_is_the_sign() -> None:
    signs = norm("sign", SIGNED[0])
    assert [int(row[0]) for row in evaluate(signs, TOKENS)] == [1, -1, 0, 0]


def test_of_several_numbers_it_is_over_the_root_of_the_mean_square() -> None:
    """3, 4, -3, -4 have the root of 25/2; with a third number that makes it rational, all are exact."""
    whole = norm("whole", stack(2 * SIGNED[0], 2 * SIGNED[1], constant(0), constant(0)))
    assert evaluate(whole, "a") == [(Fraction(6, 5), Fraction(8, 5), Fraction(0), Fraction(0))]
    with pytest.raises(ConstructionError, match="'pair' has no rational value"):
        evaluate(norm("pair", SIGNED), "a")


@given(st.lists(st.tuples(small, small), min_size=1, max_size=4))
def test_it_is_layer_norm_of_the_numbers_and_their_negatives(rows: list[tuple[int, int]]) -> None:
    """By the definition: subtract the mean, divide by the standard deviation; nothing where all are 0."""
    for name in ("float64", "ball", "float64:plain"):
        numbers = find_arithmetic(name)
        found = numbers.norm(
            Tensor(numbers.convert([[Fraction(x) for x in row] for row in rows]).value[None])
            if name != "float64"
            else _float(rows)
        ).value[0]
        for row, normed in zip(rows, found, strict=True):
            both = np.array([*row, *(-x for x in row)], dtype=float)
            spread = both.std()
            expected = (both - both.mean()) / spread if spread else both
            assert np.allclose([float(x) for x in normed], expected[: len(row)], atol=1e-12)


def _float(rows: list[tuple[int, int]]) -> Tensor:
    value = np.array(rows, dtype=float)[None]
    return Tensor(value, np.zeros(value.shape))


@given(small, small, st.floats(1e-12, 1e-3), st.floats(-1, 1), st.floats(-1, 1))
def test_float_bounds_enclose_what_errors_can_do(x: int, y: int, size: float, one: float, two: float) -> None:
    numbers = find_arithmetic("float64")
    value = np.array([[[x, y]]], dtype=float)
    try:
        found = numbers.norm(Tensor(value, np.full(value.shape, size)))
    except UndecidedError:
        assert max(abs(x), abs(y)) <= 4 * size
        return
    moved = value + size * np.array([one, two])
    exact = moved / np.sqrt((moved**2).mean())
    assert found.error is not None
    assert (np.abs(exact - found.value) <= found.error + 1e-15).all()


def test_a_sign_that_is_not_certain_is_not_decided() -> None:
    with pytest.raises(UndecidedError):
        find_arithmetic("float64").norm(Tensor(np.array([[[1e-9]]]), np.array([[[1e-8]]])))


@pytest.mark.parametrize("name", ["exact", "ball", "float64", "float32", "bfloat16", "fixed:6"])
def test_weights_compute_what_signals_say(name: str) -> None:
    whole = program(norm("sign", SIGNED[0] - SIGNED[1]), 2 * norm("other", SIGNED[1]) + SIGNED[0])
    engine = DenseEngine(compile_program(whole), name)
    for tokens in product(TOKENS, repeat=2):
        logits = engine.unembedding(engine.residual_stream([tokens])).value[0]
        scale = 64 if name.startswith("fixed") else 1
        assert [[float(x) / scale for x in row] for row in logits] == [
            [float(x) for x in row] for row in evaluate(whole.logits, tokens)
        ]


def test_what_nobody_asks_for_is_still_part_of_the_norm() -> None:
    """The root is that of all numbers of the group, even if one of them is never read."""
    whole = norm("whole", stack(2 * SIGNED[0], 2 * SIGNED[1], constant(0), constant(0)))
    model = compile_program(program(whole[0], constant(Fraction(1, 3))))
    (layer,) = model.layers
    assert layer.feed_forward.norms == ((0, 1, 2, 3),)
    engine = DenseEngine(model, "exact")
    assert str(engine.unembedding(engine.residual_stream([("a",)])).value[0, 0, 0]) == "6/5"


def hashing() -> Transformer:
    """At every position, the token at the position of the number of a's so far: c, 1/(i+1) and no other feature."""
    letters = token("letter", {t: tuple(int(t == other) for other in TOKENS) for t in TOKENS})
    share, per = attend("share", value=letters[0]), position(RECIPROCAL)
    found = lookup_by_hash("found", share, per, 1 - per, per, letters, Mask.CAUSAL)
    return compile_program(program(*(found[k] for k in range(4))))


@pytest.mark.parametrize("n", [1, 2, 5, 20, 60, 150])
def test_the_hash_finds_the_position_of_a_number(n: int) -> None:
    chooser = np.random.default_rng(n)
    for _ in range(3):
        tokens = [str(t) for t in chooser.choice(list(TOKENS), size=n, p=[0.7, 0.1, 0.1, 0.1])]
        counts = np.cumsum([t == "a" for t in tokens])
        answers = DenseEngine(hashing()).predict([tokens])[0]
        for i, (count, answer) in enumerate(zip(counts.tolist(), answers, strict=True)):
            assert answer == f"out {TOKENS.index(tokens[min(count, i)])}"


def test_hashes_are_equal_for_equal_ratios_only() -> None:
    rows = [(x, y) for x in range(12) for y in range(1, 12)]
    numbers = find_arithmetic("ball")
    value = numbers.convert([[Fraction(x), Fraction(y)] for x, y in rows])
    found = numbers.norm(value[None]).value[0]
    for (x, y), one in zip(rows, found, strict=True):
        for (u, v), two in zip(rows, found, strict=True):
            product_of = one[0] * two[0] + one[1] * two[1]
            assert (
                product_of.overlaps(numbers.convert([[Fraction(2)]]).value[0, 0]) if x * v == u * y else product_of < 2
            )


def test_a_hash_has_two_units() -> None:
    model = compile_program(program(*(layer_norm_hash("h", SIGNED[0], SIGNED[1])[k] for k in range(2))))
    assert [len(layer.feed_forward.units) for layer in model.layers] == [2]


def test_a_model_with_layer_norm_is_saved_and_a_damaged_one_refused(tmp_path: Path) -> None:
    model = sm.compile("dyck-1-crasp", "crasp-layer-norm")
    sm.save(model, tmp_path / "model")
    assert sm.load(tmp_path / "model") == model
    weights = compile_program(program(norm("sign", SIGNED[0]), constant(Fraction(1, 3))))
    sm.save(weights, tmp_path / "bare")
    assert sm.load_weights(tmp_path / "bare") == weights
    mark = tmp_path / "bare" / MANIFEST_FILE
    facts = json.loads(mark.read_text(encoding="utf-8"))
    facts["weights"]["blocks"][0]["layers"][0]["norms"] = [[7]]
    digests = facts.pop("digests")
    mark.write_text(
        json.dumps({**facts, "digests": {**digests, MANIFEST_FILE: compute_digest(facts)}}), encoding="utf-8"
    )
    with pytest.raises(SourceError, match="the norms of"):
        sm.load_weights(tmp_path / "bare")


def test_stock_checkpoints_have_no_such_layer_norm_of_several_numbers() -> None:
    pytest.importorskip("torch")
    model = sm.compile("odd(#<[Q_a])", "temporal-layer-norm")
    with pytest.raises(ConstructionError, match="layer norm"):
        sm.export(model, "unwritten", context=8, to="bert")


def test_those_who_cannot_say_so_by_name() -> None:
    hashes = sm.compile("odd(#<[Q_a])", "temporal-layer-norm")
    with pytest.raises(UsageError, match="layer norm"):
        sm.run(hashes, "aaa", engine="fast")
    with pytest.raises(ConstructionError, match="layer norm"):
        sm.certificate(hashes.weights, length=40)
    with pytest.raises(ConstructionError, match="not a rational number"):
        sm.run(hashes, "aaa", arithmetic="exact")
    with pytest.raises(ConstructionError, match="layer norm is not defined in fixed:8"):
        sm.run(hashes, "aa", arithmetic="fixed:8")
