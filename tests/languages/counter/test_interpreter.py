from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.languages.counter import (
    TRUE,
    Configuration,
    CounterMachine,
    CounterStopReason,
    RunError,
    Transition,
    execute,
    execute_from,
    interpreter,
    iterate_transitions,
    jit_interpreter,
    make_comparison,
    parse,
    replay,
)
from softmachine.support.errors import InputError, UsageError
from softmachine.support.token_array import CodeArray
from softmachine.testing.counter import random_counter_machine

HALVE = parse("input a\ncounters x\nstart q\naccept even\nreject odd\n"
              "q: a >= 2 -> q: a -= 2, x += 1\nq: a = 1 -> odd\nq: else -> even")  # fmt: skip
HEAD = "input a b\nstart q\naccept yes\nreject no\n"


def test_a_run_is_its_transitions() -> None:
    result = execute(HALVE, "aaaaa", trace=True)
    assert (result.verdict, result.reason, result.steps, result.state) == (
        "reject",
        CounterStopReason.REJECTING_STATE,
        3,
        "odd",
    )
    assert dict(result.counters) == {"a": 1, "x": 2}
    assert [str(one) for one in result.transitions or ()] == ["q: a >= 2 -> q: a -= 2, x += 1"] * 2 + [
        "q: a = 1 -> odd"
    ]
    assert tuple(iterate_transitions(HALVE, "aaaaa")) == result.transitions
    assert execute(HALVE, "aaaa").accepted


def test_the_empty_word_has_all_counters_at_0() -> None:
    assert execute(HALVE, "").accepted
    assert dict(execute(HALVE, "").counters) == {"a": 0, "x": 0}


def test_words_of_another_shape_are_rejected_before_the_first_step() -> None:
    machine = parse("order\n" + HEAD + "q: else -> yes")
    assert [word for word in ("", "a", "b", "ab", "aabb", "ba", "aba", "abb") if execute(machine, word).accepted] == [
        "", "a", "b", "ab", "aabb", "abb",
    ]  # fmt: skip
    rejected = execute(machine, "ba", trace=True)
    assert (rejected.reason, rejected.steps, rejected.transitions) == (CounterStopReason.WRONG_SHAPE, 0, ())
    assert rejected.halted
    assert list(iterate_transitions(machine, "ba")) == []


def test_a_start_state_that_accepts_makes_no_step() -> None:
    machine = CounterMachine(name="all", alphabet=("a",), start="q", accept=("q",), transitions=())
    assert execute(machine, "aaa").steps == 0
    assert execute(machine, "aaa").accepted


@pytest.mark.parametrize("plain_steps", [0, 10_000])
@pytest.mark.parametrize(
    ("lines", "word", "step", "message"),
    [
        ("q: a >= 2 -> q: a -= 2\nq: b >= 1 and a = 0 -> yes", "aaaab", None, ""),
        ("q: a >= 2 -> q: a -= 2\nq: b >= 1 and a = 0 -> yes", "aaaa", 3, "no transition of state 'q' applies"),
        ("q: a >= 1 -> q: a -= 2\nq: a = 0 -> yes", "aaa", 2, "takes counter 'a' to -1, below 0"),
    ],
)
def test_a_run_error_names_step_and_counters(
    monkeypatch: pytest.MonkeyPatch, lines: str, word: str, step: int | None, message: str, plain_steps: int
) -> None:
    monkeypatch.setattr(interpreter, "INTERPRETED_STEPS", plain_steps)
    machine = parse(HEAD + lines)
    if step is None:
        assert execute(machine, word).accepted
        return
    with pytest.raises(RunError) as caught:
        execute(machine, word)
    assert caught.value.step == step
    assert f"at step {step}, " in str(caught.value)
    assert message in str(caught.value)
    assert f"(a = {caught.value.counters['a']}, b = 0)" in str(caught.value)


@pytest.mark.parametrize("plain_steps", [0, 10_000])
def test_an_undetected_overlap_is_an_error_at_run_time(monkeypatch: pytest.MonkeyPatch, plain_steps: int) -> None:
    monkeypatch.setattr("softmachine.languages.counter.determinism.QUERY_BUDGET", 0)
    monkeypatch.setattr(interpreter, "INTERPRETED_STEPS", plain_steps)
    machine = parse(HEAD + "q: a >= 3 -> q: a -= 1\nq: 2*a = 3*b -> yes\nq: a < 3 and 2*a != 3*b -> no")
    assert not machine.determinism.is_proven
    assert execute(machine, "aa" + "b" * 9).verdict == "reject"
    with pytest.raises(RunError, match=r"at step 3, two transitions apply: .*a >= 3.* and .*2\*a = 3\*b"):
        execute(machine, "a" * 8 + "b" * 4)


def test_starting_values_are_checked() -> None:
    assert execute_from(HALVE, {"a": 7}).verdict == "reject"
    with pytest.raises(InputError, match="no counter 'z'"):
        execute_from(HALVE, {"z": 1})
    with pytest.raises(InputError, match="cannot start with -1"):
        execute_from(HALVE, {"a": -1})
    with pytest.raises(UsageError):
        execute(HALVE, "a", max_steps=-1)


