from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softmachine.languages.formats import format_by_name
from softmachine.languages.turing import Rule, TapeConvention, bbchallenge
from softmachine.support.errors import SourceError, UsageError
from softmachine.testing.turing import random_turing_machine

BUSY_BEAVER_4 = "1RB1LB_1LA0LC_1RZ1LD_1RD0RA"


def test_rows_are_states_and_columns_are_symbols() -> None:
    machine = bbchallenge.parse("1RB---_0LA1RZ")
    assert machine.states == ("A", "B", "Z")
    assert machine.rules == (
        Rule("A", ("0",), ("1",), ("R",), "B"),
        Rule("B", ("0",), ("0",), ("L",), "A"),
        Rule("B", ("1",), ("1",), ("R",), "Z"),
    )
    assert (machine.blank, machine.alphabet, machine.tape, machine.halting_states) == (
        "0",
        ("1",),
        TapeConvention.TWO_WAY,
        (),
    )


def test_any_letter_past_the_last_row_is_the_halting_state() -> None:
    written = [bbchallenge.parse(f"1RB1R{letter}_1LA1LB", name="same") for letter in "CHZ"]
    assert written[0] == written[1] == written[2]
    assert written[0].states == ("A", "B", "Z")


def test_without_a_halting_rule_there_is_no_halting_state() -> None:
    assert bbchallenge.parse("1RB---_1LA1LB").states == ("A", "B")


def test_a_machine_is_named_by_argument_file_or_code() -> None:
    assert bbchallenge.parse(BUSY_BEAVER_4, source="beavers/bb4.txt", name="champion").name == "champion"
    assert bbchallenge.parse(BUSY_BEAVER_4, source="beavers/bb4.txt").name == "bb4"
    assert bbchallenge.parse(f" {BUSY_BEAVER_4}\n").name == BUSY_BEAVER_4


@pytest.mark.parametrize(
    ("code", "message", "where"),
    [
        ("", "empty", "<string>:1"),
        ("1RB1L", "row of state A has 5 characters", "<string>:1:1"),
        ("1RB1LB_1LA", "row of state B has 3 characters", "<string>:1:8"),
        ("1RB1LB_1LA1XB", "'1XB' is not a rule", "<string>:1:11"),
        ("\n  1RB1LB_1LA2LB", "writes 2", "<string>:2:13"),
        ("1RB1Lb_1LA1LB", "'1Lb' is not a rule", "<string>:1:4"),
        ("1RB1LB\n1RB1LB", "characters", "<string>:1:1"),
        ("_".join(["---"] * 27), "27 rows", "<string>:1"),
        ("---" * 11, "11 symbols", "<string>:1"),
        ("1RB" * 400_000, "1,200,000 characters", "<string>"),
    ],
)
def test_syntax_errors_have_places(code: str, message: str, where: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        bbchallenge.parse(code)
    assert str(caught.value.place) == where


def test_26_states_leave_no_letter_for_halting() -> None:
    assert len(bbchallenge.parse("_".join(["0RZ1LA"] * 26)).states) == 26


rules = st.sampled_from(["0LA", "1RB", "1LC", "0RZ", "---"])


@given(st.lists(st.tuples(rules, rules), min_size=1, max_size=5))
def test_a_code_comes_back_as_it_was(rows: list[tuple[str, str]]) -> None:
    machine = bbchallenge.parse("_".join("".join(row) for row in rows))
    assert bbchallenge.parse(bbchallenge.to_text(machine), name=machine.name) == machine


def test_a_machine_that_has_no_code_is_refused_with_all_reasons() -> None:
    machine = random_turing_machine(random.Random(2), tapes=2, tape=TapeConvention.STAY)
    with pytest.raises(UsageError) as caught:
        bbchallenge.to_text(machine)
    for reason in ("2 tapes", "tape has a left end", "symbols are not 0, 1", "states are not A, B", "do not move"):
        assert reason in str(caught.value)


def test_a_halting_state_that_nothing_leads_to_has_no_code() -> None:
    machine = bbchallenge.parse("1RB---_1LA1LB")
    with pytest.raises(UsageError, match="no rule leads"):
        bbchallenge.to_text(replace(machine, states=("A", "B", "Z")))
    with pytest.raises(UsageError, match="is in the input alphabet"):
        bbchallenge.to_text(replace(machine, alphabet=()))


@pytest.mark.parametrize(
    ("text", "meant"), [(BUSY_BEAVER_4, True), (" 1RB1Lb\n", True), ("table:", False), ("", False)]
)
def test_codes_are_recognised_despite_syntax_errors(text: str, meant: bool) -> None:
    assert format_by_name("bbchallenge").looks_like(text) is meant
