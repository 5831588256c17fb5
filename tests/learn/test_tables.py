"""Tables and curves of runs: mean and range over seeds, and names of the fields that differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'softmachine[learn]'")

from softmachine.studies.learn.config import TrainingConfig
from softmachine.studies.learn.report import (
    align_columns,
    exact_share_curve,
    format_ending,
    format_share,
    format_table,
    group_and_name,
)
from softmachine.studies.learn.runs import Record
from tests.learn.helpers import setting


def record(one: TrainingConfig, exact: float, *, step: int = 60, ended: str = "steps") -> Record:
    """A run with a given share of correct words."""
    right = round(10 * exact)
    measures = {"exact": exact, "exact_long": None, "verdict": 1.0, "by_length": {"3": [10, right], "4": [10, right]}}
    training = {"step": step, "cpu": 1.4, "ended": ended, "losses": [[step, 0.1, 1.0]]}
    return {"setting": one.to_json(), "measures": {"test0": measures, "test1": measures}, "training": training}


def test_seeds_become_a_mean_and_a_range() -> None:
    assert format_share([0.5, 1.0]) == "75 (50–100)"
    assert format_share([1.0, 1.0]) == "100"
    assert format_share([None, 0.25]) == "25"
    assert format_share([None]) == "–"


def test_lines_are_named_by_what_differs() -> None:
    runs = [record(setting(positions=kind, seed=seed), 0.5 + seed / 2) for kind in ("none", "rope") for seed in (0, 1)]
    assert [(name, len(group)) for name, group in group_and_name(runs)] == [("none", 2), ("rope", 2)]
    deeper = [record(setting(), 1.0), record(setting(layers=3), 1.0)]
    assert [name for name, _ in group_and_name(deeper)] == ["layers 1", "layers 3"]
    lines = format_table(runs).splitlines()
    assert " ".join(lines[0].split()) == " ".join(
        f"{bin_} {what}" for bin_ in ("test0", "test1") for what in ("all", "long", "verdict")
    )
    assert lines[2].startswith("none  75 (50–100)")


def test_how_training_ended_is_said() -> None:
    one = setting()
    group = [record(one, 1.0), record(replace(one, seed=1), 1.0, step=20, ended="converged")]
    output = "20–60 steps, 1 s of processor time, all steps done, validation exact"
    assert format_ending(group) == f"{output}; 100 % of the validation split exact"


def test_columns_stand_below_one_another() -> None:
    assert align_columns([["a", "bb"], ["ccc", "d"]]).splitlines() == ["a    bb", "───  ──", "ccc   d"]


def test_a_curve_has_the_share_of_words_of_about_a_length() -> None:
    lengths, shares = exact_share_curve([record(setting(), 1.0), record(setting(seed=1), 0.5)])
    assert lengths == [3.0, 4.0]
    assert shares == [75.0, 75.0]
