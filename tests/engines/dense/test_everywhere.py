"""Bidirectional attention: deduplication and incremental iterations change no result."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import softmachine as sm
from softmachine.engines.dense import acceleration
from softmachine.engines.dense.acceleration import caches, incremental_attention
from softmachine.engines.dense.acceleration.incremental_attention import IncrementalArgmax, KeySelection, RowClasses
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor, UndecidedError, find_arithmetic
from softmachine.engines.numerics.base import Array
from softmachine.engines.numerics.float import Float
from softmachine.languages.circuit import evaluate, multiplier
from softmachine.support.errors import PrecisionError
from softmachine.testing.circuit import random_circuit
from softmachine.transformer.attention import AttentionKind, Mask
from softmachine.transformer.weights import Transformer
from tests.sources.transformers import RandomTransformer

NEVER, ALWAYS = 1 << 60, 1
CHOICES = (AttentionKind.AVERAGE, AttentionKind.LEFTMOST, AttentionKind.RIGHTMOST)


@contextmanager
def from_positions(count: int, scores: int = 1) -> Iterator[None]:
    """Set the number of positions from which rows are deduplicated, and the number of scores per chunk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acceleration, "MIN_DEDUPLICATED_POSITIONS", count)
        patch.setattr(caches, "MIN_REUSED_POSITIONS", count)
        patch.setattr(incremental_attention, "MAX_SCORES", scores)
        patch.setattr(incremental_attention, "MIN_QUERIES", 5)
        yield


def outcome(transformer: Transformer, word: tuple[str, ...], numbers: str, count: int) -> Tensor | str:
    """The residual stream, or the error, with deduplication from a number of positions."""
    with from_positions(count):
        try:
            return DenseEngine(transformer, numbers).residual_stream([word], len(word))
        except PrecisionError as error:
            return str(error)


def looped(seed: int) -> tuple[Transformer, tuple[str, ...]]:
    """A random looped transformer of bidirectional heads, most of them without bias, and an input."""
    drawn = RandomTransformer(seed, masks=(Mask.ALL,), denominators=(1, 1, 2)).transformer()
    blocks = tuple(replace(block, repeats=1 + (seed + b) % 4) for b, block in enumerate(drawn.blocks))
    chooser = random.Random(seed)
    return replace(drawn, blocks=blocks), tuple(chooser.choices(drawn.vocabulary, k=chooser.randrange(2, 40)))


@pytest.mark.parametrize("numbers", ["exact", "fixed:6"])
def test_random_loops_have_the_same_numbers(numbers: str) -> None:
    for seed in range(60):
        transformer, word = looped(seed)
        plain, quick = (outcome(transformer, word, numbers, count) for count in (NEVER, ALWAYS))
        if isinstance(plain, str) or isinstance(quick, str):
            assert plain == quick, seed
        else:
            assert (plain.value == quick.value).all(), seed


def test_random_loops_in_floats_are_what_exact_ones_are() -> None:
    """Every number is within its bound of the exact one, and undecided choices raise in both cases."""
    done = 0
    for seed in range(60):
        transformer, word = looped(seed)
        exact, found = outcome(transformer, word, "exact", NEVER), outcome(transformer, word, "float64", ALWAYS)
        if isinstance(found, str):
            assert outcome(transformer, word, "float64", NEVER) == found
            continue
        assert isinstance(exact, Tensor)
        assert found.error is not None
        for right, value, error in zip(exact.value.flat, found.value.flat, found.error.flat, strict=True):
            distance = abs(Fraction(int(right.p), int(right.q)) - Fraction(float(value)))
            assert distance <= Fraction(float(error)) * Fraction(1001, 1000), seed
        done += 1
    assert done > 40


@pytest.mark.parametrize("theorem", ["circuit-and-or-not", "circuit-threshold"])
@pytest.mark.parametrize("numbers", ["float64", "float32"])
def test_circuits_have_the_same_streams(theorem: str, numbers: str) -> None:
    for seed in range(6):
        model = sm.compile(random_circuit(seed, inputs=4, gates=20, outputs=2, fan_in=3), theorem)
        prompt = model.codec.prompt(tuple(random.Random(seed).choices("01", k=4)))
        plain, quick = (outcome(model.weights, prompt.tokens, numbers, count) for count in (NEVER, ALWAYS))
        assert isinstance(plain, Tensor)
        assert isinstance(quick, Tensor)
        assert (plain.value == quick.value).all()


def test_a_circuit_of_500_gates_is_right() -> None:
    source, chooser = multiplier(8), random.Random(5)
    model = sm.compile(source, "circuit-and-or-not")
    word = "".join(chooser.choices("01", k=source.width))
    assert sm.run(model, word).output == evaluate(source, word)


