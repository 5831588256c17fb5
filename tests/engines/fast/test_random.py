"""Random transformers: the fast engine agrees with exact arithmetic, or declines the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pytest

from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast import FastEngine, UnsupportedModel, checkpoint
from softmachine.engines.fast.analysis.plans import GroupsPlan, IndexPlan, LinearScanPlan, PositionPlan, UniformPlan
from softmachine.engines.fast.codegen.emitter import GeneratedCode
from softmachine.support.errors import AmbiguousTokenError, PrecisionError
from softmachine.support.polynomial import Polynomial
from softmachine.transformer.features import (
    I_PLUS_ONE,
    I_SQUARED,
    RECIPROCAL,
    Bit,
    Distance,
    Feature,
    I,
    PredecessorShare,
    Relation,
)
from softmachine.transformer.weights import Transformer
from tests.sources.transformers import CAUSAL, RandomTransformer, random_word


def outcome(engine: DenseEngine | FastEngine, word: list[str]) -> list[str] | str:
    """The answers, or the tie that ends them."""
    try:
        return engine.predict([word])[0] if isinstance(engine, DenseEngine) else engine.argmax_outputs(word)
    except AmbiguousTokenError as tie:
        return str(tie)


@dataclass(frozen=True)
class NextDoor(Relation):
    name: ClassVar[str] = "next door"

    def value(self, key: int, query: int) -> int:
        return int(key == query - 1)


@dataclass(frozen=True)
class UnevenShare(Relation):
    name: ClassVar[str] = "uneven share"

    def value(self, key: int, query: int) -> Fraction:
        return Fraction(3 * key - query, 2 + key % 3)


@dataclass(frozen=True)
class DigitSum(Feature):
    name: ClassVar[str] = "digit sum"
    high: ClassVar[Polynomial] = Polynomial(0, 1)

    def value(self, i: int, n: int) -> int:
        return sum(map(int, str(i)))


@dataclass(frozen=True)
class HalfWay(Feature):
    name: ClassVar[str] = "half way"
    denominator: ClassVar[str | None] = "i+1"

    def value(self, i: int, n: int) -> Fraction:
        return Fraction(i // 2, i + 1)


@dataclass(frozen=True)
class ThirdOfASquare(Feature):
    name: ClassVar[str] = "third of a square"
    denominator: ClassVar[str | None] = None

    def value(self, i: int, n: int) -> Fraction:
        return Fraction(1, 3 + i * i % 7)


BIASES = (NextDoor(), UnevenShare(), Distance())
FEATURES = (
    I,
    I_SQUARED,
    RECIPROCAL,
    1 / I_PLUS_ONE**2,
    PredecessorShare(),
    I * Fraction(1, 3),
    Bit(1, cells=2, offset=1),
    Bit(1),
    DigitSum(),
    HalfWay(),
    ThirdOfASquare(),
)


def drawn(seed: int, *, integers: bool = False, strange: bool = False) -> Transformer:
    """A random transformer; a strange one has more position features, and arbitrary biases."""
    numbers = (1,) if integers else (1, 1, 1, 2, 3)
    if strange:
        made = RandomTransformer(seed, masks=CAUSAL, denominators=numbers, biases=BIASES, features=FEATURES)
    else:
        made = RandomTransformer(seed, masks=CAUSAL, denominators=numbers)
    return made.transformer()


def plans_of(transformer: Transformer) -> tuple[IndexPlan, ...]:
    code = FastEngine(transformer, plain=True).code
    assert isinstance(code, GeneratedCode)
    return code.plans


def compare(
    transformer: Transformer, seed: int, words: int, longest: int, *, plain: bool = True, tables: bool | None = None
) -> tuple[int, int]:
    """The number of words compared, and the number the fast engine declined."""
    try:
        dense, fast = DenseEngine(transformer, "exact"), FastEngine(transformer, plain=plain, tables=tables)
    except UnsupportedModel:
        return words, words
    refused = 0
    for number in range(words):
        word = random_word(1000 * seed + number, 1 + (7 * seed + 5 * number) % longest)
        try:
            found = outcome(fast, word)
        except PrecisionError:
            refused += 1
            continue
        assert found == outcome(dense, word), (seed, word)
    return words, refused


@pytest.mark.parametrize("seed", range(24))
def test_random_transformers(seed: int) -> None:
    assert compare(drawn(seed), seed, 3, 12) == (3, 0)


@pytest.mark.parametrize("seed", range(24))
def test_random_transformers_with_any_bias(seed: int) -> None:
    assert compare(drawn(seed, strange=True), seed, 2, 24) == (2, 0)


def test_the_random_transformers_have_heads_of_every_kind() -> None:
    plans = [plan for seed in range(24) for plan in plans_of(drawn(seed, strange=True))]
    assert {GroupsPlan, LinearScanPlan, PositionPlan, UniformPlan} <= set(map(type, plans))


@pytest.mark.parametrize("seed", [902, 903])
def test_random_transformers_as_machine_code(seed: int) -> None:
    done, refused = compare(drawn(seed, integers=True), seed, 40, 30, plain=False)
    assert refused < done


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(904, 924), 901])
def test_large_random_transformers_as_machine_code(seed: int) -> None:
    done, refused = compare(drawn(seed, integers=True), seed, 40, 30, plain=False)
    assert refused < done


@pytest.mark.slow
@pytest.mark.parametrize("part", range(50))
def test_10000_random_sequences(part: int) -> None:
    """Every other transformer is a strange one."""
    done = refused = 0
    for seed in range(2000 + 40 * part, 2040 + 40 * part):
        transformer = drawn(seed, integers=seed % 4 < 2, strange=seed % 2 == 1)
        words, declined = compare(transformer, seed, 5, 20)
        done, refused = done + words, refused + declined
    assert refused < done / 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_long_sequences_fill_the_groups_of_machine_code(seed: int) -> None:
    """Sequences with hundreds of different keys, on three transformers that have them; some fit into 64 bits."""
    found = (transformer for transformer in map(wide, range(100 * seed, 100 * seed + 100)) if transformer is not None)
    counts = [compare(transformer, 300 + 2 * seed, 2, 400, plain=False) for transformer in islice(found, 3)]
    assert sum(refused for _, refused in counts) < sum(done for done, _ in counts)


def wide(seed: int) -> Transformer | None:
    """A transformer that uses groups; None if the seed gives none."""
    transformer = drawn(seed, integers=True)
    plans = plans_of(transformer)
    return transformer if GroupsPlan in map(type, plans) and len(plans) < 4 else None


def test_an_empty_sequence_has_no_answers() -> None:
    transformer = RandomTransformer(1, masks=CAUSAL).transformer()
    assert FastEngine(transformer, plain=True).argmax_outputs([]) == []


def test_every_index_survives_a_checkpoint(tmp_path: Path) -> None:
    """Arbitrary biases, tabulated features, groups, running sums: a resumed run is identical."""
    done = 0
    for seed in range(60):
        transformer = drawn(seed, integers=True, strange=True)
        transformer = replace(transformer, outputs=("a", "b", "c", "c")[: len(transformer.outputs)])
        if done == 3 or LinearScanPlan not in map(type, plans_of(transformer)):
            continue
        runs = [FastEngine(transformer, plain=True).start(random_word(seed, 8)) for _ in range(3)]
        try:
            runs[0].run_until(72)
        except (AmbiguousTokenError, PrecisionError):
            continue
        runs[1].run_until(66)
        checkpoint.save(runs[1], tmp_path / f"run {seed}")
        checkpoint.load(runs[2], tmp_path / f"run {seed}")
        runs[2].run_until(72)
        assert list(runs[2].output(100)) == list(runs[0].output(100))
        done += 1
    assert done == 3
