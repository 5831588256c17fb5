"""The k-d forest: what it finds is what comparing all keys finds, ties included, for keys of every shape."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from softmachine.engines.fast import store
from softmachine.engines.fast.indexes import boxes, descent, finding, forest
from tests.engines.fast.conftest import lower_thresholds
from tests.engines.fast.indexes import Index

Integers = NDArray[np.int64]
CHOICES = (finding.AVERAGE, finding.LEFTMOST, finding.RIGHTMOST)


def parabola(rng: random.Random, d: int) -> list[int]:
    x = rng.randrange(-2000, 2000)
    return [x, x * x, *(rng.randrange(2) for _ in range(d - 2))][:d]


def paraboloid(rng: random.Random, d: int) -> list[int]:
    xs = [rng.randrange(-30, 30) for _ in range(d - 1)]
    return [*xs, sum(x * x for x in xs)]


def grid(rng: random.Random, d: int) -> list[int]:
    return [rng.randrange(-6, 7) for _ in range(d)]


def clusters(rng: random.Random, d: int) -> list[int]:
    centre = rng.choice([-(10**8), 0, 5, 10**8])
    return [centre + rng.randrange(-4, 5) for _ in range(d)]


def far_parabola(rng: random.Random, d: int) -> list[int]:
    x = rng.randrange(2**30 - 3000, 2**30)
    return [x, x * x, *(rng.randrange(3) for _ in range(d - 2))][:d]


def line(rng: random.Random, d: int) -> list[int]:
    x = rng.randrange(-300, 300)
    return [(k + 2) * x + rng.randrange(2) for k in range(d)]


SHAPES = (parabola, paraboloid, grid, clusters, far_parabola, line)


def query_for(rng: random.Random, shape: Callable[..., list[int]], key: list[int]) -> list[int]:
    """A query that is not too easy: near to a key of a curved shape, or small numbers, so that there are ties."""
    d = len(key)
    if shape in (parabola, far_parabola) and d > 1 and rng.random() < 0.7:
        return [2 * (key[0] + rng.randrange(-2, 3)), -1, *(rng.randrange(-1, 2) for _ in range(d - 2))]
    if shape is paraboloid and rng.random() < 0.7:
        return [*(2 * x + rng.randrange(-1, 2) for x in key[:-1]), -1]
    return [rng.randrange(-2, 3) for _ in range(d)]


def chosen(scores: Integers, choice: int) -> Integers:
    best = np.flatnonzero(scores == scores.max())
    return best[:1] if choice == finding.LEFTMOST else best[-1:] if choice == finding.RIGHTMOST else best


def agrees(seed: int, positions: int, *, plain: bool = False) -> int:
    """Fill an index step by step, and compare answers; how many."""
    rng = random.Random(seed)
    shape, d = SHAPES[seed % len(SHAPES)], rng.randrange(1, 5)
    index, compared = Index(d, 2, plain=plain), 0
    pool = [shape(rng, d) for _ in range(positions)]
    keys: Integers = np.zeros((positions, d), dtype=np.int64)
    values: Integers = np.zeros((positions, 2), dtype=np.int64)
    for i in range(positions):
        key = rng.choice(pool)
        keys[i], values[i] = key, (rng.randrange(-9, 10), i)
        index.insert(key, values[i].tolist())
        for _ in range(4 if i % 5 == 0 or i + 100 > positions else 0):
            query, time, choice = (
                query_for(rng, shape, rng.choice(pool)),
                rng.choice([-1, 0, 0, 1]),
                rng.choice(CHOICES),
            )
            count, bad, found = index.search(query, time, choice)
            sizes = np.abs(keys[: i + 1] * np.array(query, dtype=float)).sum(axis=1)
            assert not bad or sizes.max() > 3e18
            if bad:
                continue
            scores = keys[: i + 1] @ np.array(query) + time * np.arange(i + 1)
            best = chosen(scores, choice)
            assert count == len(best), (seed, i, query, time, choice)
            assert found == values[best].sum(axis=0).tolist()
            compared += 1
    return compared


@pytest.mark.parametrize("seed", range(18))
def test_the_forest_finds_what_comparing_all_keys_finds(seed: int) -> None:
    assert agrees(seed, 700) > 300


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_hundreds_of_thousands_of_searches(part: int) -> None:
    assert sum(agrees(seed, 3000) for seed in range(100 + 12 * part, 112 + 12 * part)) > 30_000


@pytest.fixture
def small_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees of so few groups that short runs have many of them; for plain Python."""
    lower_thresholds(monkeypatch)


@pytest.mark.usefixtures("small_trees")
@pytest.mark.parametrize("seed", range(12))
def test_small_trees_as_plain_python(seed: int) -> None:
    assert agrees(seed, 40, plain=True) > 100


def fraction_pair(value: Fraction) -> tuple[int, int]:
    return value.numerator, value.denominator