class Counting(Float):
    """Floats that count the scores known to be exact."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = 0

    def exact_scores(self, query: Tensor, key: Tensor) -> Array | None:
        self.scores += query.shape[1] * key.shape[1]
        return super().exact_scores(query, key)


def test_few_scores_are_computed_when_few_keys_change() -> None:
    numbers, asked, chooser = Counting(), IncrementalArgmax(looped=True), np.random.default_rng(1)
    query, key = (_floats(chooser.integers(-3, 4, (1, 200, 3))) for _ in range(2))
    for _ in range(10):
        asked.find(numbers, query, key)
        value = key.value.copy()
        value[0, chooser.integers(200, size=2)] = 0
        key = _floats(value)
    assert 0 < numbers.scores < 2 * 200 * 200


def test_who_was_content_with_less_before_need_not_ask_all_keys_again() -> None:
    """The best key alternates: the second time it gets worse, only its own scores are recomputed."""
    numbers, asked = Counting(), IncrementalArgmax(looped=True)
    query = _floats(np.arange(1, 301).reshape(1, 300, 1))
    counts = []
    for best in (0, 9, 0, 9, 0):
        value = np.arange(300).reshape(1, 300, 1) % 7
        value[0, 5] = best
        before = numbers.scores
        _, picks = asked.find(numbers, query, _floats(value))
        assert picks.counts.tolist() == [1 if best else 42] * 300
        counts.append(numbers.scores - before)
    assert counts[1:] == [300] * 4


def test_who_has_no_key_left_asks_all_again() -> None:
    numbers, asked = Counting(), IncrementalArgmax(looped=True)
    query = _floats(np.arange(1, 301).reshape(1, 300, 1))
    asked.find(numbers, query, _floats(np.where(np.arange(300) == 5, 400, np.arange(300)).reshape(1, 300, 1)))
    before = numbers.scores
    _, picks = asked.find(numbers, query, _floats(np.arange(300).reshape(1, 300, 1)))
    assert set(picks.keys) == {299}
    assert numbers.scores - before == 300 + 300 * 300


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["float64", "float32", "fixed:4"]), st.sampled_from([0, 60, 999]))
def test_turn_after_turn_the_best_keys_are_picked(seed: int, name: str, most_near: int) -> None:
    """Some keys change in each iteration, queries rarely, and some numbers are not integers, hence inexact."""
    chooser, numbers, asked = np.random.default_rng(seed), find_arithmetic(name), IncrementalArgmax(looped=True)
    unit, width = Fraction(str(chooser.choice(["1", "1/2", "1/10"]))), int(chooser.integers(4))

    def drawn(count: int) -> NDArray[np.int64]:
        return chooser.integers(-2, 3, (count, width))

    def tensor(rows: NDArray[np.int64]) -> Tensor:
        found = numbers.convert([[unit * int(number) for number in row] for row in rows])[None]
        return Tensor(found.value, None if found.error is None else np.zeros(found.shape))

    query, key, visible = drawn(40), drawn(40), np.ones((40, 40), dtype=bool)
    with from_positions(ALWAYS), pytest.MonkeyPatch.context() as patch:
        patch.setattr(incremental_attention, "MAX_KEPT_PAIRS", most_near)
        for _ in range(8):
            try:
                right = numbers.select_keys(tensor(query), tensor(key), None, visible, AttentionKind.AVERAGE)[0]
            except UndecidedError:
                with pytest.raises(UndecidedError):
                    asked.find(numbers, tensor(query), tensor(key))
            else:
                kinds, picks = asked.find(numbers, tensor(query), tensor(key))
                assert (picks.to_mask(40)[kinds.class_of] == right).all()
            some = chooser.integers(40, size=chooser.integers(0, 12))
            key[some] = drawn(len(some))
            if chooser.random() < 0.1:
                query[chooser.integers(40)] *= 2


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_means_of_picks_are_means_of_flags(seed: int) -> None:
    chooser = np.random.default_rng(seed)
    flags = chooser.random((7, 90)) < chooser.choice([0.02, 0.5, 0.99])
    flags[:, 3] |= ~flags.any(axis=1)
    query, key = np.nonzero(flags)
    picks = KeySelection.from_pairs(query, key, 7)
    value = _floats(chooser.integers(-3, 4, (2, 90, 3)))
    numbers = find_arithmetic("float64")
    for choice in CHOICES:
        chosen = flags.copy()
        if choice is not AttentionKind.AVERAGE:
            chosen[:] = False
            ends = [np.flatnonzero(row)[0 if choice is AttentionKind.LEFTMOST else -1] for row in flags]
            chosen[np.arange(7), ends] = True
        found = picks.break_ties(choice).mean(numbers, value)
        assert (found.value == numbers.average(chosen[None], value).value).all()


def test_rows_of_one_kind_are_equal_and_others_are_not() -> None:
    rows = _floats(np.random.default_rng(0).integers(0, 2, (1, 300, 5)))
    kinds = RowClasses.of_rows(rows)
    assert (rows.value[0, kinds.first][kinds.class_of] == rows.value[0]).all()
    assert len(np.unique(rows.value[0], axis=0)) == len(kinds.first)
    wrong = Tensor(rows.value, np.arange(1500.0).reshape(1, 300, 5))
    assert len(RowClasses.of_rows(wrong).first) == 300


def test_who_cannot_choose_says_where_and_between_which() -> None:
    """bfloat16 cannot distinguish the unit vectors of many addresses."""
    model = sm.compile(random_circuit(3, inputs=4, gates=30, outputs=1, fan_in=3), "circuit-threshold")
    tokens = model.codec.prompt(("1", "0", "1", "1")).tokens
    plain, quick = (outcome(model.weights, tokens, "bfloat16", count) for count in (NEVER, ALWAYS))
    assert isinstance(plain, str)
    assert isinstance(quick, str)
    assert "cannot choose between the positions" in plain
    assert quick.split(":")[0] == plain.split(":")[0]


def _floats(value: object) -> Tensor:
    number = np.asarray(value, dtype=np.float64)
    return Tensor(number, np.zeros(number.shape))
