"""Error bounds shared by a batch: decisions agree with exact arithmetic, and undecided sequences are flagged."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.check import check_inputs
from softmachine.engines.dense import acceleration
from softmachine.engines.dense.acceleration import Accelerator, BatchEngine
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics.float_affine import ROUNDING_SLACK
from softmachine.engines.numerics.float_batched import BatchFloat, BatchTensor
from softmachine.support.errors import SoftmachineError
from softmachine.transformer.attention import softmax_weighting
from softmachine.transformer.features import I_PLUS_ONE
from softmachine.transformer.weights import Transformer
from tests.sources.transformers import HARD, VOCABULARY, RandomTransformer

SOFT = (softmax_weighting(), softmax_weighting(Fraction(7)), softmax_weighting(100 * I_PLUS_ONE))


def words(length: int, most: int) -> list[tuple[str, ...]]:
    every = list(product(VOCABULARY, repeat=length))
    return every[:: max(1, len(every) // most)][:most]


def decided_right(transformer: Transformer, length: int, reference: str, found: Counter[str]) -> None:
    """Decided outputs equal those of each word alone; words undecided on their own are flagged."""
    some, engine = words(length, 8), DenseEngine(transformer, reference)
    together = BatchEngine(transformer)
    said, doubtful = together.predict_indices(engine.encode(some), None)
    for word, outputs, open_ in zip(some, said, doubtful, strict=True):
        found["open" if open_ else "decided"] += 1
        if not open_:
            assert engine.predict([word])[0] == [transformer.outputs[k] for k in outputs], word


@pytest.mark.parametrize("denominators", [(1, 1, 1, 2, 3), (1,), (3, 7), (1, 2**12), (2**30, 3 * 2**30)])
def test_random_transformers_are_decided_as_exactly_or_not_at_all(denominators: tuple[int, ...]) -> None:
    found: Counter[str] = Counter()
    for seed in range(16):
        decided_right(
            RandomTransformer(seed, weightings=HARD, denominators=denominators).transformer(),
            1 + seed % 5,
            "exact",
            found,
        )
    assert found["decided"] > 40, found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_random_transformers_are_decided_as_exactly_or_not_at_all(part: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        denominators = ((1, 1, 2, 3), (1, 2, 4), (1, 7, 2**25))[seed % 3]
        decided_right(RandomTransformer(seed, denominators=denominators).transformer(), 1 + seed % 7, "exact", found)
    assert found["decided"] > 200, found


def test_random_softmax_is_decided_as_in_balls_or_not_at_all() -> None:
    found: Counter[str] = Counter()
    for seed in range(25):
        decided_right(RandomTransformer(seed, weightings=SOFT).transformer(), 1 + seed % 4, "ball", found)
    assert found["decided"] > 40, found


def test_the_residual_stream_is_within_its_bound_at_every_sequence_that_is_not_in_doubt() -> None:
    checked = 0
    for seed in range(30):
        transformer, some = RandomTransformer(seed).transformer(), words(1 + seed % 5, 8)
        numbers = BatchFloat()
        engine = DenseEngine(transformer, numbers)
        numbers.start_batch(len(some))
        stream = engine.residual_stream(some)
        assert stream.error is not None
        for b in np.flatnonzero(~numbers.undecided):
            exact = DenseEngine(transformer, "exact").residual_stream([some[b]]).value[0]
            for index in np.ndindex(*exact.shape):
                distance = abs(Fraction(float(stream.value[(b, *index)])) - Fraction(str(exact[index])))
                assert distance <= Fraction(float(stream.error[(0, *index)])) * Fraction(ROUNDING_SLACK), (
                    seed,
                    b,
                    index,
                )
                checked += 1
    assert checked > 300


def test_softmax_is_within_its_bound_of_what_bounds_for_each_sequence_say() -> None:
    checked = 0
    for seed in range(60):
        transformer, some = RandomTransformer(seed, weightings=SOFT).transformer(), words(1 + seed % 5, 8)
        numbers = BatchFloat()
        numbers.start_batch(len(some))
        try:
            careful = DenseEngine(transformer).residual_stream(some)
            stream = DenseEngine(transformer, numbers).residual_stream(some)
        except SoftmachineError:
            continue
        assert stream.error is not None
        assert careful.error is not None
        apart = np.abs(stream.value - careful.value)[~numbers.undecided]
        assert (apart <= ((stream.error + careful.error) * ROUNDING_SLACK)[~numbers.undecided]).all(), seed
        checked += apart.size
    assert checked > 300


def test_formulas_are_answered_without_looking_at_words_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a word was looked at alone")

    monkeypatch.setattr(Accelerator, "predict_chunks", never)
    for attention in ("hard", "soft"):
        model = sm.compile("odd(#<[Q_a]) and always (Q_a -> once Q_b)", attention=attention)
        assert check_inputs(model, product("ab", repeat=8)).holds


def test_what_is_left_open_is_decided_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model = sm.compile("Q_a since Q_b", attention="soft")
    some = list(product(["a", "b"], repeat=7))
    prompts = [model.codec.prompt(word) for word in some]
    tokens = [prompt.tokens for prompt in prompts]
    alone = [DenseEngine(model.weights).predict([word], 7)[0] for word in tokens]
    decided = BatchEngine.predict_indices

    def doubts(self: BatchEngine, *arguments: object) -> object:
        found, doubtful = decided(self, *arguments)  # type: ignore[arg-type]
        found[::3], doubtful[::3] = 0, True
        return found, doubtful

    monkeypatch.setattr(BatchEngine, "predict_indices", doubts)
    assert len(some) >= acceleration.MIN_SHARED_BATCH
    assert DenseEngine(model.weights).predict(tokens, 7) == alone


def test_a_doubt_that_all_sequences_share_is_one_about_each() -> None:
    """Queries and keys that are equal in all sequences have batch size 1."""
    numbers = BatchFloat()
    numbers.start_batch(5)

    def rows(*values: float) -> BatchTensor:
        memory = np.array(values)[None, :, None]
        error = np.full((1, len(values), 1), 1e-9)
        grid = np.full(error.shape, 127, dtype=np.int8)
        return BatchTensor(memory.T, error, size=np.abs(memory).transpose(2, 1, 0), grid=grid)

    visible = np.array([[True, True, False], [True, False, True], [False, False, False]])
    chosen = numbers.select_best_keys(rows(1, 1, 1), rows(0.5, 0.25, 0.5), None, visible)
    assert numbers.undecided.all()
    assert chosen.tolist() == [[[True, False, False], [True, False, True], [False, False, False]]]
    numbers.start_batch(5)
    numbers.select_best_keys(rows(1, 1, 1), rows(0.5, 0.25, 0.125), None, visible)
    assert not numbers.undecided.any()
