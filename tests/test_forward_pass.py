"""The dense engine computes what a forward pass computes that was written without it (:mod:`tests.forward_pass`).

Every zoo entry, by every theorem, with every kind of attention: the model is saved; at every position, the logits
and the residual stream are compared, in real arithmetic and in fixed point.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb
from safetensors.numpy import load_file, save_file

import softmachine as sm
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics.fixed_point import FixedPointArithmetic
from tests import forward_pass
from tests.digests.cases import LEFT_OUT, REFUSED, Case
from tests.digests.record import recorded
from tests.forward_pass import FixedPoint, Reals, UndecidedError, computed

POSITIONS = 40
"""Longer sequences are cut: what comes first is a sequence like others."""
STEPS = 8
"""A decoder reads this many tokens of its run after the prompt, at most."""
WORDS = 2
"""The number of inputs of each model."""
FAST = 0.25
"""In the fast suite, each theorem and attention has a case that compiles in at most this many seconds."""
PRECISIONS = ((8, 16), (4, 4))
"""Fixed point: bits, and bits inside attention."""
TOLERANCE = 2.0**-20
"""The largest radius of a ball in a comparison of logits."""
TOO_LARGE = "does not fit in 64 bits, so the model cannot be saved exactly"
"""The refusal of models that no folder can have."""


def models() -> dict[tuple[str, str, str], str]:
    """For each entry, theorem and attention, the recorded case of the smallest length that compiles."""
    found: dict[tuple[str, str, str], str] = {}
    lines = {key: line for key, line in recorded().items() if line.numbers not in (REFUSED, LEFT_OUT)}
    for key in sorted(lines, key=lambda key: Case.read(key).length or 0):
        case = Case.read(key)
        found.setdefault((case.entry, case.construction, case.attention), key)
    return found


def sample(keys: dict[tuple[str, str, str], str]) -> set[str]:
    """The quickest case of every theorem and attention."""
    record = recorded()
    first: dict[tuple[str, str], str] = {}
    for key in sorted(keys.values(), key=lambda key: (record[key].seconds, key)):
        case = Case.read(key)
        first.setdefault((case.construction, case.attention), key)
    return {key for key in first.values() if record[key].seconds <= FAST}


def parameters() -> list[Any]:
    keys = models()
    fast = sample(keys)
    return [pytest.param(key, marks=() if key in fast else pytest.mark.slow) for key in keys.values()]


def saved(model: Any, folder: Path) -> Path:
    path = folder / "model"
    try:
        sm.save(model, path)
    except sm.UsageError as error:
        if TOO_LARGE not in error.message:
            raise
        pytest.skip(error.message)
    return path


def sequences(model: Any) -> Iterator[tuple[tuple[str, ...], int | None]]:
    """Short sequences of tokens, of some words, with the length n that the model is told."""
    codec = model.codec
    lengths = (codec.input_length,) if codec.input_length is not None else (model.context, 2, 3, 1, 0)
    words = chain.from_iterable(
        islice(codec.words(length), 1, 2) for length in lengths if length is not None and length < 12
    )
    for word in islice(chain(words, codec.words(lengths[-1])), WORDS):
        prompt = codec.prompt(word)
        run = islice(codec.expected(word, STEPS), STEPS) if codec.is_autoregressive else ()
        yield (
            (*prompt.tokens, *(token for token in run if token in model.weights.vocabulary))[:POSITIONS],
            prompt.length,
        )


def dense(weights: Any, tokens: tuple[str, ...], length: int | None, arithmetic: Any) -> Any:
    """At every position the residual stream after the last layer, then the logits, of the plain dense engine."""
    engine = DenseEngine(weights, arithmetic, accelerated=False)
    stream = engine.start(1, length).extend([tokens])
    return np.concatenate([stream.value[0], engine.unembedding(stream).value[0]], axis=-1)


def differences(found: Any, expected: Any) -> list[tuple[int, int]]:
    """The positions and places where numbers differ: they are unequal, or balls that are apart or too vague."""
    return [
        (i, k)
        for i, (row, other) in enumerate(zip(found, expected, strict=True))
        for k, (x, y) in enumerate(zip(row, other, strict=True))
        if not (agree(x, y) if isinstance(x, arb) or isinstance(y, arb) else x == y)
    ]


def agree(x: Any, y: Any) -> bool:
    """Whether balls have a common point, and are small."""
    mine, theirs = arb(x), arb(y)
    return bool(mine.overlaps(theirs)) and max(float(mine.rad()), float(theirs.rad())) < TOLERANCE


def arithmetic_of(model: Any) -> str:
    """The arithmetic of the dense engine in which real numbers are not rounded."""
    irrational = model.attention == "soft" or model.weights.first_group_normalised_unit is not None
    return "ball" if irrational else "exact"


@pytest.mark.parametrize("key", parameters())
def test_the_dense_engine_computes_what_the_independent_forward_pass_computes(key: str, tmp_path: Path) -> None:
    model = Case.read(key).compiled()
    folder = saved(model, tmp_path)
    positions = 0
    for tokens, length in sequences(model):
        found = computed(folder, tokens, length, Reals())
        assert differences(found, dense(model.weights, tokens, length, arithmetic_of(model))) == []
        for bits, inner in PRECISIONS if model.weights.first_group_normalised_unit is None else ():
            rounded = computed(folder, tokens, length, FixedPoint(bits, inner))
            fixed = FixedPointArithmetic(bits, inner, round_weights=True)
            assert differences(rounded, dense(model.weights, tokens, length, fixed)) == []
        positions += len(tokens)
    assert positions > 0


def test_the_forward_pass_imports_nothing_of_softmachine() -> None:
    tree = ast.parse(Path(forward_pass.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    modules = names | {node.module for node in imports if isinstance(node, ast.ImportFrom)}
    assert modules == {
        "__future__", "abc", "collections.abc", "dataclasses", "flint", "fractions", "json", "math", "pathlib",
        "safetensors.numpy", "typing",
    }  # fmt: skip


def test_every_feature_and_relation_is_defined_in_the_forward_pass() -> None:
    from softmachine.theorems import all_theorems
    from softmachine.transformer.features import Relation
    from softmachine.transformer.saved_features import STANDARD_FEATURES

    classes = {*STANDARD_FEATURES, *(found for theorem in all_theorems() for found in theorem.features)}
    relations = {found.stored_name for found in classes if issubclass(found, Relation)}
    assert forward_pass.RELATIONS.keys() == relations
    assert forward_pass.FEATURES.keys() == {found.stored_name for found in classes} - relations


def test_a_change_of_a_single_weight_is_noticed(tmp_path: Path) -> None:
    model = Case.read("bigram-formula · temporal-encoder · soft · any length").compiled()
    folder = saved(model, tmp_path)
    prompts = [model.codec.prompt(word) for length in (3, 2, 1) for word in model.codec.words(length)]
    expected = [dense(model.weights, prompt.tokens, prompt.length, "ball") for prompt in prompts]

    def is_noticed() -> bool:
        try:
            return any(
                differences(computed(folder, prompt.tokens, prompt.length, Reals()), numbers)
                for prompt, numbers in zip(prompts, expected, strict=True)
            )
        except UndecidedError:
            return True

    assert not is_noticed()
    file = folder / "model.safetensors"
    tensors = load_file(file)
    places = [(name, k) for name in tensors if name.endswith("numerator") for k in range(len(tensors[name]))]
    missed = []
    for name, k in places:
        tensors[name][k] += 1
        save_file(tensors, file)
        tensors[name][k] -= 1
        if not is_noticed():
            missed.append(name)
    # The bias of keys adds the same to all scores of a query; a clipped unit may stay clipped.
    assert {name.rpartition(".heads.")[2] if "key" in name else name for name in missed} <= {
        "0.key.bias.numerator", "1.key.bias.numerator", "blocks.0.layers.1.first.weight.numerator",
    }  # fmt: skip
    assert len(places) > 150
    assert len(missed) <= 5
