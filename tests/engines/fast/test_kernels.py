"""The kernels that generated code calls, against plain Python; each also as machine code."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from softmachine.engines.fast import code_cache
from softmachine.engines.fast.indexes import groups, kernels, linear_scan
from softmachine.engines.fast.indexes import groups as finding
from softmachine.support.errors import PrecisionError
from softmachine.transformer.features import Relation
from tests.engines.fast.indexes import Index

Function = Callable[..., Any]


def both(function: Any) -> list[Function]:
    return [function, function.py_func]


@pytest.mark.parametrize("function", both(kernels.added))
def test_sums_of_fractions_are_right_or_refused(function: Function) -> None:
    rng = random.Random(1)
    refused = 0
    for _ in range(3000):
        large = 10 ** rng.choice([1, 3, 9, 18])
        a, b = (Fraction(rng.randrange(-large, large + 1), rng.randrange(1, large + 1)) for _ in range(2))
        n, d, bad = function(a.numerator, a.denominator, b.numerator, b.denominator)
        refused += bad
        if not bad:
            assert (n, d) == ((a + b).numerator, (a + b).denominator)
        else:
            assert large >= 10**9
    assert 0 < refused < 2500


@pytest.mark.parametrize("function", both(kernels.times))
def test_products_of_fractions_are_right_or_refused(function: Function) -> None:
    rng = random.Random(2)
    for _ in range(3000):
        large = 10 ** rng.choice([1, 3, 9, 18])
        a, b = (Fraction(rng.randrange(-large, large + 1), rng.randrange(1, large + 1)) for _ in range(2))
        n, d, bad = function(a.numerator, a.denominator, b.numerator, b.denominator)
        if not bad:
            assert Fraction(int(n), int(d)) == a * b
        else:
            assert large >= 10**9


@pytest.mark.parametrize("function", both(kernels.top_of_parabola))
def test_the_argmax_of_a_parabola_agrees_with_comparing_all_positions(function: Function) -> None:
    for slope in range(-14, 15):
        for curve in range(-4, 5):
            for last in range(-1, 7):
                scores = [slope * j + curve * j * j for j in range(last + 1)]
                best = [j for j, score in enumerate(scores) if score == max(scores)]
                kind, first, final = function(slope, curve, last)
                every = kind == kernels.EVERY
                found = list(range(last + 1)) if every else sorted({first, final}) if kind else []
                assert found == best, (slope, curve, last)


@pytest.mark.parametrize("function", both(kernels.top_of_parabola))
def test_steep_parabolas_do_not_overflow(function: Function) -> None:
    assert tuple(function(-(10**17), 10**17, 2**30)) == (kernels.SINGLE, 2**30, 2**30)
    assert tuple(function(10**17, -1, 2**30)) == (kernels.SINGLE, 2**30, 2**30)


@pytest.mark.parametrize("function", both(kernels.neighbours))
def test_neighbours_are_the_nearest_occupied_entries_on_both_sides(function: Function) -> None:
    rng = random.Random(3)
    for _ in range(500):
        first = rng.randrange(-20, 20)
        taken = sorted(rng.sample(range(first, first + 30), rng.randrange(1, 8)))
        there = np.zeros(30, dtype=np.int32)
        for place in taken:
            there[place - first] = 1
        n = rng.randrange(-60, 80)
        below, above = function(there, first, taken[0], taken[-1], n, 1)
        at_or_below, over = [p for p in taken if p <= n], [p for p in taken if p > n]
        assert below == (max(at_or_below) if at_or_below else min(over))
        assert above == (min(over) if over else max(at_or_below))


def brute_force(keys: list[list[int]], query: list[int], time: int, choice: int) -> list[int]:
    scores = [sum(q * k for q, k in zip(query, key, strict=True)) + time * j for j, key in enumerate(keys)]
    best = [j for j, score in enumerate(scores) if score == max(scores)]
    return {finding.AVERAGE: best, finding.LEFTMOST: best[:1], finding.RIGHTMOST: best[-1:]}[choice]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("plain", [True, False])
def test_groups_agree_with_comparing_all_keys(seed: int, plain: bool) -> None:
    rng = random.Random(seed)
    width, spread = rng.randrange(1, 5), rng.choice([1, 2, 6])
    index = Index(width, 2, plain=plain)
    seen: list[list[int]] = []
    held: list[list[int]] = []
    for i in range(150):
        key = [rng.randrange(-spread, spread + 1) for _ in range(width)]
        value = [rng.randrange(-9, 10), i]
        seen.append(key)
        held.append(value)
        index.insert(key, value)
        for choice in (finding.AVERAGE, finding.LEFTMOST, finding.RIGHTMOST):
            query, time = [rng.randrange(-3, 4) for _ in range(width)], rng.choice([-1, 0, 0, 1])
            count, bad, out = index.search(query, time, choice)
            chosen = brute_force(seen, query, time, choice)
            assert not bad
            assert count == len(chosen)
            assert out == [sum(held[j][k] for j in chosen) for k in range(2)]


@pytest.mark.parametrize("seed", range(6))
def test_arbitrary_biases_use_a_linear_scan(seed: int) -> None:
    rng = random.Random(seed)
    width, count = rng.randrange(4), 30
    keys = np.array([[rng.randrange(-2, 3) for _ in range(width)] for _ in range(count)]).reshape(count, width)
    values = np.array([[rng.randrange(-9, 10), j] for j in range(count)])
    meta, out = np.array([0, 0, 6]), np.zeros(2, dtype=np.int64)
    search_all = code_cache.without_numba(vars(linear_scan))["search_all"]
    for _ in range(60):
        biases, query = (
            np.array([rng.randrange(-6, 7) for _ in range(count)]),
            [rng.randrange(-3, 4) for _ in range(width)],
        )
        time, visible, choice = rng.choice([-1, 0, 1]), rng.randrange(count + 1), rng.randrange(3)
        scores = [
            Fraction(sum(q * int(k) for q, k in zip(query, keys[j], strict=True)) + time * j, 5)
            + Fraction(int(biases[j]), 6)
            for j in range(visible)
        ]
        best = [j for j, score in enumerate(scores) if score == max(scores)]
        best = {finding.AVERAGE: best, finding.LEFTMOST: best[:1], finding.RIGHTMOST: best[-1:]}[choice]
        arguments = (np.array(query, dtype=np.int64), time, 5, visible, choice, False, False, out)
        found, bad = search_all(keys, values, biases, meta, *arguments)
        assert not bad
        assert found == len(best)
        assert not best or out.tolist() == values[best].sum(axis=0).tolist()


@dataclass(frozen=True)
class Steep(Relation):
    name: ClassVar[str] = "steep"

    def value(self, key: int, query: int) -> Fraction:
        return Fraction(1, 3**key) if query > 50 else Fraction(key, 1 + query)


def test_biases_that_do_not_fit_are_refused() -> None:
    row = np.zeros(64, dtype=np.int64)
    assert linear_scan.tabulate_bias(Steep(), 6, row) == 7
    assert row[:7].tolist() == list(range(7))
    with pytest.raises(PrecisionError, match="steep"):
        linear_scan.tabulate_bias(Steep(), 60, row)


def test_scores_that_do_not_fit_are_refused() -> None:
    keys = np.array([[2**61]], dtype=np.int64)
    assert groups.score_group(keys, 0, np.array([4]), 0, 0, False)[2]
    assert not groups.score_group(keys, 0, np.array([1]), 0, 0, False)[2]


def fraction_pair(value: Fraction) -> tuple[int, int]:
    return value.numerator, value.denominator


@pytest.mark.parametrize("seed", range(6))
def test_keys_and_values_that_are_fractions(seed: int) -> None:
    rng = random.Random(seed)
    d = rng.randrange(1, 4)
    index = Index(d, 2, fractional_keys=True, fractions=True)
    keys: list[list[Fraction]] = []
    values: list[Fraction] = []
    for i in range(60):
        x = Fraction(rng.randrange(-40, 41), rng.choice([1, 2, 3, 7, 12]))
        keys.append([x, x * x, Fraction(rng.randrange(-2, 3), 3)][:d])
        values.append(Fraction(rng.randrange(-9, 10), rng.choice([1, 2, 3])))
        index.insert([n for part in keys[-1] for n in fraction_pair(part)], fraction_pair(values[-1]))
        if i < 10 or i % 7:
            continue
        for choice in (finding.AVERAGE, finding.LEFTMOST, finding.RIGHTMOST):
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


def test_overflowing_sums_are_refused_only_if_they_are_used() -> None:
    index = Index(1, 1)
    for i in range(30):
        index.insert([i], [3 * 10**18])
    assert index.search([0], 0, finding.AVERAGE)[1]
    assert index.search([1], 0, finding.AVERAGE) == (1, False, [3 * 10**18])
    assert index.search([0], 0, finding.LEFTMOST) == (1, False, [3 * 10**18])
    assert index.search([0], 1, finding.AVERAGE) == (1, False, [3 * 10**18])


def test_scores_of_groups_that_do_not_fit_are_refused() -> None:
    index = Index(1, 1)
    for i in range(30):
        index.insert([2**61 + i], [i])
    assert index.search([4], 0, finding.LEFTMOST) == (1, False, [29])  # the corner needs no score
    assert index.search([4], 1, finding.LEFTMOST)[1]


@pytest.mark.parametrize("seed", range(12))
def test_corners_are_best_only_if_no_position_bonus_outweighs_a_step(seed: int) -> None:
    """Addresses in bits, with positions that count for more or less than a bit."""
    rng = random.Random(seed)
    width, index, seen = 4, Index(4), []
    for i in range(200):
        seen.append([rng.choice([-1, 1]) for _ in range(width)])
        index.insert(seen[-1], [i])
        query, time = [rng.choice([-1, 1]) * rng.choice([1, 50, 300]) for _ in range(width)], rng.choice([-2, -1, 1, 2])
        chosen = brute_force(seen, query, time, finding.AVERAGE)
        assert index.search(query, time, finding.AVERAGE) == (len(chosen), False, [sum(chosen)])
