"""Sweeps of training runs: equal results in several processes, saved in a folder, not repeated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'softmachine[learn]'")

from softmachine.studies.learn import training  # noqa: E402
from softmachine.studies.learn.config import TrainingConfig  # noqa: E402
from softmachine.studies.learn.runs import (  # noqa: E402
    Record,
    load_decoder,
    perform_run,
    require_affordable_training,
    sweep_runs,
)
from softmachine.support.errors import SourceError, TooExpensiveError  # noqa: E402
from softmachine.support.parallel import ProcessPoolFactory  # noqa: E402
from softmachine.support.resources import allow_expensive  # noqa: E402
from tests.learn.helpers import setting  # noqa: E402

RUNS = [setting(steps=4, seed=seed) for seed in range(3)]


def timeless(record: Record) -> Record:
    return {**record, "training": {k: v for k, v in record["training"].items() if k not in ("seconds", "cpu")}}


def test_processes_give_the_same_records_as_one(tmp_path: Path) -> None:
    alone = list(sweep_runs(RUNS, None))
    together = list(sweep_runs(RUNS, tmp_path, factory=ProcessPoolFactory(2)))
    assert list(map(timeless, together)) == list(map(timeless, alone))
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json"] * 3 + [".safetensors"] * 3


def test_a_run_that_is_there_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, decoder = perform_run(RUNS[0], _made(tmp_path))
    monkeypatch.setattr(training, "train", None)
    again, loaded = perform_run(RUNS[0], tmp_path)
    assert again == first
    for name, weight in decoder.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name])


def test_a_run_that_was_interrupted_goes_on_in_its_folder_and_ends_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "SAVE_SECONDS", 0.0)
    seen: list[int] = []

    def interrupt(progress: training.Progress) -> None:
        seen.append(progress.step)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perform_run(RUNS[0], _made(tmp_path), interrupt)
    record, decoder = perform_run(RUNS[0], tmp_path, interrupt)
    whole, uninterrupted = perform_run(RUNS[0])
    assert seen == [1, 2, 3, 4]
    assert timeless(record) == timeless(whole)
    for name, weight in decoder.state_dict().items():
        assert torch.equal(weight, uninterrupted.state_dict()[name])


def test_a_record_says_what_it_is_of_and_what_came_of_it(tmp_path: Path) -> None:
    record, _ = perform_run(RUNS[1], _made(tmp_path))
    (path,) = tmp_path.glob("*.json")
    assert json.loads(path.read_text(encoding="utf-8")) == record
    assert TrainingConfig.from_json(record["setting"]) == RUNS[1]
    assert record["measures"]["test0"]["words"] == record["data"]["test0"]["words"]
    assert record["training"]["ended"] == "steps"


def test_damaged_files_are_not_taken_for_runs(tmp_path: Path) -> None:
    perform_run(RUNS[0], _made(tmp_path))
    (tmp_path / f"{RUNS[0].name}.safetensors").write_bytes(b"no weights")
    with pytest.raises(SourceError, match="not the weights of that run"):
        load_decoder(RUNS[0], tmp_path)
    (tmp_path / f"{RUNS[0].name}.json").write_text("[]")
    with pytest.raises(SourceError, match="not the record of that run"):
        perform_run(RUNS[0], tmp_path)


def test_training_that_takes_very_long_is_refused_until_somebody_says_yes() -> None:
    endless = [setting(steps=10_000_000)]
    with pytest.raises(TooExpensiveError, match="training 1 model would take about"):
        require_affordable_training(endless, None)
    with allow_expensive(True):
        require_affordable_training(endless, None)


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder
