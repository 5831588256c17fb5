"""Compressed token arrays behave as sequences."""

from __future__ import annotations

import random

import numpy as np
import pytest

from softmachine.support import token_array as coded
from softmachine.support.token_array import CodeArray, CompressedSequence


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coded, "BLOCK_SIZE", 64)
    monkeypatch.setattr(coded, "CHUNK_SIZE", 16)


@pytest.mark.parametrize("count", [2, 300])
@pytest.mark.parametrize("length", [0, 1, 15, 16, 63, 64, 65, 128, 200])
def test_packed_sequences_are_what_was_put_in(length: int, count: int) -> None:
    chance = random.Random(length)
    names = [f"x{k}" for k in range(count)]
    codes = [chance.randrange(count) for _ in range(length)]
    packed: CompressedSequence[str] = CompressedSequence(names)
    done = 0
    while done < length:
        step = chance.randint(1, 90)
        packed.extend(np.array(codes[done : done + step]))
        done += step
    right = [names[code] for code in codes]
    assert list(packed) == right
    assert len(packed) == length
    assert packed == tuple(right) == CodeArray(np.array(codes, dtype=np.int64), names)
    for _ in range(40):
        start, end = (chance.choice([None, chance.randint(-210, 210)]) for _ in range(2))
        cut = slice(start, end, chance.choice([None, 1, 3, -1, -2]))
        assert list(packed[cut]) == right[cut], cut
    for index in range(-length, length):
        assert packed[index] == right[index]
    for index in (length, -length - 1):
        with pytest.raises(IndexError):
            packed[index]
    assert packed.used_codes() == set(codes)


def test_a_copy_stays_as_it_is() -> None:
    packed: CompressedSequence[str] = CompressedSequence(["a", "b"])
    packed.extend(np.zeros(100, dtype=np.int64))
    twin = packed.copy()
    packed.extend(np.ones(100, dtype=np.int64))
    assert (len(twin), len(packed)) == (100, 200)
    assert set(twin) == {"a"}


def test_what_means_something_is_chosen() -> None:
    packed: CompressedSequence[str] = CompressedSequence(["1", "x", "3"])
    packed.extend(np.array([0, 1, 2] * 50))
    assert list(packed.map_items(lambda name: int(name) if name.isdigit() else None)) == [1, 3] * 50
    assert list(packed.map_items(lambda _: None)) == []


def test_packed_sequences_are_small() -> None:
    packed: CompressedSequence[str] = CompressedSequence(["a", "b"])
    packed.extend(np.zeros(64 * 100, dtype=np.int64))
    assert packed.memory_bytes < 64 * 100 / 3
