"""The functions that generated code calls, against plain Python; every one also as machine code."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from softmachine.engines.fast import groups, kernels

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
def test_the_top_of_a_parabola_is_what_comparing_all_places_finds(function: Function) -> None:
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
def test_neighbours_are_the_nearest_places_on_both_sides(function: Function) -> None:
    rng = random.Random(3)
    for _ in range(500):
        first = rng.randrange(-20, 20)
        taken = sorted(rng.sample(range(first, first + 30), rng.randrange(1, 8)))
        there = np.full(30, -1, dtype=np.int64)
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
    return {groups.AVERAGE: best, groups.LEFTMOST: best[:1], groups.RIGHTMOST: best[-1:]}[choice]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("compiled", [True, False])
def test_groups_find_what_comparing_all_keys_finds(seed: int, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        for name in (
            "slot",
            "insert",
            "score",
            "compared",
            "search",
            "at_corner",
            "member",
            "sooner",
            "take",
            "add_to",
        ):
            monkeypatch.setattr(groups, name, getattr(groups, name).py_func)
    rng = random.Random(seed)
    width, spread = rng.randrange(1, 5), rng.choice([1, 2, 6])
    cap = 256
    keys, places, values = (np.zeros((cap, w), dtype=np.int64) for w in (width, 3, 6))
    slots, meta, box = np.full(1024, -1, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros((2, width), np.int64)
    corner, out = np.zeros(width, dtype=np.int64), np.zeros(2, dtype=np.int64)
    seen: list[list[int]] = []
    held: list[list[int]] = []
    for i in range(150):
        key = [rng.randrange(-spread, spread + 1) for _ in range(width)]
        value = [rng.randrange(-9, 10), i]
        seen.append(key)
        held.append(value)
        arrays = (keys, places, values, slots, meta, box)
        assert groups.insert(*arrays, np.array(key), np.array(value), i, False) == groups.FITS
        assert groups.insert(*arrays, np.array(key), np.array(value), i, False) == groups.FITS  # once is enough
        for choice in (groups.AVERAGE, groups.LEFTMOST, groups.RIGHTMOST):
            query, time = [rng.randrange(-3, 4) for _ in range(width)], rng.choice([-1, 0, 0, 1])
            count, bad = groups.search(*arrays, corner, np.array(query), time, choice, False, False, out)
            chosen = brute_force(seen, query, time, choice)
            assert not bad
            assert count == len(chosen)
            assert out.tolist() == [sum(held[j][k] for j in chosen) for k in range(2)]


def test_scores_that_do_not_fit_are_refused() -> None:
    keys = np.array([[2**61]], dtype=np.int64)
    assert groups.score(keys, 0, np.array([4]), 0, 0, False)[2]
    assert not groups.score(keys, 0, np.array([1]), 0, 0, False)[2]
