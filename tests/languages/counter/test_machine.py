from __future__ import annotations

import random

import pytest

from softmachine.languages.counter import TRUE, CounterMachine, Not, Transition, execute, make_comparison, parse
from softmachine.languages.counter.machine import machine_table
from softmachine.languages.source import Source
from softmachine.support.errors import InputError, InvalidError
from softmachine.testing.counter import random_counter_machine

HEAD = "input a b\ncounters x\nstart q\naccept yes\nreject no\n"


def refusal(lines: str, head: str = HEAD) -> str:
    with pytest.raises(InvalidError) as caught:
        parse(head + lines)
    return str(caught.value)


def test_a_machine_is_a_source() -> None:
    machine = parse(HEAD + "q: else -> yes")
    assert isinstance(machine, Source)
    assert machine.word("abba") == ("a", "b", "b", "a")
    assert machine.counters == ("a", "b", "x")
    assert machine.states == ("q", "yes", "no")
    with pytest.raises(InputError, match="'c' at position 2"):
        execute(machine, "ac")


def test_two_tests_that_overlap_are_named_with_a_witness() -> None:
    text = refusal("q: a >= 2 -> q: a -= 2\nq: 2*a = b and x >= 7 -> yes\nq: else -> no\n")
    assert "transition 'q: a >= 2 -> q: a -= 2' (<string>:6:1)" in text
    assert "transition 'q: 2*a = b and x >= 7 -> yes' (<string>:7:1)" in text
    assert "both apply when a = 2, b = 4, x = 7" in text


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("a >= 2", "a < 2"),
        ("2*a = 3*b + 1", "a = 3*b"),
        ("2*a - 2*b = 1", "true"),
        ("a = b or x > 3", "a != b and x <= 3"),
        ("not (a > b and b > x)", "a > b and b > x"),
        ("11*a + 13*b >= 27 and 11*a + 13*b <= 45", "7*a - 9*b >= -10 and 7*a - 9*b <= 4"),
    ],
)
def test_tests_that_exclude_each_other_are_proven_to(one: str, two: str) -> None:
    assert parse(f"{HEAD}q: {one} -> yes\nq: {two} -> no").determinism.is_proven


def test_a_counter_that_cancels_out_has_a_value_too() -> None:
    assert parse(HEAD + "q: a + b = a + 1 -> yes\nq: x != x -> no\nq: else -> no").determinism.is_proven
    assert "both apply when a = 0, b = 1, x = 0" in refusal("q: a + b = a + 1 -> yes\nq: x = x and b >= 1 -> no")


def test_transitions_of_different_states_and_else_never_overlap() -> None:
    machine = parse(HEAD + "q: a >= 0 -> r\nr: a >= 0 -> yes\nr: else -> no")
    assert machine.determinism.is_proven


def test_a_counter_that_always_becomes_negative_is_detected_statically() -> None:
    text = refusal("q: a < 3 and b = 2 -> q: a -= 3\nq: else -> no")
    assert "(<string>:6:1) makes counter 'a' negative whenever it applies" in text
    assert parse(HEAD + "q: b = 2 -> q: a -= 3\nq: else -> no")  # not always
    assert parse(HEAD + "q: a < 0 -> q: a -= 3\nq: else -> no")  # never applies
    assert "makes counter 'x'" in refusal("q: x >= 1 -> no\nq: else -> q: x -= 1")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("q: y = 0 -> yes", "uses counter 'y', which does not exist (there are a b x)"),
        ("q: else -> yes: y += 1", "uses counter 'y'"),
        ("q: else -> r", "goes to state 'r', which does not exist: no transition leaves it"),
        ("r: else -> yes", "the initial state 'q' does not exist"),
        ("q: else -> yes\nyes: else -> q", "leaves a halting state"),
        ("q: else -> yes: x += 1, x += 2", "changes counter 'x' 2 times"),
        ("q: else -> yes\nq: else -> no", "second 'else' of state 'q'"),
    ],
)
def test_invalid_machines_are_reported(lines: str, message: str) -> None:
    assert message in refusal(lines)


def test_names_are_checked() -> None:
    assert "counter 'a' is listed 2 times" in refusal("", "input a\ncounters a\nstart q\naccept q\n")
    assert "both accepts and rejects" in refusal("", "input a\nstart q\naccept q\nreject q\n")
    assert "listed 2 times in 'accept'" in refusal("", "input a\nstart q\naccept q q\n")
    assert "contains whitespace" in refusal("", "input 'a b'\nstart q\naccept q\n")
    assert "empty name" in refusal("", "input ''\nstart q\naccept q\n")


def test_all_problems_are_reported_but_not_thousands() -> None:
    with pytest.raises(InvalidError) as caught:
        parse(HEAD + "\n".join(f"q: x = {number} -> r{number}" for number in range(1000)))
    assert len(caught.value.problems) == 21
    assert caught.value.problems[-1] == "… and 980 more"


def test_else_is_written_out_as_a_guard() -> None:
    one, other = Transition("q", make_comparison("a", ">=", 2), (), "q"), Transition("q", None, (), "yes")
    machine = CounterMachine(name="m", alphabet=("a",), start="q", accept=("yes",), transitions=(one, other))
    assert machine.guard(one) == one.test
    assert machine.guard(other) == Not(make_comparison("a", ">=", 2))
    alone = CounterMachine(name="m", alphabet=(), start="q", accept=("yes",), transitions=(other,))
    assert alone.guard(other) == TRUE


def test_a_machine_that_is_too_hard_to_decide_is_left_to_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    # Intervals of single counters do not separate these tests.
    lines = "\n".join(f"q: 20*a + {number} = 20*b + x and x = 0 -> q: b += 1" for number in range(1, 20))
    assert parse(HEAD + lines).determinism.is_proven
    monkeypatch.setattr("softmachine.languages.counter.determinism.MACHINE_BUDGET", 1000)
    assert not parse(HEAD + lines).determinism.is_proven


def test_random_machines_are_deterministic_by_construction() -> None:
    rng = random.Random(2)
    assert all(random_counter_machine(rng).determinism.is_proven for _ in range(40))


def test_the_html_table_escapes_every_name() -> None:
    machine = parse("input <\nstart '<q>'\naccept '<b>'\n'<q>': '<' >= 1 -> '<b>': '<' -= 1\n'<q>': else -> '<b>'")
    table = machine._repr_html_()
    assert table == machine_table(machine)
    assert table.count("<tr>") == 3
    assert "<q>" not in table
    assert "<b>" not in table
