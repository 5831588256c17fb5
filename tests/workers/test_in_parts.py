"""The parallel map: results are the same and in order, whatever the workers, and whichever parts are lost."""

from __future__ import annotations

import os
import pickle
import time
from itertools import chain, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.support.errors import (
    InvalidError,
    SoftmachineError,
    SourceLocation,
    UsageError,
    WorkerMismatchError,
    WorkersError,
)
from softmachine.support.parallel import (
    ExecutorFactory,
    Journal,
    Json,
    PartResult,
    RangeFunction,
    map_range,
    select_executor,
)
from softmachine.support.parallel import ordered_map as in_parts
from tests.workers.crews import Eager, Killed, Threads, dies, differs, squares


def joined(found: list[PartResult]) -> list[int]:
    """The results of a range, after checking that its parts are consecutive."""
    assert not found or found[0].start == 0
    assert all(one.stop == two.start for one, two in pairwise(found))
    return list(chain.from_iterable(part.result["squares"] for part in found))


def swept(
    total: int, crew: ExecutorFactory | None, journal: Journal | None = None, work: RangeFunction = squares
) -> list[int]:
    return joined(list(map_range(squares, total, remote_work=lambda: work, factory=crew, journal=journal)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 300), st.integers(1, 4), st.floats(0, 0.5), st.integers(0, 9))
def test_parts_that_are_late_or_lost_come_in_order(total: int, count: int, losing: float, seed: int) -> None:
    crew = Threads(count, losing, seed)
    assert swept(total, crew) == [k * k for k in range(total)]
    assert crew.closed == len(crew.opened)


def test_nobody_is_called_for_short_work() -> None:
    crew = Threads(2, patience=60.0)
    assert swept(100, crew) == [k * k for k in range(100)]
    assert not crew.opened


def test_who_was_not_asked_for_is_called_only_if_much_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    crew = Threads(2, requested=False)
    swept(100, crew)
    assert not crew.opened
    monkeypatch.setattr(in_parts, "MIN_SECONDS_FOR_WORKERS", 0.0)
    swept(100, crew)
    assert crew.opened


def test_a_process_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    work = Killed(tmp_path, os.getpid(), 40)
    found = joined(list(map_range(squares, 60, remote_work=lambda: work, factory=Eager(2))))
    assert found == [k * k for k in range(60)]
    assert (tmp_path / "killed").exists()


def test_a_crew_that_is_lost_again_and_again_is_given_up() -> None:
    with pytest.raises(WorkersError, match="repeatedly lost, with the part from number 1 to"):
        swept(100, Threads(2, losing=1.0))


def test_processes_that_die_at_once_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_parts, "MAX_LOSSES", 0)
    with pytest.raises(WorkersError, match="repeatedly lost"):
        joined(list(map_range(squares, 60, remote_work=lambda: dies, factory=Eager(1))))


def test_other_weights_stay_in_their_process_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    crew = Threads(2)
    with pytest.raises(WorkerMismatchError):
        list(map_range(squares, 50, remote_work=lambda: differs, factory=crew))
    monkeypatch.setattr(in_parts, "ProcessPoolFactory", Threads)
    found = list(map_range(squares, 50, remote_work=lambda: differs, factory=crew, progress=told.append))
    assert joined(found) == [k * k for k in range(50)]
    assert told == ["continuing in one process: a worker has other weights"]
    told.clear()
    assert joined(list(map_range(squares, 9, factory=crew, progress=told.append))) == [k * k for k in range(9)]
    assert told == ["continuing in one process: the source cannot be written as text"]


def test_whoever_stops_listening_sends_the_crew_home() -> None:
    crew = Threads(2)
    found = map_range(squares, 10**9, remote_work=lambda: squares, factory=crew)
    for _ in range(5):
        next(found)
    found.close()
    assert crew.opened
    assert crew.closed == len(crew.opened)


def test_parts_grow_and_shrink_to_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_parts, "TARGET_SECONDS", 0.01)
    sizes = [part.stop - part.start for part in map_range(slowly, 200, remote_work=lambda: slowly, factory=Threads(2))]
    assert sizes[0] == 1
    assert 2 <= max(sizes) <= 40


def test_what_a_journal_has_is_not_done_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", {"sweep": "squares"})
    for start, stop in ((3, 10), (20, 22)):
        journal.append(PartResult(start, stop, 0.0, squares(start, stop)))
    journal.close()
    seen: list[int] = []

    def work(start: int, stop: int) -> Json:
        seen.extend(range(start, stop))
        return squares(start, stop)

    journal = Journal(tmp_path / "j", {"sweep": "squares"})
    assert joined(list(map_range(work, 30, journal=journal))) == [k * k for k in range(30)]
    assert seen == [*range(3), *range(10, 20), *range(22, 30)]
    journal.close()
    whole = Journal(tmp_path / "j", {"sweep": "squares"})
    whole.close()
    assert whole.finished_count == 30


def test_workers_and_a_cluster_are_not_both_said() -> None:
    with pytest.raises(UsageError, match="use only one of them"):
        select_executor(2, "tcp://nowhere:1")
    assert select_executor(1, None) is None


def test_a_process_does_one_part_at_a_time() -> None:
    busy: list[int] = []

    def alone(start: int, stop: int) -> Json:
        busy.append(start)
        time.sleep(0.002)
        assert busy == [start]
        busy.clear()
        return squares(start, stop)

    assert swept(40, Threads(4), work=alone) == [k * k for k in range(40)]


@pytest.mark.parametrize(
    "error",
    [
        InvalidError("it", ["a", "b"], place=SourceLocation("file", 3)),
        UsageError("no", hint="so"),
        WorkerMismatchError("other"),
    ],
)
def test_errors_come_home_as_they_are(error: SoftmachineError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (str(back), vars(back), back.args) == (str(error), vars(error), error.args)


def slowly(start: int, stop: int) -> Json:
    time.sleep(0.001 * (stop - start))
    return squares(start, stop)
