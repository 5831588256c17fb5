from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from softmachine.languages.turing import (
    Configuration,
    Rule,
    TapeConvention,
    TuringMachine,
    bbchallenge,
    execute,
    interpreter,
    iterate_actions,
    jit_interpreter,
)
from softmachine.support.jit import jit_compile
from softmachine.testing import random_word
from softmachine.testing.turing import random_turing_machine

BUSY_BEAVER_5 = "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"


@given(
    st.integers(0, 2**32),
    st.sampled_from(list(TapeConvention)),
    st.integers(1, 3),
    st.integers(0, 3000),
    st.integers(0, 50),
)
@example(1, TapeConvention.STAY, 2, 3000, 0)
@settings(max_examples=150, deadline=None)
def test_the_compiled_loop_does_what_the_plain_one_does(
    seed: int, tape: TapeConvention, tapes: int, max_steps: int, plain_steps: int
) -> None:
    rng = random.Random(seed)
    symbols = rng.choice([2, 3, 5]) if tapes > 1 else rng.choice([2, 3, 300])
    machine = random_turing_machine(rng, tapes=tapes, symbols=symbols, states=rng.randrange(1, 6), tape=tape)
    word = random_word(rng, machine, rng.randrange(8))
    plain = execute(machine, word, max_steps=max_steps, trace=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "INTERPRETED_STEPS", plain_steps)
        patch.setattr(jit_interpreter, "CHUNK_STEPS", rng.choice([1, 7, 1 << 22]))
        handed_over = execute(machine, word, max_steps=max_steps)
    for field in ("verdict", "reason", "steps", "state", "tapes", "heads"):
        assert getattr(handed_over, field) == getattr(plain, field), field


def test_busy_beaver_5_halts_after_47_176_870_steps_with_4098_ones() -> None:
    result = execute(bbchallenge.parse(BUSY_BEAVER_5), "", max_steps=10**8)
    assert (result.steps, result.output.count("1"), result.state) == (47_176_870, 4098, "Z")


@pytest.mark.parametrize("move", ["L", "R"])
def test_a_tape_grows_as_far_as_the_head_goes(move: str) -> None:
    steps = 3_000_000
    machine = TuringMachine(
        name="walk", states=("q",), alphabet=("1",), symbols=("_", "1"), blank="_", start="q", tapes=2,
        rules=(Rule("q", ("_", "_"), ("1", "_"), (move, "S"), "q"),),
    )  # fmt: skip
    result = execute(machine, "", max_steps=steps)
    assert result.heads == ((steps if move == "R" else -steps), 0)
    assert len(result.tapes[0].symbols) == steps


def test_a_machine_with_too_large_a_table_is_left_to_the_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit_interpreter, "MAX_TABLE_ENTRIES", 1)
    result = execute(bbchallenge.parse(BUSY_BEAVER_5), "", max_steps=30_000)
    assert (result.steps, result.halted) == (30_000, False)


def test_it_compiles_where_no_cache_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    njit = numba.njit

    def without_a_cache(function: Any = None, *, cache: bool = False) -> Any:
        if cache:
            raise RuntimeError("cannot cache function 'double': no locator available")
        return njit(function)

    def double(number: int) -> int:
        return 2 * number

    monkeypatch.setattr(numba, "njit", without_a_cache)
    assert jit_compile(double)(21) == 42


def test_a_cache_directory_of_the_users_choice_is_used(tmp_path: Path) -> None:
    program = (
        "from softmachine.languages.turing import bbchallenge, execute\n"
        f"print(execute(bbchallenge.parse({BUSY_BEAVER_5!r}), '', max_steps=10**6).steps)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    assert list(tmp_path.rglob("*.nbc"))


@pytest.mark.parametrize("seed", range(40))
def test_what_every_step_does_is_recorded_as_the_plain_loop_has_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    machine = random_turing_machine(rng, tapes=1 + seed % 3, tape=list(TapeConvention)[seed % len(TapeConvention)])
    word = tuple(rng.choices(machine.alphabet, k=rng.randrange(5)))
    right = execute(machine, word, max_steps=200, trace=True)
    monkeypatch.setattr(interpreter, "INTERPRETED_STEPS", seed % 5)
    monkeypatch.setattr(interpreter, "COMPILED_CHUNK", 7)
    now = Configuration.initial(machine, word)
    taken = [action for piece in iterate_actions(machine, now, 200) for action in piece]
    assert tuple(taken) == right.actions
    assert (now.state, now.steps, now.tape_contents, tuple(now.heads)) == (
        right.state,
        right.steps,
        right.tapes,
        right.heads,
    )
