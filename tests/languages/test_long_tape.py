"""Array tapes behave like dictionary tapes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from softmachine.languages.turing import Configuration, TapeContents, execute, jit_interpreter, replay
from softmachine.languages.turing.bbchallenge import parse
from softmachine.languages.turing.configuration import LongTape
from softmachine.support.token_array import CodeArray

SYMBOLS = ("_", "a", "b")


@pytest.mark.parametrize("seed", range(20))
def test_a_long_tape_is_a_mapping_without_blanks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.languages.turing.configuration.SCAN_CHUNK", 3)
    chance = random.Random(seed)
    first, length = chance.randrange(-9, 9), chance.randrange(0, 20)
    tape = LongTape(np.zeros(length, dtype=np.uint8), first, SYMBOLS)
    right: dict[int, str] = {}
    for _ in range(chance.randrange(60)):
        cell, symbol = chance.randrange(-30, 30), chance.choice(SYMBOLS)
        tape[cell] = symbol
        right[cell] = symbol
        if symbol != "_" and chance.random() < 0.2:
            del tape[cell], right[cell]
    assert dict(tape) == {cell: symbol for cell, symbol in right.items() if symbol != "_"}
    assert len(tape) == len(dict(tape))
    assert TapeContents.from_cells(tape, "_") == TapeContents.from_cells(right, "_")
    assert [tape.get(cell, "_") for cell in range(-40, 40)] == [right.get(cell, "_") for cell in range(-40, 40)]
    with pytest.raises(KeyError):
        del tape[1000]


@pytest.mark.parametrize("text", ["1RB1RB_1LA1LA", "1RA1RA", "1LB1RA_1LA1RB", "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"])
def test_runs_that_continue_from_a_long_tape_are_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = parse(text)
    right = execute(machine, "", max_steps=90_000)
    monkeypatch.setattr(jit_interpreter, "MIN_LONG_TAPE_CELLS", 10)
    now = Configuration.initial(machine, "")
    for steps in (7, 20_000, 20_001, 60_000, 90_000):
        jit_interpreter.advance(machine, now, steps)
    assert (now.state, now.steps, tuple(now.heads)) == (right.state, right.steps, right.heads)
    assert now.tape_contents == right.tapes


def test_replaying_in_parts_leaves_what_replaying_one_by_one_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = parse("1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA")
    run = jit_interpreter.JitRun(machine, Configuration.initial(machine, ""))
    record = run.record(50_000)
    plain = replay(machine, "", list(record))
    monkeypatch.setattr(jit_interpreter, "MIN_LONG_TAPE_CELLS", 10)
    quick = Configuration.initial(machine, "")
    codes = record.codes
    jit_interpreter.replay(machine, quick, record.names, (codes[k : k + 7_001] for k in range(0, len(codes), 7_001)))  # type: ignore[arg-type]
    assert isinstance(quick.cells[0], LongTape)
    assert (quick.state, quick.heads, quick.steps, quick.tape_contents) == (
        plain.state,
        plain.heads,
        plain.steps,
        plain.tape_contents,
    )


@pytest.mark.parametrize("names", [("_", "a", "ß"), ("_", "\U0001f600", "\ud800"), ("_", "aa", "b")])
def test_what_is_on_a_long_tape_is_spelled_as_text(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.support.token_array.CHUNK_SIZE", 7)
    codes = [random.Random(3).randrange(3) for _ in range(40)]
    for between in ("", " "):
        assert CodeArray(np.array(codes), names).join_text(between) == between.join(names[code] for code in codes)
    assert CodeArray(np.zeros(0, dtype=np.int64), names).join_text(" ") == ""
