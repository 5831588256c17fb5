"""Temporal logic with counting by hard attention and layer norm: no position features, right at every position."""

from __future__ import annotations

import random
from functools import partial
from itertools import product

import pytest

import softmachine as sm
from softmachine.languages.temporal import Formula, parse_formula, subformulas, to_core
from softmachine.languages.temporal.formula import NumericalPredicate
from softmachine.support.errors import ConstructionError
from softmachine.testing.temporal import ALL, OF_LENGTH, random_formula
from softmachine.theorems.logic.temporal_layer_norm import signals
from tests.theorems import positionless

FORMULAS = [
    "#<[Q_a] > #<[Q_b]", "#>[Q_a] = 1", "2*#<[Q_a] - 3*#<[Q_b] + 1 <= 0", "#<[#<[Q_a] >= #<[Q_b]] != 2",
    "odd(#<[Q_a])", "mod(#>[Q_a],3,0)", "divides(#<[Q_a])", "half(#>[Q_b])", "prev #<[Q_a] = 2", "last and first",
    "(#<[Q_a] >= 2) since Q_b", "#<[odd(#<[Q_a])] > 1",
]  # fmt: skip


compiled = partial(positionless.compiled, signals)
right = partial(positionless.right, signals)


def hashes(formula: Formula) -> bool:
    return any(isinstance(part, NumericalPredicate) and part.parts for part in subformulas(to_core(formula)))


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_hold_where_the_evaluator_says(formula: str) -> None:
    words = [word for n in range(1, 6) for word in product("ab", repeat=n)]
    right(formula, words, "float64")
    right(formula, words[:14], "ball")
    if not hashes(parse_formula(formula)):
        right(formula, words[:14], "exact")


@pytest.mark.parametrize("block", range(4))
def test_random_formulas_hold_where_the_evaluator_says(block: int) -> None:
    words = [word for n in range(1, 5) for word in product("ab", repeat=n)]
    for seed in range(10 * block, 10 * (block + 1)):
        formula = random_formula(random.Random(seed), 3, "ab", (*ALL, OF_LENGTH))
        try:
            right(formula, words, "float64")
        except ConstructionError as error:
            assert "both directions" in str(error)  # noqa: PT017


@pytest.mark.parametrize("n", [20, 60, 200])
def test_formulas_hold_on_longer_words(n: int) -> None:
    chooser = random.Random(n)
    words = [tuple(chooser.choices("ab", k=n)) for _ in range(2)]
    for formula in ("#<[Q_a] >= #<[Q_b]", "odd(#<[Q_a])", "divides(#>[Q_b])"):
        right(formula, words, "float64")


def test_there_are_no_position_features_but_predicates() -> None:
    for formula in FORMULAS:
        model, _ = compiled(formula)
        assert all(feature.name.startswith("predicate(") for feature in model.features), formula


@pytest.mark.parametrize("counts", range(1, 8))
def test_a_comparison_costs_a_head_a_count_and_one_more(counts: int) -> None:
    """As many uniform heads as there are counts, one for 1/(i+1), and two layer norms of one number each."""
    total = " + ".join(f"{k}*#<[{'prev ' * (k - 1)}Q_a]" for k in range(1, counts + 1))
    model, _ = compiled(f"{total} >= 3")
    previous = counts - 1
    assert len(model.heads) == counts + 1 + previous
    groups = [group for layer in model.layers for group in layer.feed_forward.norms]
    assert [len(group) for group in groups] == [1]


@pytest.mark.parametrize("depth", range(1, 7))
def test_a_predicate_of_a_count_costs_two_hashes_and_two_layers_more(depth: int) -> None:
    formula = "Q_a"
    for _ in range(depth):
        formula = f"odd(#<[{formula}])"
    model, _ = compiled(formula)
    assert len(model.heads) == 2 * depth + 1
    groups = [group for layer in model.layers for group in layer.feed_forward.norms]
    assert [len(group) for group in groups] == [2] * (depth + 1)


def test_counts_of_both_directions_are_refused() -> None:
    with pytest.raises(ConstructionError, match="both directions have no common unit"):
        sm.compile("#<[Q_a] > #>[Q_b]", "temporal-layer-norm")
