from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.languages.counter import (
    And,
    Condition,
    CounterMachine,
    Or,
    Transition,
    holds,
    make_comparison,
    parse,
    to_text,
)
from softmachine.languages.formats import format_by_name, recognise
from softmachine.support.errors import SourceError
from softmachine.testing.counter import random_condition, random_counter_machine

EXAMPLE = """
input a b                       # counter a starts with the number of a's
counters x y z                  # more counters, starting at 0
start q0
accept yes
reject no
q0: a >= 2 -> q0: a -= 2, x += 1
q0: a = 1 and b = 0 -> yes  # a comment
q0: else -> no
"""


def test_the_example_is_parsed() -> None:
    machine = parse(EXAMPLE)
    assert (machine.name, machine.alphabet, machine.work_counters, machine.has_ordered_letters) == (
        "machine", ("a", "b"), ("x", "y", "z"), False,
    )  # fmt: skip
    assert (machine.start, machine.accept, machine.reject) == ("q0", ("yes",), ("no",))
    assert machine.transitions == (
        Transition("q0", make_comparison("a", ">=", 2), (("a", -2), ("x", 1)), "q0"),
        Transition("q0", And((make_comparison("a", "=", 1), make_comparison("b", "=", 0))), (), "yes"),
        Transition("q0", None, (), "no"),
    )
    assert machine.transitions[1].place is not None
    assert str(machine.transitions[1].place) == "<string>:8:1"


def condition(text: str) -> Condition:
    test = parse(f"input a b\nstart q\naccept q2\nq: {text} -> q2").transitions[0].test
    assert test is not None
    return test


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a = 1 or b = 1 and a = 2", "a = 1 or (b = 1 and a = 2)"),
        ("not a = 1 and b = 1", "(not (a = 1)) and b = 1"),
        ("2*a·3 ≥ 1", "6*a >= 1"),
        ("a == 1", "a = 1"),
        ("a ≠ b", "a != b"),
        ("2*(a - (b + 1)) < 0", "2*a - 2*b - 2 < 0"),
        ("-a + 5 − b <= −3 + 0", "- a - b + 5 <= - 3"),
        ("(((a > 1)))", "a > 1"),
        ("((a)) > (1)", "a > 1"),
        ("'a' > 1", "a > 1"),
    ],
)
def test_different_ways_to_write_a_test(text: str, same: str) -> None:
    assert condition(text) == condition(same)


def test_a_more_deeply_indented_line_continues_the_previous_one() -> None:
    machine = parse(
        "input a\nstart q\naccept y\nq: a > 3\n     or\n  # why not\n  a = 1 -> y:\n   a -= 1\nq: else -> y\n"
    )
    assert machine.transitions[0].test == Or((make_comparison("a", ">", 3), make_comparison("a", "=", 1)))
    assert machine.transitions[0].updates == (("a", -1),)


def test_keywords_may_be_names_where_they_are_unambiguous() -> None:
    machine = parse(
        "machine 'my machine'\ninput # 1 'and'  # two blanks make a comment\n"
        "counters order\nstart start\naccept accept\n"
        "start: '#' = 0 and '1' >= 1 and 'and' > 1 -> accept: 'and' -= 1\nstart: else -> input\ninput: order = 0 -> 7\n"
        "7 : else -> accept"
    )
    assert machine.name == "my machine"
    assert machine.alphabet == ("#", "1", "and")
    assert machine.states == ("start", "input", "7", "accept")
    assert parse(to_text(machine)) == machine


@pytest.mark.parametrize("seed", range(30))
def test_random_machines_survive_a_round_trip(seed: int) -> None:
    rng = random.Random(seed)
    machine = random_counter_machine(rng, letters=rng.randint(0, 3), work_counters=rng.randint(0, 3))
    text = to_text(machine)
    again = parse(text)
    assert to_text(again) == text
    # Conjunctions of one condition are written as that condition.
    assert [(one.source, one.updates, one.target) for one in again.transitions] == [
        (one.source, one.updates, one.target) for one in machine.transitions
    ]
    assert (again.alphabet, again.work_counters, again.has_ordered_letters) == (
        machine.alphabet,
        machine.work_counters,
        machine.has_ordered_letters,
    )
    values = [{name: rng.randint(0, 5) for name in machine.counters} for _ in range(50)]
    for one, two in zip(machine.transitions, again.transitions, strict=True):
        assert [holds(machine.guard(one), some) for some in values] == [
            holds(again.guard(two), some) for some in values
        ]


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_conditions_survive_a_round_trip(seed: int) -> None:
    one = random_condition(random.Random(seed), ("a", "b"), depth=4)
    two = condition(str(one))
    assert str(two) == str(one)
    assert [holds(one, {"a": a, "b": b}) for a in range(6) for b in range(6)] == [
        holds(two, {"a": a, "b": b}) for a in range(6) for b in range(6)
    ]


