from __future__ import annotations

import random

import pytest

from softmachine.languages import zoo
from softmachine.languages.rasp import RaspProgram, evaluate, run
from softmachine.languages.rasp.values import identity_key
from softmachine.testing.rasp import random_program


def agrees(program: RaspProgram, word: list[str]) -> bool:
    slow, fast = evaluate(program, word), evaluate(program, word, grouping_length=0)
    return all(list(map(identity_key, slow[name])) == list(map(identity_key, fast[name])) for name in slow)


@pytest.mark.parametrize("seed", range(80))
def test_keys_in_groups_give_what_every_pair_of_positions_gives(seed: int) -> None:
    rng = random.Random(seed)
    program = random_program(rng, operations=16, loop=seed % 8 == 0)
    assert all(agrees(program, rng.choices(program.alphabet, k=length)) for length in (1, 4, 13))


@pytest.mark.parametrize(
    "entry", [entry for entry in zoo.list_entries() if entry.file.startswith("rasp/")], ids=lambda e: e.name
)
def test_programs_of_the_zoo_agree_on_longer_words(entry: zoo.ZooEntry) -> None:
    program = entry.load()
    assert isinstance(program, RaspProgram)
    if entry.name != "subleq-rasp":  # which may run forever
        assert agrees(program, random.Random(0).choices(program.alphabet, k=60))


@pytest.mark.parametrize("name", ["induction-rasp", "dyck-3-rasp", "mode-rasp", "double-histogram-rasp"])
def test_long_words_take_no_longer_than_they_are(name: str) -> None:
    entry = zoo.find_entry(name)
    assert entry is not None
    program = entry.load()
    assert isinstance(program, RaspProgram)
    # Every query against every key would take half a minute.
    assert len(run(program, random.Random(0).choices(program.alphabet, k=5_000))) == 5_000
