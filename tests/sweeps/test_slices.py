"""Slices in parts: the same numbers at any number of workers and after an interruption."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.languages.source import Source
from softmachine.studies.measure.myhill_nerode import compute_slices as plain_slices
from softmachine.studies.measure.slices import SliceJob, decide_part, membership_predicate, sweep_slices
from softmachine.support.errors import SourceError, UsageError, WorkerMismatchError
from softmachine.support.parallel import Journal, PartResult
from tests.cli.conftest import Cli, cli  # noqa: F401 - a fixture
from tests.workers.crews import Threads

LENGTHS = range(1, 8)


@pytest.fixture(scope="module")
def palindrome() -> Source:
    source = sm.load("palindrome")
    assert isinstance(source, Source)
    return source


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", ["palindrome", "Q_a since Q_b", "majority-crasp"])
def test_slices_are_the_same_at_any_number_of_workers(name: str, count: int) -> None:
    source = sm.load(name)
    assert isinstance(source, Source)
    expected = list(plain_slices(membership_predicate(source), source.alphabet, LENGTHS))
    assert list(sweep_slices(source, LENGTHS, 10**6, factory=Threads(count, losing=0.2))) == expected


def test_interrupted_slices_go_on_from_their_journal(palindrome: Source, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    found = sweep_slices(palindrome, LENGTHS, 1000, journal=journal)
    first = list(islice(found, 3))
    found.close()  # type: ignore[attr-defined]
    before = journal.read_bytes()
    whole = list(sweep_slices(palindrome, LENGTHS, 1000, journal=journal, factory=Threads(2)))
    assert whole[:3] == first
    assert whole == list(plain_slices(membership_predicate(palindrome), palindrome.alphabet, LENGTHS))
    assert journal.read_bytes().startswith(before)
    with pytest.raises(UsageError, match="another sweep: max_steps is 1000 there, 2000 here"):
        list(sweep_slices(palindrome, LENGTHS, 2000, journal=journal))


def test_a_journal_without_verdicts_is_damaged(palindrome: Source, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    list(sweep_slices(palindrome, [1], 1000, journal=path))
    about = json.loads(path.read_text().splitlines()[0])["about"]
    path.unlink()
    journal = Journal(path, about)
    journal.append(PartResult(0, 1, 0.0, {"accepted": "ff"}))
    journal.close()
    with pytest.raises(SourceError, match="the journal is damaged: invalid verdicts"):
        list(sweep_slices(palindrome, [1], 1000, journal=path))


def test_a_word_without_a_verdict_is_the_same_error(palindrome: Source) -> None:
    output = []
    for crew in (None, Threads(2)):
        with pytest.raises(UsageError) as refused:
            list(sweep_slices(palindrome, range(1, 6), 12, factory=crew))
        output.append(str(refused.value))
    assert output[0] == output[1]


def test_a_worker_of_another_version_says_so() -> None:
    with pytest.raises(WorkerMismatchError, match=r", not 0\.0\.1"):
        decide_part(SliceJob("temporal", "a", "Q_a", (1,), 10, "0.0.1"), 0, 1)


@pytest.mark.slow
def test_the_command_line_says_the_same_with_processes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    line = ("slices", "palindrome", "--up-to", "10", "--json")
    alone = cli(*line, "--workers", "1")
    monkeypatch.setattr("softmachine.support.parallel.executors.REQUESTED_PATIENCE", 0.0)
    assert cli(*line, "--workers", "3").out == alone.out
