from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.languages.turing import (
    Action,
    Configuration,
    Rule,
    TapeContents,
    TapeConvention,
    TuringMachine,
    TuringStopReason,
    Verdict,
    bbchallenge,
    execute,
    replay,
)
from softmachine.support.errors import InputError, UsageError
from softmachine.testing import random_word
from softmachine.testing.turing import random_turing_machine

seeds = st.integers(0, 2**32)
conventions = st.sampled_from(list(TapeConvention))


def machine_of(
    *rules: str, tape: TapeConvention = TapeConvention.TWO_WAY, accept: str = "", reject: str = ""
) -> TuringMachine:
    """Parse rules such as "q 0 1 R p": in q reading 0 write 1, move right, go to p. The blank is _."""
    parts = [rule.split() for rule in rules]
    states = dict.fromkeys([*(p[0] for p in parts), *(p[4] for p in parts), *accept.split(), *reject.split()])
    return TuringMachine(
        name="test",
        states=tuple(states),
        alphabet=("0", "1"),
        symbols=("_", "0", "1"),
        blank="_",
        rules=tuple(Rule(q, (read,), (write,), (move,), p) for q, read, write, move, p in parts),
        start=next(iter(states)),
        accept=tuple(accept.split()),
        reject=tuple(reject.split()),
        tape=tape,
    )


FLIP = machine_of("q 0 1 R q", "q 1 0 R q", "q _ _ L yes", accept="yes")


def test_a_run_ends_in_the_accepting_state_with_the_output_on_the_tape() -> None:
    result = execute(FLIP, "0110")
    assert (result.verdict, result.reason, result.accepted, result.halted) == ("accept", "accepting state", True, True)
    assert (result.output, result.steps, result.state, result.heads) == ("1001", 5, "yes", (3,))


def test_a_final_start_state_stops_after_no_step() -> None:
    for accept, reject, reason in (
        (("q",), (), TuringStopReason.ACCEPTING_STATE),
        ((), ("q",), TuringStopReason.REJECTING_STATE),
    ):
        machine = TuringMachine(
            name="still", states=("q",), alphabet=("1",), symbols=("_", "1"), blank="_", rules=(), start="q",
            accept=accept, reject=reject,
        )  # fmt: skip
        result = execute(machine, "11")
        assert (result.steps, result.reason, result.output) == (0, reason, "11")


def test_a_missing_rule_rejects_if_the_machine_can_accept_and_halts_if_it_cannot() -> None:
    can_accept = execute(machine_of("q 0 0 R q", accept="yes"), "01")
    cannot = execute(machine_of("q 0 0 R q"), "01")
    assert (can_accept.verdict, can_accept.reason) == (Verdict.REJECT, TuringStopReason.NO_RULE)
    assert (cannot.verdict, cannot.reason) == (Verdict.HALT, TuringStopReason.NO_RULE)


def test_a_two_way_tape_extends_to_the_left_of_cell_0() -> None:
    result = execute(machine_of("q 0 1 L p", "p _ 1 S r"), "0")
    assert result.tapes == (TapeContents(-1, ("1", "1")),)
    assert result.heads == (-1,)


def test_the_end_of_a_stay_tape_holds_the_head_back() -> None:
    result = execute(machine_of("q 0 1 L p", "p 1 0 L r", tape=TapeConvention.STAY), "0", trace=True)
    assert result.tapes == (TapeContents(0, ("0",)),)
    assert result.actions == (Action("p", ("1",), ("S",)), Action("r", ("0",), ("S",)))


def test_on_an_error_tape_the_machine_stops_before_a_step_off_the_end() -> None:
    result = execute(machine_of("q 0 1 L p", tape=TapeConvention.ERROR, accept="p"), "0")
    assert (result.reason, result.verdict, result.state, result.steps) == ("left end", "reject", "q", 0)
    assert result.output == "0"


def test_the_step_limit_leaves_the_verdict_open() -> None:
    forever = machine_of("q _ 1 R q")
    result = execute(forever, "", max_steps=7)
    assert (result.verdict, result.reason, result.halted, result.steps) == (None, TuringStopReason.STEP_LIMIT, False, 7)
    assert result.output == "1" * 7


def test_a_run_that_ends_at_the_step_limit_has_ended() -> None:
    assert execute(FLIP, "0110", max_steps=5).halted
    assert not execute(FLIP, "0110", max_steps=4).halted


def test_a_negative_step_limit_is_refused() -> None:
    with pytest.raises(UsageError, match="-1 steps"):
        execute(FLIP, "", max_steps=-1)


def test_an_input_outside_the_alphabet_is_refused() -> None:
    with pytest.raises(InputError, match="'2' at position 2"):
        execute(FLIP, "02")


@pytest.mark.parametrize(
    ("code", "steps", "ones"),
    [("1RB1RZ_1LB0RC_1LC1LA", 21, 5), ("1RB1LB_1LA0LC_1RZ1LD_1RD0RA", 107, 13)],
    ids=["3 states", "4 states"],
)
def test_busy_beavers_halt_when_they_should(code: str, steps: int, ones: int) -> None:
    result = execute(bbchallenge.parse(code), "")
    assert (result.steps, result.output.count("1"), result.state, result.verdict) == (steps, ones, "Z", "halt")


def test_contents_begin_and_end_with_what_is_written() -> None:
    assert TapeContents.from_cells(dict(enumerate("_1_0_", start=-1)), "_") == TapeContents(0, ("1", "_", "0"))
    assert TapeContents.from_cells({3: "_", 4: "_"}, "_") == TapeContents()


@given(seeds, conventions, st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_replaying_the_actions_of_a_run_gives_its_end(seed: int, tape: TapeConvention, tapes: int) -> None:
    rng = random.Random(seed)
    machine = random_turing_machine(rng, tapes=tapes, tape=tape)
    result = execute(machine, random_word(rng, machine, rng.randrange(6)), max_steps=200, trace=True)
    assert result.actions is not None
    end = replay(machine, result.word, result.actions)
    assert (end.state, end.tape_contents, tuple(end.heads), end.steps) == (
        result.state, result.tapes, result.heads, result.steps,
    )  # fmt: skip
    if tape is not TapeConvention.TWO_WAY:
        assert all(contents.first >= 0 for contents in end.tape_contents)


def test_a_replay_does_not_check_the_rules() -> None:
    end = replay(FLIP, "0", [Action("nowhere", ("1",), ("L",)), Action("q", ("0",), ("S",))])
    assert isinstance(end, Configuration)
    assert (end.state, end.tape_contents, end.heads, end.steps) == ("q", (TapeContents(-1, ("0", "1")),), [-1], 2)
