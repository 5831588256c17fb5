"""A teacher: a machine from turingmachine.io, as it is saved there, becomes something to show."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import softmachine as sm
from softmachine.cli.app import command
from tests.roles.conftest import Desk

FROM_THE_SITE = """name: repeat 01
source code: |-
  # Writes 01 again and again, and stops at the end of the input.
  input: '1111'
  blank: ' '
  start state: zero
  table:
    zero:
      1: {write: 0, R: one}
      ' ': {L: done}
    one:
      1: {R: zero}
      ' ': {L: done}
    done:
positions:
  zero: {x: 100, y: 100}
"""
OPTIONS = {name for parameter in command("run").commands["run"].params for name in parameter.opts}


@pytest.fixture
def machine(desk: Desk) -> Desk:
    """A desk with the file that the site saved."""
    desk.writes("repeat.yaml", FROM_THE_SITE)
    return desk


def test_the_tape_is_shown_step_by_step_without_an_option(machine: Desk) -> None:
    lines = machine.types("softmachine run repeat.yaml").out.splitlines()
    assert lines[0].split() == ["0", "zero", "[1]", "1", "1", "1"]
    assert lines[5].split()[:5] == ["5", "done", "0", "1", "0"]
    assert lines[-1].startswith("halt  '0101'  after 5 steps, ")


def test_the_layers_and_heads_are_drawn(machine: Desk) -> None:
    board = machine.types("softmachine show repeat.yaml").out
    assert "attention  last write" in board
    assert "theorem            turing-average-hard" in board


def test_a_class_tries_other_inputs_and_mistakes(machine: Desk) -> None:
    assert machine.types("softmachine run repeat.yaml '1 1 1' --quiet").out.startswith("halt  '010'")
    said = machine.types("softmachine run repeat.yaml 121", status=2).err
    assert "symbol '2' at position 2 of the input is not in the alphabet" in said
    machine.writes("broken.yaml", FROM_THE_SITE.replace("R: one", "R: won"))
    said = machine.types("softmachine run broken.yaml", status=2).err
    assert "broken.yaml" in said
    assert "won" in said


@pytest.mark.slow
def test_a_picture_of_why_soft_attention_does(machine: Desk) -> None:
    machine.types("softmachine certify repeat.yaml --length 20 --plot margin.svg")
    assert "<svg" in machine.reads("margin.svg")


def test_a_notebook_shows_tables(machine: Desk) -> None:
    assert "<table" in sm.certificate("repeat.yaml", length=20)._repr_html_()
    assert "<table" in sm.check("repeat.yaml", up_to=4)._repr_html_()


@pytest.mark.skipif("--html" not in OPTIONS, reason="issue 18: run has no --html yet")
def test_a_page_of_the_run(machine: Desk) -> None:
    machine.types("softmachine run repeat.yaml 11 --html run.html")
    assert "<html" in machine.reads("run.html")


@pytest.mark.parametrize("command", ["run repeat.yaml 11", "run repeat.yaml 11 --svg-of attention"])
def test_a_picture_for_the_slides(command: str, machine: Desk) -> None:
    machine.types(f"softmachine {command} --svg picture.svg")
    picture = ElementTree.fromstring(machine.reads("picture.svg"))
    assert picture.tag.endswith("svg")
    assert "last write" in "".join(picture.itertext())
