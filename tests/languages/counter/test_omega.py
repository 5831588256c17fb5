from __future__ import annotations

import random
from itertools import product

import pytest

from softmachine.languages.counter import compare
from softmachine.languages.counter.omega import Budget, Constraint, OutOfBudgetError, natural_solution
from softmachine.languages.counter.satisfiability import common_solution
from tests.sources.counter_machines import random_condition


def satisfied(constraint: Constraint, values: dict[str, int]) -> bool:
    value = constraint.value(values)
    return value == 0 if constraint.is_equation else value >= 0


def test_it_decides_as_trying_out_does() -> None:
    rng = random.Random(1991)
    solvable = 0
    for _ in range(400):
        names = "xyz"[: rng.randint(1, 3)]
        constraints = [Constraint({name: -1}, 9) for name in names]
        for _ in range(rng.randint(1, 4)):
            coefficients = {name: rng.randint(-5, 5) for name in names}
            nonzero = {name: value for name, value in coefficients.items() if value}
            constraints.append(Constraint(nonzero, rng.randint(-12, 12), rng.random() < 0.3))
        every = (dict(zip(names, values, strict=True)) for values in product(range(10), repeat=len(names)))
        expected = any(all(satisfied(constraint, values) for constraint in constraints) for values in every)
        found = natural_solution(constraints, Budget(10**6))
        assert (found is not None) == expected, constraints
        if found is not None:
            solvable += 1
            assert all(satisfied(constraint, found) for constraint in constraints)
            assert min(found.values()) >= 0
    assert 80 < solvable < 320


def test_pughs_example_has_real_solutions_but_no_integer_one() -> None:
    constraints = [
        Constraint({"x": 11, "y": 13}, -27), Constraint({"x": -11, "y": -13}, 45),
        Constraint({"x": 7, "y": -9}, 10), Constraint({"x": -7, "y": 9}, 4),
    ]  # fmt: skip
    assert natural_solution(constraints, Budget(10**6)) is None


def test_unbounded_solutions_far_away_are_found() -> None:
    found = natural_solution(
        [Constraint({"x": 27, "y": -31}, -14, True), Constraint({"x": 1}, -(10**15))], Budget(10**6)
    )
    assert found is not None
    assert 27 * found["x"] - 31 * found["y"] == 14
    assert found["x"] >= 10**15


def test_what_is_too_hard_is_said_to_be() -> None:
    hard = [Constraint({"x": 10**9 + 7, "y": -(10**9 + 9)}, -1), Constraint({"x": -(10**9 + 7), "y": 10**9 + 9}, 2)]
    with pytest.raises(OutOfBudgetError):
        natural_solution(hard, Budget(10))


def test_conditions_hold_together_just_if_small_values_say_so() -> None:
    rng = random.Random(4)
    names = ("x", "y")
    limits = [compare(name, "<=", 8) for name in names]
    outcomes = []
    for _ in range(300):
        conditions = [random_condition(rng, names), random_condition(rng, names), *limits]
        expected = any(
            all(condition.holds({"x": x, "y": y}) for condition in conditions)
            for x, y in product(range(9), repeat=2)
        )  # fmt: skip
        found = common_solution(conditions, Budget(10**6))
        assert (found is not None) == expected, [str(condition) for condition in conditions]
        outcomes.append(expected)
        if found is not None:
            assert all(condition.holds(found) for condition in conditions)
    assert 50 < sum(outcomes) < 290
