from __future__ import annotations

import random
from itertools import product

import pytest

from softmachine.languages.counter import And, CounterComparison, LinearExpression, Relation, holds, make_comparison
from softmachine.languages.counter.determinism import Budget, BudgetExceededError, find_solution
from softmachine.testing.counter import random_condition


def at_least(constant: int, **factors: int) -> CounterComparison:
    """The sum of counters with these factors and a constant is at least 0."""
    return make_comparison(
        LinearExpression(tuple((factor, name) for name, factor in factors.items()), constant), ">=", 0
    )


def test_it_decides_as_trying_out_does() -> None:
    rng = random.Random(1991)
    solvable = 0
    for _ in range(400):
        names = "xyz"[: rng.randint(1, 3)]
        comparisons = [make_comparison(name, "<=", 9) for name in names]
        for _ in range(rng.randint(1, 4)):
            terms = tuple((rng.randint(-5, 5), name) for name in names)
            relation = Relation.EQUAL if rng.random() < 0.3 else rng.choice(list(Relation))
            comparisons.append(make_comparison(LinearExpression(terms, rng.randint(-12, 12)), relation, 0))
        every = (dict(zip(names, values, strict=True)) for values in product(range(10), repeat=len(names)))
        expected = any(holds(And(tuple(comparisons)), values) for values in every)
        found = find_solution(comparisons, Budget(10**6))
        assert (found is not None) == expected, comparisons
        if found is not None:
            solvable += 1
            assert holds(And(tuple(comparisons)), found)
            assert min(found.values()) >= 0
    assert 80 < solvable < 320


def test_pughs_example_has_real_solutions_but_no_integer_one() -> None:
    comparisons = [
        at_least(-27, x=11, y=13),
        at_least(45, x=-11, y=-13),
        at_least(10, x=7, y=-9),
        at_least(4, x=-7, y=9),
    ]
    assert find_solution(comparisons, Budget(10**6)) is None


def test_unbounded_solutions_far_away_are_found() -> None:
    equation = make_comparison(LinearExpression(((27, "x"), (-31, "y"))), "=", 14)
    found = find_solution([equation, make_comparison("x", ">=", 10**15)], Budget(10**6))
    assert found is not None
    assert holds(equation, found)
    assert found["x"] >= 10**15


def test_a_query_beyond_the_budget_is_reported() -> None:
    hard = [at_least(-1, x=10**9 + 7, y=-(10**9 + 9)), at_least(2, x=-(10**9 + 7), y=10**9 + 9)]
    with pytest.raises(BudgetExceededError):
        find_solution(hard, Budget(10))


def test_satisfiability_agrees_with_small_values() -> None:
    rng = random.Random(4)
    names = ("x", "y")
    limits = [make_comparison(name, "<=", 8) for name in names]
    outcomes = []
    for _ in range(300):
        conditions = [random_condition(rng, names), random_condition(rng, names), *limits]
        expected = any(
            all(holds(condition, {"x": x, "y": y}) for condition in conditions)
            for x, y in product(range(9), repeat=2)
        )  # fmt: skip
        found = find_solution(conditions, Budget(10**6))
        assert (found is not None) == expected, [str(condition) for condition in conditions]
        outcomes.append(expected)
        if found is not None:
            assert all(holds(condition, found) for condition in conditions)
    assert 50 < sum(outcomes) < 290
