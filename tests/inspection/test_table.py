"""Trace table of a run: values of the residual stream, against the interpreter and the lecture notes."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import softmachine as sm
from softmachine.inspection.trace_table import iterate_rows, require_columns
from softmachine.languages.turing import Action, Configuration, TuringMachine
from softmachine.support.errors import UsageError
from softmachine.testing import load_as, random_word
from softmachine.testing.turing import random_turing_machine
from softmachine.transformer.head_view import Enclosure
from softmachine.transformer.trace_column import TraceColumn
from tests.models import model_of
from tests.theorems.test_chapter_8 import EXAMPLE, TABLE

MOVES = {"L": -1, "S": 0, "R": 1}


def table(source: str | TuringMachine, word: str | tuple[str, ...], max_steps: int = 60) -> list[dict[str, str]]:
    return list(iterate_rows(sm.inspect(sm.run(source, word, max_steps=max_steps)), 1000))


def by_hand(machine: TuringMachine, word: str | tuple[str, ...], tokens: list[object]) -> list[dict[str, str]]:
    """The expected table from the first action on, from the interpreter's configurations."""
    configuration, found = Configuration.initial(machine, machine.word(word)), []
    for number, action in enumerate(tokens):
        assert isinstance(action, Action)
        if number:
            configuration.apply(action)
        row = {"q": action.state}
        for k in range(machine.tapes):
            tape = "" if machine.tapes == 1 else f" {k + 1}"
            row[f"b{tape}"], row[f"m{tape}"] = action.write[k], str(MOVES[action.move[k]])
            row[f"h{tape}"], row[f"a{tape}"] = str(configuration.heads[k]), configuration.read_symbols()[k]
        found.append(row)
    return found


def differences(machine: TuringMachine, word: str | tuple[str, ...]) -> list[str]:
    run = sm.run(machine, word, max_steps=40)
    meanings = run.model.codec.meanings  # type: ignore[attr-defined]
    actions = [meanings[token] for token in run.tokens if isinstance(meanings[token], Action)]
    computed = list(iterate_rows(sm.inspect(run), 1000))[len(run.prompt.tokens) :]
    right = by_hand(machine, word, actions)
    assert len(right) - len(computed) in (0, 1)  # the last action is not read if the maximum number of steps is reached
    pairs = zip(right, computed, strict=False)
    assert sum("–" in row.values() for row in computed) <= len(computed) // 2
    return [
        f"{title}: {row[title]}" for right, row in pairs for title in right if row[title] not in (right[title], "–")
    ]


def test_the_table_of_example_4_10_is_that_of_the_notes() -> None:
    """Except for the last row: this machine emits its last action before it accepts."""
    found = table(EXAMPLE, "11")
    assert [tuple(row) for row in found[:1]] == [("i", "x", "q", "b", "m", "h", "a", "y")]
    for i, (x, q, b, m, h, a, y) in enumerate(TABLE[:-1]):
        assert found[i] == {
            "i": str(i), "x": x, "q": q or "⊥", "b": b or "⊥", "m": str(m), "h": str(h), "a": a, "y": y,
        }  # fmt: skip
    assert [row["y"] for row in found[-2:]] == ["(qacc,x,R)", "ACC"]


@pytest.mark.parametrize("name", ["palindrome", "busy-beaver-3", "two-tape-palindrome"])
def test_tables_of_the_zoo_are_those_of_the_interpreter(name: str) -> None:
    machine = load_as(name, TuringMachine)
    word = tuple(machine.alphabet[:1] * 2)
    assert differences(machine, word) == []


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_random_machines_are_those_of_the_interpreter(seed: int) -> None:
    chooser = random.Random(seed)
    machine = random_turing_machine(chooser)
    assert differences(machine, random_word(chooser, machine, 3)) == []


def test_columns_say_what_is_on_what_is_not_and_what_the_model_does_not_store() -> None:
    vector, total = TraceColumn("q", "state", ("a", "b")), TraceColumn("m", terms=((1, "x"), (-1, "y")))
    one, zero = Enclosure(Fraction(99, 100), Fraction(101, 100)), Fraction(0)
    assert vector.format_entry({"state[a]": zero, "state[b]": Fraction(1)}) == "b"
    assert vector.format_entry({"state[a]": zero, "state[b]": one}) == "b"
    assert vector.format_entry({"state[a]": zero, "state[b]": zero}) == "⊥"
    assert vector.format_entry({"state[a]": zero}) == "–"
    assert total.format_entry({"x": zero, "y": Fraction(1)}) == "-1"
    assert total.format_entry({"x": zero, "y": one}) == "-1 ± 0.01"
    assert total.format_entry({"x": zero}) == "–"


def test_a_theorem_without_a_table_is_refused() -> None:
    with pytest.raises(UsageError, match="temporal-encoder has no table"):
        require_columns(model_of("Q_a since Q_b"))