def test_the_step_limit_ends_a_run_that_could_continue() -> None:
    assert not execute(HALVE, "aaaa", max_steps=2).halted
    assert execute(HALVE, "aaaa", max_steps=2).verdict is None
    assert execute(HALVE, "aaaa", max_steps=3).halted
    forever = parse(HEAD + "q: true -> q: a += 1")
    assert execute(forever, "", max_steps=200_000).counters["a"] == 200_000
    assert len(list(islice(iterate_transitions(forever, "ab"), 100))) == 100


@given(st.integers(0, 2**32), st.integers(0, 2000), st.integers(0, 50))
@settings(max_examples=80, deadline=None)
def test_the_compiled_loop_does_what_the_plain_one_does(seed: int, max_steps: int, plain_steps: int) -> None:
    rng = random.Random(seed)
    machine = random_counter_machine(rng, letters=rng.randint(1, 3), work_counters=rng.randint(0, 3))
    word = rng.choices(machine.alphabet, k=rng.randrange(12))
    plain = execute(machine, word, max_steps=max_steps, trace=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "INTERPRETED_STEPS", plain_steps)
        patch.setattr(jit_interpreter, "CHUNK_STEPS", rng.choice([1, 7, 1 << 22]))
        if rng.random() < 0.5:
            patch.setattr(jit_interpreter, "MAX_ABS_SUM", rng.choice([5, 50, 500]))
        handed_over = execute(machine, word, max_steps=max_steps)
    for field in ("verdict", "reason", "steps", "state", "counters"):
        assert getattr(handed_over, field) == getattr(plain, field), field


@given(st.integers(0, 2**32), st.integers(0, 2000), st.integers(0, 50))
@settings(max_examples=80, deadline=None)
def test_a_run_is_followed_by_the_compiled_loop_as_by_the_plain_one(
    seed: int, max_steps: int, plain_steps: int
) -> None:
    rng = random.Random(seed)
    machine = random_counter_machine(rng, letters=rng.randint(1, 3), work_counters=rng.randint(0, 3))
    start = machine.initial_counters(rng.choices(machine.alphabet, k=rng.randrange(12)))
    right = execute_from(machine, start, max_steps=max_steps, trace=True)
    codes = [machine.transitions.index(transition) for transition in right.transitions or ()]
    wrong = rng.randrange(len(codes)) if codes and rng.random() < 0.7 else None
    if wrong is not None:
        codes[wrong] = (codes[wrong] + 1) % len(machine.transitions)
    whole = wrong is None or machine.transitions[codes[wrong]] == (right.transitions or ())[wrong]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "INTERPRETED_STEPS", plain_steps)
        patch.setattr(jit_interpreter, "CHUNK_STEPS", rng.choice([1, 7, 1 << 22]))
        patch.setattr(jit_interpreter, "VERIFY_CHUNK_STEPS", rng.choice([1, 7, 1 << 22]))
        if rng.random() < 0.5:
            patch.setattr(jit_interpreter, "MAX_ABS_SUM", rng.choice([5, 50, 500]))
        followed = Configuration(machine.start, dict(start))
        taken = CodeArray(np.array(codes, dtype=np.uint8), machine.transitions)
        if whole:
            replay(machine, followed, taken)
            assert (followed.steps, followed.state, followed.counters) == (right.steps, right.state, right.counters)
            return
        with pytest.raises(RunError, match="is taken, but") as caught:
            replay(machine, followed, taken)
        assert caught.value.step == (wrong or 0) + 1


def test_counters_beyond_64_bits_are_exact() -> None:
    grow = Transition("q", make_comparison("x", "<", 100), (("a", 10**18), ("x", 1)), "q")
    check = Transition("q", make_comparison("x", ">=", 100), (), "r")
    shrink = Transition("r", make_comparison("a", ">=", 10**18), (("a", -(10**18)), ("y", 1)), "r")
    end = Transition("r", make_comparison("a", "<", 10**18), (), "yes")
    machine = CounterMachine(
        name="large", alphabet=("a",), work_counters=("x", "y"), start="q", accept=("yes",),
        transitions=(grow, check, shrink, end),
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "INTERPRETED_STEPS", 1)
        result = execute(machine, "aaa")
    assert dict(result.counters) == {"a": 3, "x": 100, "y": 100}
    largest = execute(machine, "aaa", max_steps=100, trace=True)
    assert largest.counters["a"] == 100 * 10**18 + 3 > 2**63


def test_a_machine_without_tests_is_compiled_too() -> None:
    machine = CounterMachine(
        name="up", alphabet=(), work_counters=("x",), start="q", transitions=(Transition("q", TRUE, (("x", 3),), "q"),)
    )
    assert execute(machine, "", max_steps=50_000).counters == {"x": 150_000}