@pytest.mark.parametrize("seed", range(6))
def test_keys_and_values_that_are_fractions(seed: int) -> None:
    rng = random.Random(seed)
    d = rng.randrange(1, 4)
    index = Index(d, 2, fractional_keys=True, fractions=True)
    keys: list[list[Fraction]] = []
    values: list[Fraction] = []
    for i in range(250):
        x = Fraction(rng.randrange(-40, 41), rng.choice([1, 2, 3, 7, 12]))
        keys.append([x, x * x, Fraction(rng.randrange(-2, 3), 3)][:d])
        values.append(Fraction(rng.randrange(-9, 10), rng.choice([1, 2, 3])))
        index.insert([n for part in keys[-1] for n in fraction_pair(part)], fraction_pair(values[-1]))
        if i < 130 or i % 10:
            continue
        for choice in CHOICES:
            time = rng.choice([-1, 0, 0, 1])
            query = [6 * rng.randrange(-40, 41), -3, rng.randrange(-3, 4)][:d]
            scores = [
                sum((q * k for q, k in zip(query, key, strict=True)), Fraction(time * j)) for j, key in enumerate(keys)
            ]
            best = [j for j, score in enumerate(scores) if score == max(scores)]
            best = {finding.AVERAGE: best, finding.LEFTMOST: best[:1], finding.RIGHTMOST: best[-1:]}[choice]
            count, bad, found = index.search(query, time, choice)
            assert not bad
            assert (count, Fraction(*found)) == (len(best), sum(values[j] for j in best))


def test_keys_too_large_for_boxes_are_found_all_the_same() -> None:
    index = Index(1, 1, fractional_keys=True)
    for i in range(300):
        index.insert([10**15 + 7 * (i * 37 % 300), 1], [i])
    last = next(i for i in range(300) if i * 37 % 300 == 299)
    assert index.search([-1], 0, finding.AVERAGE) == (1, False, [0])
    assert index.search([1], 0, finding.AVERAGE) == (1, False, [last])


def test_sums_that_do_not_fit_are_refused_only_if_they_are_wanted() -> None:
    index = Index(1, 1)
    for i in range(300):
        index.insert([i], [3 * 10**18])
    assert index.search([0], 0, finding.AVERAGE)[1]
    assert index.search([1], 0, finding.AVERAGE) == (1, False, [3 * 10**18])
    assert index.search([0], 0, finding.LEFTMOST) == (1, False, [3 * 10**18])
    assert index.search([0], 1, finding.AVERAGE) == (1, False, [3 * 10**18])


def test_scores_that_do_not_fit_are_refused() -> None:
    index = Index(1, 1)
    for i in range(300):
        index.insert([2**61 + i], [i])
    assert index.search([4], 0, finding.LEFTMOST) == (1, False, [299])  # the corner needs no score
    assert index.search([4], 1, finding.LEFTMOST)[1]


def test_few_of_many_keys_are_looked_at() -> None:
    """Oriented boxes: on a parabola the search goes down a path, not through all keys."""
    names = store.plain_names(vars(descent))
    looked: list[int] = []
    score = names["score"]

    def counted(*arguments: Any) -> Any:
        looked.append(1)
        return score(*arguments)

    names["score"] = counted
    index = Index(2)
    for x in random.Random(1).sample(range(-2048, 2048), 4096):
        index.insert([x, x * x], [x])
    index._search = names["search_forest"]
    for x in range(-1000, 1000, 100):
        looked.clear()
        assert index.search([2 * x, -1], 0, finding.AVERAGE) == (1, False, [x])
        assert len(looked) < 100


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("slack", [0, 1])
def test_no_key_in_a_box_is_above_its_bound(seed: int, slack: int) -> None:
    rng = random.Random(seed)
    d, count = rng.randrange(1, 6), 32
    shape = rng.choice([s for s in SHAPES if d > 1 or s is not paraboloid])
    names = store.plain_names(vars(boxes))
    near = np.array([shape(rng, d) for _ in range(count)])
    order, rest = np.arange(count), np.zeros_like(near)
    rows = np.zeros((1, boxes.box_width(d)), dtype=np.int64)
    names["enclose"](rows, 0, near, order, 0, count, slack, rest)
    for _ in range(40):
        query = np.array([rng.randrange(-5, 6) for _ in range(d)])
        most, same = names["bound"](rows, 0, query)
        scores = [
            sum(int(q) * (int(k) + (rng.randrange(2) if slack else 0)) for q, k in zip(query, key, strict=True))
            for key in near
        ]
        assert most == boxes.HUGE or max(scores) <= most
        assert not same or slack or min(scores) == most


def test_trees_follow_from_the_number_of_groups() -> None:
    tree_over = forest.tree_over.py_func  # type: ignore[attr-defined]
    for count in range(1, 40):
        groups = count * forest.BLOCK + 3
        ends, start = [0], 0
        while start < count * forest.BLOCK:
            begins, size = tree_over(groups, start)
            assert begins == start
            start += size
            ends.append(start)
        sizes = [b - a for a, b in pairwise(ends)]
        assert sizes == sorted(set(sizes), reverse=True)
        assert tree_over(groups, groups - 1)[1] == 0


def test_the_bound_of_a_parabola_is_tight() -> None:
    names: dict[str, Any] = store.plain_names(vars(boxes))
    xs = np.arange(100, 164)
    near = np.stack([xs, xs * xs], axis=1)
    rows = np.zeros((1, boxes.box_width(2)), dtype=np.int64)
    names["enclose"](rows, 0, near, np.arange(64), 0, 64, 0, np.zeros_like(near))
    most, _ = names["bound"](rows, 0, np.array([2 * 500, -1]))
    best = max(1000 * x - x * x for x in range(100, 164))
    assert best <= most <= best + 32 * 32
