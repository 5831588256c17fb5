"""All theorems, with all kinds of attention, on random sources of their languages."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from softmachine.engines.fast import code_cache
from softmachine.theorems import all_theorems
from tests.fuzz.comparing import WrongError, agree, try_one
from tests.fuzz.interpreters import Answer
from tests.fuzz.sizes import BATCHES, COUNTS, OTHERS, batch
from tests.fuzz.subjects import PAIRS, SUBJECTS

LEAST_MACHINES = 100
ENOUGH_TO_TELL = 8
"""So many runs without a verdict say nothing yet; of more runs, most must have one."""
QUICK = (
    "turing-average-hard",
    "turing-counter",
    "temporal-encoder",
    "srasp",
    "crasp",
    "rasp",
    "counter",
    "circuit-and-or-not",
    "connectivity",
    "nl-configuration-graph",
    "odd-walks",
    "uniform-circuits",
)
"""One source of each of these is in the fast suite."""


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of the fast engine as plain Python: of short runs, compiling it would take nearly all the time."""
    monkeypatch.setattr("softmachine.engines.fast.engine.compile_code", code_cache.define_plain)


def test_every_theorem_is_tried_and_turing_machines_a_hundred_times() -> None:
    assert set(SUBJECTS) == {theorem.name for theorem in all_theorems()}
    machines = [theorem.name for theorem in all_theorems() if theorem.language == "turing"]
    assert min(COUNTS[name] for name in machines) >= LEAST_MACHINES


@pytest.mark.parametrize("theorem", QUICK)
def test_one_of_each(theorem: str) -> None:
    try_one(theorem, next(attention for name, attention in PAIRS if name == theorem), 0, Counter())


@pytest.mark.slow
@pytest.mark.parametrize("number", range(BATCHES))
@pytest.mark.parametrize(("theorem", "attention"), PAIRS)
def test_many(theorem: str, attention: str, number: int) -> None:
    tally: Counter[str] = Counter()
    for seed in batch(number, COUNTS.get(theorem, OTHERS)):
        try_one(theorem, attention, seed, tally)
    assert tally["undecided"] <= max(tally["decided"], ENOUGH_TO_TELL), tally


def test_a_wrong_answer_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Answer("accept", 3, "ab", None)
    for told in (Answer("reject", 3, "ab"), Answer("accept", 4, "ab"), Answer("accept", 3, "a"), Answer(None, 3, "ab")):
        assert not agree(told, right, SUBJECTS["turing-average-hard"], Counter())
    assert not agree(Answer("reject"), right, SUBJECTS["turing-counter"], Counter())
    always = replace(SUBJECTS["temporal-encoder"], truth=lambda *_: Answer("halt"))
    monkeypatch.setitem(SUBJECTS, "temporal-encoder", always)
    with pytest.raises(WrongError, match="seed 0"):
        try_one("temporal-encoder", "hard", 0, Counter())
