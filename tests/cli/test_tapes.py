"""The picture of a run: what it shows of the past is what was."""

from __future__ import annotations

import random
import re

import pytest

from softmachine.cli.tape_view import TapeView
from softmachine.languages.turing import Configuration, TapeConvention, TuringMachine, execute
from softmachine.testing import random_word
from softmachine.testing.turing import random_turing_machine
from softmachine.theorems.turing.average_hard.codec import TuringCodec


def _seen(text: str) -> list[str]:
    """The symbols in brackets."""
    return [symbol.strip() for symbol in re.findall(r"\[([^\]]+)\]", text)]


def _history(machine: TuringMachine, word: tuple[str, ...]) -> list[tuple[int, str, tuple[str, ...]]]:
    """(step, state, symbols under the heads) from the start on."""
    configuration = Configuration.initial(machine, word)
    found = [(0, configuration.state, configuration.read_symbols())]
    for action in execute(machine, word, max_steps=60, trace=True).actions or ():
        configuration.apply(action)
        found.append((configuration.steps, configuration.state, configuration.read_symbols()))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_rows_are_the_last_configurations(seed: int) -> None:
    rng = random.Random(seed)
    tapes = rng.choice([1, 1, 2, 3])
    machine = random_turing_machine(rng, tapes=tapes, tape=rng.choice(list(TapeConvention)))
    word = random_word(rng, machine, rng.randrange(8))
    codec = TuringCodec(machine)
    view = TapeView(codec, word, remember=5)
    lines = [view.line(600).plain for token in codec.expected(word, 60) if view.apply(token)]
    history = _history(machine, word)
    assert [(line.split()[0], line.split()[1], _seen(line)) for line in lines] == [
        (str(step), state, list(symbols)) for step, state, symbols in history
    ]
    rows = [row.plain for row in view.rows(600, 5 * tapes)]
    shown = ["".join(rows[start : start + tapes]) for start in range(0, len(rows), tapes)]
    assert [(row.split()[0], row.split()[1], _seen(row)) for row in shown] == [
        (str(step), state, list(symbols)) for step, state, symbols in history[-5:]
    ]


@pytest.mark.parametrize("width", [20, 40, 79, 200])
def test_the_head_stays_in_view_and_lines_fit(width: int) -> None:
    rng = random.Random(width)
    machine = random_turing_machine(rng, symbols=3)
    codec = TuringCodec(machine)
    word = random_word(rng, machine, 100)
    view = TapeView(codec, word, remember=3)
    for token in codec.expected(word, 100):
        if view.apply(token):
            rows = view.rows(width, 3)
            assert len(_seen(rows[-1].plain)) == 1
            assert all(row.cell_len <= width for row in rows)
