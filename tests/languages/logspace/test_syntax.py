"""Parser and printer of logspace machines, and their syntax errors."""

from __future__ import annotations

import pytest

from softmachine.languages import zoo
from softmachine.languages.formats import format_by_name, recognise
from softmachine.languages.logspace import parse, to_text
from softmachine.support.errors import InvalidError, SourceError

HEAD = "machine m\ninput a b\nwork 1\nspace 2 log + 1\nstart s\naccept yes\n"
FILES = [entry.read_text() for entry in zoo.list_entries() if entry.file.endswith(".nl")]


@pytest.mark.parametrize("text", [*FILES, HEAD + "s < < -> yes < S S\n"])
def test_what_is_written_is_read_back(text: str) -> None:
    found = parse(text)
    assert parse(to_text(found)) == found
    assert format_by_name("logspace").looks_like(text)
    assert recognise(text) == "logspace"


def test_stars_stand_for_letters_and_symbols() -> None:
    found = parse(HEAD + "s * * -> yes * R L\n")
    assert {(rule.input_symbol, rule.work_symbol, rule.written_symbol) for rule in found.rules} == {
        (letter, symbol, symbol) for letter in "ab" for symbol in "1_"
    }


@pytest.mark.parametrize(("text", "cells"), [("2 log + 1", 5), ("log", 2), ("3 log", 6), ("4", 4)])
def test_the_size_of_the_work_tape(text: str, cells: int) -> None:
    found = parse(HEAD.replace("2 log + 1", text) + "s < < -> yes < S S\n")
    assert found.work_cells(3) == cells


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "s a -> yes 1 R S\n", "<string>:7:1: a rule has 3 words before the arrow and 4 after it, not 2 and 4"),
        (HEAD + "  what is this\n", "<string>:7:3: this is not a rule"),
        (HEAD + "start t\n", "<string>:7:1: there is already a line that begins with 'start'"),
        (HEAD.replace("start s\n", ""), "no line that begins with 'start'"),
        (HEAD.replace("2 log + 1", "many"), "'many' is not a number of cells"),
        (HEAD.replace("2 log + 1", "2 log 1"), "'2 log 1' is not a number of cells"),
    ],
)
def test_syntax_errors_have_places(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("s c 1 -> yes 1 R S", "reads 'c', which is not a letter"),
        ("s a 2 -> yes 1 R S", "has '2' on the work tape"),
        ("s a < -> yes 1 R S", "overwrites an end marker"),
        ("s a 1 -> yes 1 R X", "a head moves L, S or R"),
        ("s < 1 -> yes 1 L S", "leaves the input: it moves L from <"),
        ("s a > -> yes > S R", "leaves the work tape: it moves R from >"),
    ],
)
def test_rules_that_cannot_be_are_refused(rule: str, message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        parse(HEAD + rule)
