"""The languages of the zoo's families, compared with Python definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import pytest

from softmachine.languages import zoo
from softmachine.languages.circuit import evaluate
from softmachine.languages.family import CircuitFamily
from softmachine.testing import load_as
from softmachine.transformer.features import ceil_log2


def tree_vote(word: Sequence[str]) -> bool:
    votes = [bit == "1" for bit in word]
    while len(votes) > 1:
        groups = [votes[k : k + 3] for k in range(0, len(votes), 3)]
        votes = [sum(group) >= 2 if len(group) == 3 else group[0] for group in groups]
    return votes[0]


DEFINITIONS: dict[str, Callable[[Sequence[str]], bool]] = {
    "parity-family": lambda word: word.count("1") % 2 == 1,
    "majority-sorted": lambda word: 2 * word.count("1") > len(word),
    "vote-tree": tree_vote,
}


def family(name: str) -> CircuitFamily:
    return load_as(name, CircuitFamily)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_short_word(name: str) -> None:
    source = family(name)
    for length in range(1, 8):
        circuit = source.circuit(length)
        for word in product("01", repeat=length):
            assert (evaluate(circuit, word) == "1") is DEFINITIONS[name](word), word
    assert source.accepts("1")


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_samples_of_the_index_are_right(name: str) -> None:
    """Regression: the sample 10100 of the voting family was wrong, where a group of two follows its first symbol."""
    (entry,) = [entry for entry in zoo.list_entries() if entry.name == name]
    assert {sample.verdict for sample in entry.samples} == {"accept", "reject"}
    for sample in entry.samples:
        assert (sample.verdict == "accept") is DEFINITIONS[name](sample.input), sample.input


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 16, 31, 64])
def test_depths_agree_with_the_index(length: int) -> None:
    log = ceil_log2(length)
    assert family("parity-family").circuit(length).depth == 2 * log + 1
    assert family("majority-sorted").circuit(length).depth in range(log * (log + 1) // 2 + 1, log * (log + 1) // 2 + 4)
    assert family("vote-tree").circuit(length).depth <= log + 1
