"""Journals: finished parts are reused, and only an undamaged journal of the same sweep is appended to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from softmachine.support.errors import SoftmachineError
from softmachine.support.parallel import Journal, PartResult

ABOUT = {"sweep": "squares", "version": "1", "lengths": [1, 2]}
PARTS = [PartResult(0, 2, 0.5, {"a": "é😀"}), PartResult(5, 7, 0.25, {"b": [1, None]})]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The journal of a sweep that was interrupted."""
    journal = Journal(tmp_path / "journal", ABOUT)
    for part in PARTS:
        journal.append(part)
    journal.close()
    return tmp_path / "journal"


def test_what_was_done_is_found_again(path: Path) -> None:
    before = path.read_bytes()
    journal = Journal(path, {**ABOUT, "lengths": (1, 2)})
    journal.close()
    assert list(journal.parts.values()) == PARTS
    assert journal.finished_count == 4
    assert path.read_bytes() == before


def test_a_torn_last_line_is_written_anew(path: Path) -> None:
    whole = path.read_bytes()
    for cut in (1, 2, 30, len(whole.splitlines(keepends=True)[-1]) - 1):
        path.write_bytes(whole[:-cut])
        journal = Journal(path, ABOUT)
        assert list(journal.parts.values()) == PARTS[:1]
        journal.append(PARTS[1])
        journal.close()
        assert path.read_bytes() == whole


def _changed(line: int, change: Callable[[str], str]) -> Callable[[str], str]:
    def damage(text: str) -> str:
        lines = text.splitlines(keepends=True)
        return "".join([*lines[:line], change(lines[line]), *lines[line + 1 :]])

    return damage


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_changed(1, lambda line: line.replace("0.5", "0.4")), ":2: the journal is damaged: the digest of this line"),
        (_changed(1, lambda _: "\n"), ":2: the journal is damaged"),
        (_changed(2, lambda line: f"{line[:-9]}\n"), ":3: the journal is damaged"),
        (_changed(0, lambda line: line.replace("squares", "cubes")), ":1: the journal is damaged"),
        (lambda text: text + text.splitlines(keepends=True)[1], ":4: the journal is damaged: number 0 was done before"),
        (_changed(1, lambda line: "[" * 100_000 + line), ":2: the journal is damaged"),
        (_changed(0, lambda _: ""), "is not a journal of softmachine, and was left unchanged"),
        (lambda _: "", "is not a journal of softmachine"),
        (lambda _: "thesis\n", "is not a journal of softmachine"),
        (lambda text: text[:40], "is not a journal of softmachine"),
        (lambda _: json.dumps({"format": "softmachine-journal"}) + "\n", "is damaged"),
    ],
)
def test_what_is_damaged_or_foreign_is_refused_by_name_and_left_as_it_is(
    path: Path, damage: Callable[[str], str], said: str
) -> None:
    path.write_text(damage(path.read_text()))
    before = path.read_bytes()
    with pytest.raises(SoftmachineError) as refused:
        Journal(path, ABOUT)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("name", "value"), [("version", "2"), ("lengths", [1]), ("new", 3)])
def test_another_sweep_is_named(path: Path, name: str, value: object) -> None:
    before = path.read_bytes()
    with pytest.raises(SoftmachineError, match=f"journal is of another sweep: {name} is .* there, .* here"):
        Journal(path, {**ABOUT, name: value})
    assert path.read_bytes() == before


def test_a_folder_and_a_place_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SoftmachineError, match="Is a directory"):
        Journal(tmp_path, ABOUT)
    with pytest.raises(SoftmachineError, match="there is no folder"):
        Journal(tmp_path / "nowhere" / "journal", ABOUT)


def test_two_sweeps_do_not_share_a_journal(path: Path) -> None:
    journal = Journal(path, ABOUT)
    with pytest.raises(SoftmachineError, match="another process is writing"):
        Journal(path, ABOUT)
    journal.close()
    Journal(path, ABOUT).close()
