"""Checks in parts: the same report for any number of workers, after an interruption, up to the first disagreement."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import softmachine as sm
from softmachine.cli.errors import apply_hint
from softmachine.engines.check import InputSelection, Report, check_inputs
from softmachine.engines.inputs import count_words, iterate_words, sample_words
from softmachine.languages.source import Source
from softmachine.languages.words import ordered_words_from, words_from
from softmachine.studies import sweeps
from softmachine.studies.sweeps import CheckOptions, CheckRun, Recipe
from softmachine.support.errors import FixHint, WorkerMismatchError
from softmachine.support.parallel import ExecutorFactory
from softmachine.support.parallel import ordered_map as in_parts
from softmachine.theorems import find_theorem
from softmachine.theorems.codec import Codec
from softmachine.transformer.weights import compute_digest
from tests.cli.conftest import Cli, cli  # noqa: F401 - a fixture
from tests.models import rewrite
from tests.workers.crews import Threads

MANY = CheckOptions(up_to=7, arithmetic="fixed:2")
"""The formula below is wrong in this arithmetic on some of these words."""


@pytest.fixture(scope="module")
def counting() -> sm.Model:
    return sm.compile("#<[Q_a] > #<[Q_b]")


def checked(model: sm.Model, wanted: CheckOptions, crew: ExecutorFactory | None, journal: Path | None = None) -> Report:
    checking = CheckRun(model, wanted, factory=crew, journal=journal)
    for _ in checking:
        pass
    return replace(checking.report, seconds=0.0)


def plainly(model: sm.Model, wanted: CheckOptions) -> Report:
    """The report of one process, without parts."""
    words = wanted.select_inputs(model).iterate_from(0)
    return replace(check_inputs(model, words, arithmetic=wanted.arithmetic, max_steps=wanted.max_steps), seconds=0.0)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("wanted", [MANY, CheckOptions(sample=2100, length=6, seed=3, arithmetic="fixed:2")])
def test_reports_are_the_same_at_any_number_of_workers(counting: sm.Model, wanted: CheckOptions, count: int) -> None:
    report = checked(counting, wanted, Threads(count, losing=0.2))
    assert report == plainly(counting, wanted)
    assert report.disagreements


@pytest.mark.parametrize(
    "source", ["parity", "full-adder", "majority-crasp", "parity-counter", "reverse-program", "copy-rasp"]
)
def test_models_of_all_languages_travel_as_text(source: str) -> None:
    model = sm.compile(source)
    wanted = CheckOptions(up_to=3)
    assert checked(model, wanted, Threads(2)) == plainly(model, wanted)


@pytest.mark.parametrize(
    "model",
    [
        {"source": "Q_a since Q_b", "attention": "soft"},
        {"source": "prev Q_a", "attention": "soft", "length": 8},
        {"source": "parity", "theorem": "turing-residue-address", "context": 16},
        {"source": "parity", "theorem": "turing-average-hard-summary"},
        {"source": "majority-crasp"},
        {"source": "koenigsberg"},
    ],
)
def test_a_recipe_makes_the_same_weights(model: dict[str, object]) -> None:
    made = sm.compile(**model)  # type: ignore[arg-type]
    recipe = Recipe.from_model(made)
    assert recipe is not None
    again = recipe.compile()
    assert again.codec == made.codec
    assert compute_digest(again.weights) == compute_digest(made.weights)


def test_the_first_mistake_ends_it_with_the_same_report(counting: sm.Model) -> None:
    wanted = replace(MANY, stop_at_first=True)
    alone = checked(counting, wanted, None)
    whole = plainly(counting, MANY)
    words = list(MANY.select_inputs(counting).iterate_from(0))
    assert alone.disagreements == whole.disagreements[:1]
    assert words[alone.inputs - 1] == alone.disagreements[0].word
    assert alone.tokens == check_inputs(counting, words[: alone.inputs], arithmetic="fixed:2").tokens
    for count in (1, 2, 3):
        assert checked(counting, wanted, Threads(count)) == alone


def test_an_interrupted_check_goes_on_from_its_journal(
    counting: sm.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal"
    stopped = CheckRun(counting, MANY, factory=Threads(2), journal=journal)
    found = iter(stopped)
    for _ in range(5):
        next(found)
    found.close()  # type: ignore[attr-defined]
    tried = [0]
    plain = sweeps._check_part

    def counted(sweep: InputSelection, engine: object, wanted: CheckOptions, start: int, stop: int) -> Report:
        tried.append(stop - start)
        return plain(sweep, engine, wanted, start, stop)  # type: ignore[arg-type]

    monkeypatch.setattr(sweeps, "_check_part", counted)
    report = checked(counting, MANY, None, journal)
    assert report == plainly(counting, MANY)
    assert 0 < sum(tried) <= report.inputs - stopped.report.inputs
    tried.clear()
    assert checked(counting, MANY, None, journal) == report
    assert not tried


def test_a_journal_of_other_weights_or_words_is_refused(counting: sm.Model, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    checked(counting, CheckOptions(up_to=2), None, journal)
    with pytest.raises(sm.SoftmachineError, match="another sweep: up_to is 2 there, 3 here"):
        checked(counting, CheckOptions(up_to=3), None, journal)
    with pytest.raises(sm.SoftmachineError, match="another sweep: attention is 'hard' there, 'soft' here"):
        checked(sm.compile("#<[Q_a] > #<[Q_b]", attention="soft"), CheckOptions(up_to=2), None, journal)


def test_a_worker_of_another_version_or_with_other_weights_says_so(counting: sm.Model) -> None:
    recipe = Recipe.from_model(counting)
    assert recipe is not None
    with pytest.raises(WorkerMismatchError, match=r"a worker has softmachine \S+ instead of 0\.0\.1"):
        replace(recipe, version="0.0.1").compile()
    with pytest.raises(WorkerMismatchError, match="a worker compiled other weights of") as refused:
        replace(recipe, digest="0" * 64).compile()
    assert isinstance(refused.value.hint, FixHint)
    assert apply_hint(refused.value.hint, ["check", "x", "--cluster", "tcp://a:1"]) == ["check", "x", "--workers", "1"]
    outputs = counting.weights.outputs
    swapped = replace(counting, weights=replace(counting.weights, outputs=outputs[::-1]))
    with pytest.raises(WorkerMismatchError, match="other weights"):
        checked(swapped, CheckOptions(up_to=6), Threads(2))


def test_words_from_any_number_on_are_those_that_follow() -> None:
    for letters in ("", "a", "ab", "abc"):
        for length in range(5):
            for words in (words_from, ordered_words_from):
                whole = list(words(letters, length))
                for start in range(len(whole) + 2):
                    assert list(words(letters, length, start)) == whole[start:]


@pytest.mark.parametrize("theorem", ["turing-counter", "turing-average-hard"])
def test_words_of_all_lengths_from_any_word_on(theorem: str) -> None:
    source = sm.load("palindrome")
    assert isinstance(source, Source)
    codec = find_theorem(source, theorem).build_codec(source, None)
    whole = list(iterate_words(codec, range(6)))
    assert len(whole) == count_words(codec, range(6))
    for start in range(len(whole) + 2):
        assert list(iterate_words(codec, range(6), start)) == whole[start:]


def test_a_part_of_a_sweep_is_its_words_from_one_number_to_another(counting: sm.Model) -> None:
    for sweep in (InputSelection.all_up_to(counting, 4), InputSelection.random_of_length(counting, 40, 3)):
        whole = list(sweep.iterate_from(0))
        for start in range(0, len(whole), 3):
            assert list(sweep.slice(start, start + 7)) == whole[start : start + 7]


def test_a_saved_model_travels_as_text_and_an_edited_one_stays(
    cli: Cli,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cli("compile", "parity", "-o", tmp_path / "model")
    crew = Threads(2)
    monkeypatch.setattr("softmachine.support.parallel.select_executor", lambda *_: crew)
    monkeypatch.setattr(in_parts, "ProcessPoolFactory", Threads)
    line = ("check", tmp_path / "model", "--up-to", "4", "--json")
    called = cli(*line)
    assert (called.status, called.err, called.json["inputs"]) == (0, "", 31)
    assert crew.opened

    def swap(data: dict[str, Any]) -> None:
        machine = json.loads(data["source"]["text"])
        machine["accept"], machine["reject"] = machine["reject"], machine["accept"]
        data["source"]["text"] = json.dumps(machine)

    rewrite(tmp_path / "model", swap)
    called = cli(*line)
    assert (called.status, called.json["disagreement_count"]) == (1, 31)
    assert "continuing in one process: a worker compiled other weights of 'parity' by turing-average-hard" in called.err


def test_random_words_from_any_number_on_and_the_first_as_ever() -> None:
    codec: Codec[Source] = sm.compile("palindrome").codec
    whole = list(sample_words(codec, 2500, 8, seed=5))
    for start in (0, 1, 999, 1000, 1001, 1999, 2499, 2500):
        assert list(sample_words(codec, 2500, 8, 5, start)) == whole[start:]
    chooser = random.Random(5)
    assert whole[:1000] == [codec.random_word(chooser, 8) for _ in range(1000)]
    assert whole[1000:1010] != whole[:10]


def test_the_command_line_says_the_same_with_processes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    line = ("check", "#<[Q_a] > #<[Q_b]", "--up-to", "10", "--arithmetic", "fixed:2", "--json")
    alone = cli(*line, "--workers", "1")
    monkeypatch.setattr("softmachine.support.parallel.executors.REQUESTED_PATIENCE", 0.0)
    assert _without_times(cli(*line, "--workers", "2").out) == _without_times(alone.out)
    assert alone.status == 1


def _without_times(text: str) -> str:
    return re.sub(r'"seconds": [\d.e-]+', '"seconds": 0', text)


@pytest.mark.parametrize("after", [0.06, 1.0], ids=["while workers start", "while they work"])
def test_ctrl_c_ends_all_processes_and_the_journal_has_what_was_done(after: float, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    command = [sys.executable, "-m", "softmachine", "check", "Q_a since Q_b", "--up-to", "40", "--yes", "--json"]
    process = subprocess.Popen(
        [*command, "--workers", "2", "--journal", str(journal)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not _children(process.pid):
        time.sleep(0.01)
    time.sleep(after)
    children = _children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    deadline = time.monotonic() + 20
    assert process.returncode == 130
    answer = json.loads(out)
    assert answer["interrupted"] is True
    assert "interrupted" in err
    assert "Traceback" not in err
    assert answer["inputs"] > 0
    kept = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert sum(line["stop"] - line["start"] for line in kept) >= answer["inputs"]
    assert children
    while time.monotonic() < deadline and any(map(_is_running, children)):
        time.sleep(0.1)  # shutdown is asynchronous
    assert not any(map(_is_running, children))


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except FileNotFoundError:
        return False
