"""Data sets: rows equal the models' outputs, constraints are satisfied or rejected, and a seed determines the bytes."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

import softmachine as sm
from softmachine.studies.datasets import DatasetRow
from softmachine.studies.measure.slices import membership_predicate
from softmachine.support.errors import ConstructionError, UsageError
from tests.cases import CASES, Case, summarise

NO_PYARROW = pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
FORMATS = ["jsonl", "csv", pytest.param("parquet", marks=NO_PYARROW)]


LARGE = ("turing-counter", "turing-counter-relative-bias")
"""Theorems whose models are slow to compile."""
MANY_STEPS, FEW_STEPS = 10_000, 40
"""Autoregressive programs are run again for every letter, and some do not terminate."""
SOME = [pytest.param(case, marks=pytest.mark.slow if case.theorem in LARGE else ()) for case in CASES]


@pytest.mark.parametrize("case", SOME, ids=str)
def test_rows_are_what_models_say(case: Case) -> None:
    source = sm.load(case.source)
    assert not isinstance(source, sm.Model)
    theorem = case.theorem
    lengths = sorted({len(source.word(word)) for word, _ in case.examples})
    found: dict[str, DatasetRow] = {}
    steps = FEW_STEPS if theorem == "rasp-generate" else MANY_STEPS
    for length in lengths:
        rows = sm.dataset(
            source, up_to=length, theorem=theorem, context=case.length, skip_unfinished=True, max_steps=steps
        )
        found |= {row.input: row for row in islice(rows, 2000)}
    for word, wanted in case.examples:
        row = found[word]
        verdict, _, output = wanted.partition(" ")
        assert row.verdict == verdict
        assert row.output in ("", output)
    model = sm.compile(source, theorem, attention=case.attention, length=case.length)
    word = case.examples[-1][0]
    run = sm.run(model, word)
    assert found[word].prompt == run.prompt.tokens
    assert len(run.tokens) == len(found[word].trace)
    assert all(right in (None, emitted) for right, emitted in zip(found[word].trace, run.tokens, strict=True))
    assert (found[word].steps, found[word].verdict) == (run.steps, summarise(run.outcome).split()[0])


def test_verdicts_are_those_of_the_interpreter() -> None:
    for name in ("palindrome", "parity-counter", "majority-crasp", "dyck-1-program", "Q_a since Q_b"):
        source = sm.load(name)
        assert not isinstance(source, sm.Model)
        accepts = membership_predicate(source)
        rows = list(sm.dataset(source, up_to=4))
        assert len(rows) == sum(len(source.alphabet) ** length for length in range(5))
        assert {row.verdict for row in rows} == {"accept", "reject"}
        for row in rows[name == "dyck-1-program" :]:  # which is undefined on the empty word
            assert accepts(source.word(row.input)) == (row.verdict == "accept")
            assert row.length == len(source.word(row.input))


def test_a_data_set_can_be_gone_through_twice_and_stopped() -> None:
    rows = sm.dataset("palindrome", sample=20, length="3-9", balance=True)
    assert list(rows) == list(rows)
    assert next(iter(rows)) == next(iter(rows))
    other = sm.dataset("palindrome", sample=20, length="3-9", balance=True, seed=1)
    assert {row.input for row in rows} != {row.input for row in other}


@pytest.mark.parametrize("wishes", [{}, {"balance": True}, {"near_misses": True}], ids=str)
@pytest.mark.parametrize("length", ["1-6", "20", "3-30"])
def test_words_are_different_of_the_right_lengths_and_balanced(length: str, wishes: dict[str, Any]) -> None:
    first, _, last = length.partition("-")
    rows = list(sm.dataset("parity-counter", sample=40, length=length, **wishes))
    assert len({row.input for row in rows}) == len(rows) == 40
    assert all(int(first) <= row.length <= int(last or first) for row in rows)
    if wishes:
        assert Counter(row.verdict for row in rows) == {"accept": 20, "reject": 20}


def test_words_that_are_hardly_ever_accepted_are_found() -> None:
    rows = list(sm.dataset("division-counter", sample=60, length="21-40", balance=True, long_traces=0.8))
    assert Counter(row.verdict for row in rows) == {"accept": 30, "reject": 30}
    for verdict in ("accept", "reject"):
        assert sum(len(row.trace) > 10 for row in rows if row.verdict == verdict) >= 24
    assert sum(row.verdict == "accept" for row in sm.dataset("palindrome", sample=20, length=30, balance=True)) == 10


@pytest.mark.parametrize("asked", [{"up_to": 6}, {"sample": 20, "length": "5-7"}, {"sample": 20, "length": "15-18"}])
def test_near_misses_come_in_pairs_one_edit_apart_in_one_part(asked: dict[str, Any]) -> None:
    from tests.datasets.test_relatives import distance

    rows = list(sm.dataset("palindrome", near_misses=True, **asked))
    by_input = {row.input: row for row in rows}
    assert len(by_input) == len(rows) >= 20
    for row in rows:
        assert row.near is not None
        other = by_input[row.near]
        assert (other.near, other.split) == (row.input, row.split)
        assert {row.verdict, other.verdict} == {"accept", "reject"}
        assert distance(tuple(row.input), tuple(other.input)) == 1


def test_near_misses_of_inputs_of_one_length_have_it() -> None:
    rows = list(sm.dataset("and-or", near_misses=True))
    assert rows
    assert all(row.length == 3 and row.near and len(row.near) == 3 for row in rows)


@pytest.mark.parametrize("wishes", [{}, {"near_misses": True}], ids=str)
def test_words_are_those_that_the_theorem_is_about(wishes: dict[str, Any]) -> None:
    rows = list(sm.dataset("parity", up_to=2, theorem="turing-counter", **wishes))
    assert rows
    assert all(list(row.input) == sorted(row.input) for row in rows)


def test_all_accepted_words_and_as_many_others() -> None:
    every, rows = (list(sm.dataset("palindrome", up_to=5, balance=balance)) for balance in (False, True))
    accepted = {row.input for row in every if row.verdict == "accept"}
    assert {row.input for row in rows if row.verdict == "accept"} == accepted
    assert len(rows) == 2 * len(accepted)


def test_bins_do_not_depend_on_each_other() -> None:
    both = list(sm.dataset("palindrome", sample=10, length="1-5,6-10", balance=True))
    one = list(sm.dataset("palindrome", sample=10, length="6-10", balance=True))
    assert len(both) == 20
    assert both[10:] == one


def test_splits_by_length_and_fraction() -> None:
    rule = "train=0.5,test=0.5,longer=6-10"
    rows = list(sm.dataset("palindrome", sample=30, length="1-5,6-10", split=rule))
    assert all((row.split == "longer") == (row.length > 5) for row in rows)
    assert {row.split for row in rows} == {"train", "test", "longer"}
    with pytest.raises(UsageError, match="words of length 0 belong to no part"):
        sm.dataset("palindrome", up_to=5, split="train=1-5")


@pytest.mark.parametrize(
    ("source", "asked", "problem"),
    [
        ("Q_a and not Q_a", {"up_to": 4, "balance": True}, "of 31 words of length 0 to 4, .* accepts none"),
        ("Q_a and not Q_a", {"sample": 4, "length": 8, "balance": True}, "only 0 accepted words of length 8 for"),
        ("true", {"up_to": 4, "near_misses": True, "alphabet": "ab"}, "no near misses of length 0 to 4|none"),
        ("full-adder", {"sample": 4, "balance": True}, "'full-adder' neither accepts nor rejects"),
        ("palindrome", {"sample": 9, "length": 3}, "only 8 words of length 3 for 'palindrome'; requested: 9"),
        ("palindrome", {"sample": 10, "length": 3, "balance": True}, "only 4 accepted words of length 3"),
        ("palindrome", {"sample": 3, "length": 3, "near_misses": True}, "come in pairs: 3 is odd"),
        ("palindrome", {"sample": 0, "length": 3}, "'sample': 0 is less than 1"),
        ("palindrome", {"sample": 3, "length": "1-5,5-9"}, "lengths overlap"),
        ("palindrome", {"sample": 3, "length": "short"}, "'short' is not a length"),
        ("palindrome", {"up_to": 40}, "more than 1,048,576 words of length 0 to 40"),
        ("palindrome", {"up_to": 4, "long_traces": 0.5}, "requires a sample"),
        ("palindrome", {"sample": 4, "length": 9, "long_traces": 8}, "between 0 and 1"),
        ("palindrome", {}, "choose the inputs"),
        ("full-adder", {"sample": 3, "length": 4}, "none of length 4"),
        ("binary-counter", {"up_to": 0, "max_steps": 50}, "on the empty word does not end within 50 steps"),
    ],
)
def test_what_cannot_be_is_refused(source: str, asked: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        list(sm.dataset(source, **asked))


def test_a_search_in_vain_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.engines.inputs.search.BASE_BUDGET", 300)
    monkeypatch.setattr("softmachine.engines.inputs.search.BUDGET_PER_WORD", 1)
    rows = sm.dataset("Q_a and not Q_a", sample=10, length=30, alphabet="ab", balance=True)
    with pytest.raises(UsageError, match=r"only 0 accepted words .* were found .* among [\d,]+ words") as found:
        list(rows)
    assert "request fewer" in str(found.value)


def test_runs_that_do_not_end_are_refused_or_left_out_and_counted(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"up_to": 3, "max_steps": 8}
    with pytest.raises(UsageError, match="does not end within 8 steps") as found:
        list(sm.dataset("palindrome", **asked))
    assert "--skip-unfinished" in str(found.value)
    rows = sm.dataset("palindrome", skip_unfinished=True, **asked)
    written = rows.save(tmp_path / "rows.jsonl")
    assert 0 < written.rows < 15
    assert written.left_out == 15 - written.rows
    assert all(row.steps <= 8 for row in rows)


def test_traces_fit_into_the_context_that_weights_would_be_made_for() -> None:
    with pytest.raises(UsageError, match="a context of 16 positions") as found:
        list(sm.dataset("increment", up_to=6, theorem="turing-ternary-summary", context=16))
    assert "a larger context" in str(found.value)
    with pytest.raises(ConstructionError, match="depend on a length"):
        sm.dataset("increment", up_to=6, theorem="turing-ternary")
    longest = max(
        len(row.prompt) + len(row.trace)
        for row in sm.dataset("increment", up_to=3, theorem="turing-ternary", context=32)
    )
    assert longest <= 32


def test_the_tokens_of_a_model_are_taken() -> None:
    model = sm.compile("increment", "turing-ternary", length=32)
    assert list(sm.dataset(model, up_to=2)) == list(
        sm.dataset("increment", up_to=2, theorem="turing-ternary", context=32)
    )


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of a file, in a common format."""
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        found: list[dict[str, Any]] = pq.read_table(file).to_pylist()
        return found
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    tokens = {"prompt", "trace"}
    return [
        {
            key: json.loads(value) if key in tokens else int(value) if value.isdigit() and key in NUMBERS else value
            for key, value in row.items()
        }
        | {"near": row["near"] or None}
        for row in rows
    ]


