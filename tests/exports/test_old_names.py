"""Folders and checkpoints of runs with earlier names of theorems and heads load, and give the same tokens."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.engines.run import RunSession
from softmachine.exports import native
from softmachine.support import stored_names
from softmachine.theorems import all_theorems, get_theorem
from softmachine.transformer.weights import compute_digest
from tests.cli.conftest import Cli, cli  # noqa: F401

OLD = Path(__file__).parent / "old_names"
FILES = Path(__file__).parents[1] / "command_output" / "files"
FOLDERS = {
    "residues": (FILES / "tiny.yaml", "turing-residue-address", 16, "11"),
    "temporal-masked-literal": ("#<[Q_a] > 1", "temporal-masked-paper-positions", None, "aa"),
    "counter-relu-bounded": (FILES / "most.cm", "counter-relu-max-length", 16, "aab"),
    "circuit-unit": (FILES / "gates.bench", "circuit-threshold", None, "110"),
    "unique-hard": ("Q_a since Q_b", "temporal-unique-hard", None, "baa"),
}
"""For each folder the source, the present name of the theorem, the length, and an input."""
RUNS = {
    "chapter-8": ("turing-average-hard", None),
    "chapter-8-summary": ("turing-average-hard-summary", None),
    "ternary": ("turing-ternary", 1024),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_with_an_earlier_name_is_the_same_model(name: str) -> None:
    source, theorem, length, word = FOLDERS[name]
    old, new = native.load(OLD / name), sm.compile(sm.load(str(source)), theorem, context=length)
    assert old.theorem is new.theorem
    assert compute_digest(old.weights) == compute_digest(new.weights)
    assert [head.name for head in old.weights.heads] == [head.name for head in new.weights.heads]
    assert list(sm.run(old, word).tokens) == list(sm.run(new, word).tokens)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_with_earlier_names_resumes(name: str, tmp_path: Path) -> None:
    theorem, context = RUNS[name]
    saved = shutil.copy(OLD / f"{name}.run", tmp_path)
    model = sm.compile("busy-beaver-4", theorem, context=context)
    resumed = RunSession(model, "", engine="fast", max_steps=200, resume=Path(saved))
    new = list(resumed)
    tokens = list(sm.run(model, "", max_steps=200).tokens)
    assert 0 < len(new) < len(tokens)
    assert list(resumed.result().tokens) == tokens


def test_every_earlier_name_leads_to_a_theorem() -> None:
    assert all(get_theorem(present) for present in stored_names.THEOREMS.values())
    assert not stored_names.THEOREMS.keys() & {theorem.name for theorem in all_theorems()}


@pytest.mark.parametrize(
    ("earlier", "present"),
    [
        ("undo 1/(i+1) of -head 2", "recover -head 2 position"),
        ("share of #<[Q_a]", "mean of #<[Q_a]"),
        ("signs so far", "parity mean (past)"),
        ("mean of moves", "mean of moves"),
    ],
)
def test_earlier_names_of_heads(earlier: str, present: str) -> None:
    assert stored_names.present_head(earlier) == present
    assert stored_names.earlier_head(present) == earlier


def test_messages_about_an_earlier_name_give_the_present_one(cli: Cli) -> None:  # noqa: F811
    assert "did you mean turing-average-hard?" in cli("run", "palindrome", "abba", "--theorem", "chapter-8").err
    assert "did you mean temporal-unique-hard?" in cli("theorems", "unique-hard").err
