"""Reading a run is a check: what is not a run of its source has no verdict, whatever the language."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

import softmachine as sm
from softmachine.languages import zoo
from softmachine.languages.source import Source
from softmachine.support.errors import SoftmachineError
from softmachine.support.token_array import CompressedSequence
from softmachine.theorems import applicable_theorems, find_theorem
from softmachine.theorems.codec import Codec, DecoderCodec
from tests.cases import CASES, Case
from tests.digests.cases import MORE_CONTEXTS

STEPS = 60
"""Runs are cut off here."""
LENGTHS = (64, 16)


def drop(said: list[str], at: int, others: Sequence[str], rng: random.Random) -> None:
    del said[at]


def swap(said: list[str], at: int, others: Sequence[str], rng: random.Random) -> None:
    said[at], said[at - 1] = said[at - 1], said[at]


def put(said: list[str], at: int, others: Sequence[str], rng: random.Random) -> None:
    said[at] = rng.choice(others)


def repeat(said: list[str], at: int, others: Sequence[str], rng: random.Random) -> None:
    said.insert(at, said[at])


def prolong(said: list[str], at: int, others: Sequence[str], rng: random.Random) -> None:
    said.append(rng.choice(others))


def cut(said: list[str], at: int, others: Sequence[str], rng: random.Random) -> None:
    del said[at:]


def cut_before_the_end(said: list[str], at: int, others: Sequence[str], rng: random.Random) -> None:
    """The verdict comes too early."""
    del said[at:-1]


Damage = Callable[[list[str], int, Sequence[str], random.Random], None]
DAMAGES: tuple[Damage, ...] = (drop, swap, put, repeat, prolong, cut, cut_before_the_end)


def is_right(codec: Codec[Source], said: Sequence[str], expected: Sequence[str | None]) -> bool:
    """Whether an output is the expected one, or for a decoder a prefix of it."""
    if isinstance(codec, DecoderCodec) and len(said) <= len(expected):
        expected = expected[: len(said)]
    same = len(said) == len(expected)
    return same and all(right in (None, token) for right, token in zip(expected, said, strict=True))


def packed(tokens: Sequence[str]) -> CompressedSequence[str]:
    names = sorted(set(tokens))
    result = CompressedSequence(names)
    result.extend(np.array([names.index(token) for token in tokens], dtype=np.int64))
    return result


def tell(codec: Codec[Source], word: str, rng: random.Random, times: int) -> int:
    """Read damaged runs; the number of those that are refused. Others must be read as the right ones are."""
    expected = tuple(codec.expected(word, STEPS))
    right = [token if token is not None else "true" for token in expected]
    if codec.is_autoregressive:
        expected = tuple(codec.expected(word, 2 * STEPS))
    others = [*dict.fromkeys([*right, "true", "false", "ACC", "REJ", "<stuck>", "nonsense"])]
    assert codec.parse_run(word, right) == codec.parse_output(word, right)
    refused = 0
    for damage in DAMAGES if right else (prolong,):
        for _ in range(times):
            said = list(right)
            damage(said, rng.randrange(len(said)) if said else 0, others, rng)
            for form in (said, packed(said)):
                read = is_read(codec, word, form)
                assert read == is_right(codec, said, expected), (damage, word, said)
                refused += not read
    return refused


def is_read(codec: Codec[Source], word: str, said: Sequence[str]) -> bool:
    try:
        codec.parse_run(word, said)
    except SoftmachineError:
        return False
    return True


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_not_a_run_is_not_read(case: Case) -> None:
    source = sm.load(case.source)
    assert not isinstance(source, sm.Model)
    codec = find_theorem(source, case.theorem).build_codec(source, case.length)
    rng = random.Random(0)
    assert sum(tell(codec, word, rng, 3) for word, _ in case.examples) > 0


@pytest.mark.slow
@pytest.mark.parametrize("entry", zoo.list_entries(), ids=lambda entry: str(entry.name))
def test_what_is_not_a_run_of_the_zoo_is_not_read(entry: zoo.ZooEntry) -> None:
    rng = random.Random(1)
    for codec in codecs(entry):
        for sample in entry.samples:
            try:
                codec.prompt(sample.input)
            except SoftmachineError:  # the theorem does not take this word
                continue
            tell(codec, sample.input, rng, 20)


def codecs(entry: zoo.ZooEntry) -> Iterator[Codec[Source]]:
    source = entry.load()
    for theorem in applicable_theorems(source):
        for length in (*MORE_CONTEXTS.get(theorem.name, ()), *LENGTHS) if theorem.length else (None,):
            try:
                yield theorem.build_codec(source, length)
            except SoftmachineError:  # it does not apply
                continue
