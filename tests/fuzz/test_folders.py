"""Damaged folders of models: each is refused, or answers as before; nobody changes them."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.exports.manifest import MANIFEST_FILE
from tests.fuzz.calling import call, contents, within
from tests.fuzz.damage import another_value, cut, exchanged, flipped, huge_number, noise
from tests.fuzz.sizes import BATCHES, DAMAGED, batch
from tests.models import model_of, rewrite

SOURCES = (
    ("parity", None, None, "101"),
    ("increment", "turing-residue-address", 16, "11"),
    ("Q_a since Q_b", None, None, "aba"),
    ("dyck-1-program", None, None, "(())"),
    ("majority-crasp", None, None, "aab"),
    ("parity-counter", None, None, "aba"),
    ("and-or", None, None, "110"),
    ("koenigsberg", None, None, "altstadt lomse"),
)
"""Sources, theorems, lengths, and a word."""
DAMAGES = (flipped, cut, exchanged, huge_number, noise)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, str, str]]:
    """Folders of models, a word for each, and what it answers."""
    made = []
    for number, (source, theorem, length, word) in enumerate(SOURCES):
        folder = tmp_path_factory.mktemp("whole") / f"model{number}"
        sm.save(model_of(source, theorem, None, length), folder)
        made.append((folder, word, answer(folder, word)))
    return made


def answer(folder: Path, word: str) -> str:
    """What a model says, or how it is refused."""
    with within(60):
        try:
            run = sm.run(sm.load(folder), word, max_steps=60)
        except sm.SoftmachineError as error:
            return f"refused: {error}"
    return f"{run.outcome.verdict} {run.outcome.output} {run.outcome.values}"


@pytest.mark.parametrize("seed", range(5))
def test_a_few_damaged_folders(whole: list[tuple[Path, str, str]], seed: int, tmp_path: Path) -> None:
    damage_and_ask(whole, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(BATCHES))
def test_many_damaged_folders(whole: list[tuple[Path, str, str]], number: int, tmp_path: Path) -> None:
    for seed in batch(number, DAMAGED):
        damage_and_ask(whole, seed, tmp_path)


def damage_and_ask(whole: list[tuple[Path, str, str]], seed: int, scratch: Path) -> None:
    """Damage one file of a folder by chance, or one value of its JSON with digests that do not tell."""
    rng = random.Random(f"folder {seed}")
    original, word, right = rng.choice(whole)
    folder = scratch / f"model{seed}"
    shutil.copytree(original, folder)
    on_purpose = rng.random() < 0.4
    if on_purpose:
        rewrite(folder, lambda data: another_value(rng, data))
    elif rng.random() < 0.3:
        file = folder / MANIFEST_FILE
        data = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps(another_value(rng, data)), encoding="utf-8")
    else:
        file = rng.choice([file for file in folder.iterdir() if file.is_file()])
        file.write_bytes(rng.choice(DAMAGES)(rng, file.read_bytes()))
    before = contents(folder)
    said = answer(folder, word)
    assert said == right or said.startswith("refused: ") or on_purpose, f"seed {seed}: {said}, not {right}"
    if rng.random() < 0.2:
        call("show", str(folder))
    assert contents(folder) == before
    shutil.rmtree(folder)
