"""Linear temporal logic by masked unique-hard attention: no position features, one head an operator."""

from __future__ import annotations

import random
from functools import partial
from itertools import product

import pytest

import softmachine as sm
from softmachine.support.errors import ConstructionError
from softmachine.testing.temporal import ALL, COMPARISON, COUNT_PREDICATE, COUNTS, OF_LENGTH, random_formula
from softmachine.theorems.logic.temporal_unique_hard import signals
from softmachine.transformer.attention import AttentionKind
from tests.theorems import positionless

STAR_FREE = [name for name in (*ALL, OF_LENGTH) if name not in (*COUNTS, COUNT_PREDICATE, COMPARISON)]
UNIQUE = {AttentionKind.LEFTMOST, AttentionKind.RIGHTMOST}


compiled = partial(positionless.compiled, signals)
right = partial(positionless.right, signals)


@pytest.mark.parametrize("block", range(6))
def test_random_formulas_hold_where_the_evaluator_says(block: int) -> None:
    chooser = random.Random(block)
    words = [word for n in range(1, 5) for word in product("ab", repeat=n)]
    for seed in range(8 * block, 8 * (block + 1)):
        formula = random_formula(random.Random(seed), 4, "ab", STAR_FREE)
        right(formula, words, "float64")
        right(formula, [tuple(chooser.choices("ab", k=n)) for n in (5, 30)], "exact")


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_a_thousand_random_formulas_hold_where_the_evaluator_says(block: int) -> None:
    words = [word for n in range(1, 7) for word in product("ab", repeat=n)]
    for seed in range(1000 + 50 * block, 1000 + 50 * (block + 1)):
        right(random_formula(random.Random(seed), 5, "ab", STAR_FREE), words, "float64")


@pytest.mark.parametrize("depth", range(1, 8))
@pytest.mark.parametrize("operator", ["prev ", "next "])
def test_one_head_and_one_layer_a_neighbour_and_no_position_feature(operator: str, depth: int) -> None:
    model, _ = compiled(operator * depth + "Q_a")
    assert not model.features
    assert len(model.heads) == depth
    assert {head.weighting.kind for head in model.heads} <= UNIQUE


@pytest.mark.parametrize("depth", range(1, 8))
@pytest.mark.parametrize("operator", ["since", "until"])
def test_one_head_a_since_and_no_position_feature(operator: str, depth: int) -> None:
    formula = "Q_b"
    for _ in range(depth):
        formula = f"not (Q_a {operator} {formula})"
    model, _ = compiled(formula)
    assert not model.features
    assert len(model.heads) == depth


def test_a_formula_of_the_past_is_a_decoder() -> None:
    assert compiled("Q_a since prev Q_b")[0].is_causal
    assert not compiled("Q_a until Q_b")[0].is_causal


def test_counts_are_refused() -> None:
    for formula in ("#<[Q_a] > 2", "odd(#>[Q_a])"):
        with pytest.raises(ConstructionError, match="unique-hard attention cannot count"):
            sm.compile(formula, "temporal-unique-hard")