@given(st.lists(st.text(min_size=1, max_size=6), min_size=4, max_size=4, unique=True))
@settings(max_examples=100, deadline=None)
def test_names_of_any_characters_survive(names: list[str]) -> None:
    letters = tuple(name for name in names[:2] if not (len(name) > 1 and any(char.isspace() for char in name)))
    counter, state = names[2:]
    machine = CounterMachine(
        name=names[0], alphabet=letters, work_counters=(counter,), start=state,
        accept=("end",) if state != "end" else (),
        transitions=(
            Transition(state, make_comparison(counter, ">=", 1), ((counter, -1), *((s, 2) for s in letters)), state),
            Transition(state, None, (), "end" if state != "end" else state),
        ),
    )  # fmt: skip
    assert parse(to_text(machine)) == machine
    assert to_text(parse(to_text(machine))) == to_text(machine)


HEAD = "input a b\nstart q\naccept yes\n"


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("q: a > 2 > 3 -> yes", "4:10", "join comparisons with 'and'"),
        ("q: a => 3 -> yes", "4:7", "unexpected '>'"),
        ("q a -> b", "4:3", "expected ':'"),
        ("q: 2 a > 1 -> yes", "4:6", "write a product with *"),
        ("q: a*b = 1 -> yes", "4:5", "a product of counters is not linear"),
        ("q: true -> yes: a = 2", "4:19", "change a counter with += or -="),
        ("q: true ->", "4:11", "unexpected end of the transition"),
        ("q: 'a > 2", "4:4", "unterminated quote"),
        (r"q: '\q' > 2 -> yes", "4:4", "unknown escape"),
        ("q: a > 2 $ -> yes", "4:10", "unexpected character '$'"),
        ("q: a > 2000000000000000000 -> yes", "4:8", "numbers are at most"),
        ("q: a > 2 -> yes: a += " + "9" * 5000, "4:23", "numbers are at most"),
        ("start q", "4:1", "duplicate line 'start'"),
        ("order a b", "4:1", "expected nothing after 'order': the letters"),
        ("machine a b", "4:1", "expected one name after 'machine': the name of the machine"),
        ("q: " + "(" * 2000 + "a > 1 -> yes", "4:2003", "this bracket is never closed"),
        ("q: " + "not " * 2000 + "a > 1 -> yes", "4:7600", "nested more than 100 deep"),
        ("reject 'no", "4:8", "invalid quotes: expected a name"),
    ],
)
def test_syntax_errors_have_places(line: str, place: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(HEAD + line, source="m.cm")
    assert str(caught.value).startswith(f"m.cm:{place}: ")
    assert message in str(caught.value)
    assert "^" in str(caught.value)


def test_all_syntax_errors_are_reported_at_once() -> None:
    with pytest.raises(SourceError) as caught:
        parse("start q\nq: a > -> yes\nq: a 3 -> yes")
    assert str(caught.value).count("unexpected '") == 2
    assert "missing line 'input'" in str(caught.value)


def test_a_text_that_is_far_too_long_is_refused() -> None:
    with pytest.raises(SourceError, match="at most"):
        parse("#" * (1 << 21))


def test_it_is_recognised() -> None:
    assert format_by_name("counter").looks_like(EXAMPLE)
    assert recognise(EXAMPLE) == "counter"
    assert recognise("?", filename="x.CM") == "counter"
    assert not format_by_name("counter").looks_like("alphabet a\nACC <- #[Q_a] = 0")
    assert not format_by_name("counter").looks_like("start state: q\ntable:\n  q: {R: q}")