NUMBERS = {"length", "steps"}


@pytest.mark.parametrize("ending", FORMATS)
def test_files_hold_the_rows(tmp_path: Path, ending: str) -> None:
    for name in ("palindrome", "Q_a since Q_b"):
        rows = sm.dataset(name, up_to=4, near_misses=name == "palindrome")
        file = tmp_path / f"{name[0]}.{ending}"
        written = rows.save(file)
        assert read(file) == [row.to_json() for row in rows]
        assert (written.rows, written.path) == (len(list(rows)), file)
        assert written.tokens == sum(len(row.trace) for row in rows)
        assert written.splits == Counter(row.split for row in rows) | Counter({"train": 0, "validation": 0, "test": 0})


@pytest.mark.parametrize("ending", FORMATS)
def test_the_same_seed_gives_the_same_bytes_in_two_processes(tmp_path: Path, ending: str) -> None:
    code = (
        "import softmachine as sm, sys; "
        "sm.dataset('palindrome', sample=40, length='2-12', near_misses=True, seed=3).save(sys.argv[1])"
    )
    files = [tmp_path / f"{seed}.{ending}" for seed in (1, 2)]
    for seed, file in enumerate(files, 1):
        environment = {"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)}
        subprocess.run([sys.executable, "-c", code, str(file)], check=True, env=environment)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_parquet_without_pyarrow_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.studies.datasets.writers.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="Parquet needs pyarrow") as found:
        sm.dataset("palindrome", up_to=2).save(tmp_path / "rows.parquet")
    assert "softmachine[parquet]" in str(found.value)


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    with pytest.raises(UsageError, match="does not end"):
        sm.dataset("palindrome", up_to=3, max_steps=8).save(file)
    assert not list(tmp_path.iterdir())
    sm.dataset("palindrome", up_to=1).save(file)
    before = file.read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        sm.dataset("palindrome", up_to=2).save(file)
    with pytest.raises(UsageError, match="does not end"):
        sm.dataset("palindrome", up_to=3, max_steps=8).save(file, force=True)
    assert file.read_bytes() == before
    sm.dataset("palindrome", up_to=2).save(file, force=True)
    assert len(file.read_bytes().splitlines()) == 7
    with pytest.raises(UsageError, match=r"use one of \.jsonl, \.csv, \.parquet"):
        sm.dataset("palindrome", up_to=2).save(tmp_path / "rows.txt")


def test_a_smaller_sample_will_do_if_that_is_said() -> None:
    source = sm.load("division-counter")
    assert not isinstance(source, sm.Model)
    accepts = membership_predicate(source, max_steps=1_000)
    accepted = {"".join(word) for n in range(1, 7) for word in product("abc", repeat=n) if accepts(word)}
    asked = sm.dataset(source, sample=4_000, length="1-6", balance=True)
    found = [row.input for row in replace(asked, allow_fewer=True) if row.verdict == "accept"]
    assert sorted(found) == sorted(accepted)
    with pytest.raises(UsageError, match="there are only"):
        list(asked)
