"""Tokens of long runs: window and compressed tokens form one sequence, in any order of access."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.fast import tokens as module
from softmachine.engines.fast.indexes.kernels import PAGE_SIZE, token_at
from softmachine.engines.fast.run import FastRun
from softmachine.engines.fast.tokens import TokenHistory, Tokens
from softmachine.engines.run import RunSession

NAMES = [f"t{k}" for k in range(5)]
PLAIN = token_at.py_func  # type: ignore[attr-defined]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of few tokens."""
    monkeypatch.setattr(module, "MAX_WINDOW_BYTES", 2 * PAGE_SIZE)
    monkeypatch.setattr(module, "BLOCK_SIZE", 3 * PAGE_SIZE)
    monkeypatch.setattr("softmachine.support.token_array.BLOCK_SIZE", PAGE_SIZE)
    monkeypatch.setattr("softmachine.engines.fast.engine.CHUNK_POSITIONS", 5000)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usefixtures("narrow")
def test_tokens_are_a_sequence_however_they_are_read_and_written(seed: int) -> None:
    chance = random.Random(seed)
    kinds = np.array([0, 1, 0, 0, 1], dtype=np.int32)
    right = [chance.randrange(5) for _ in range(chance.choice([1, 10, 3 * PAGE_SIZE]))]
    tokens = Tokens(NAMES, right, kinds)
    at = 0
    for _ in range(60):
        match chance.randrange(8):
            case 0:
                at = 0
            case 1:
                tokens.compress(chance.randint(len(tokens.compressed), len(right)))
            case 2:
                tokens.set_classes(kinds)
            case _:
                pass
        last = at + chance.choice([0, 1, 100, PAGE_SIZE, 4 * PAGE_SIZE])
        tokens.move_window(at, last, len(right))
        assert tokens.base <= at
        assert last < tokens.base + tokens.window.size
        while at < last:
            assert tokens.window[at - tokens.base] == right[at]
            if at + 1 == len(right):
                right.append(chance.randrange(5) if len(right) % (3 * PAGE_SIZE) < 500 else 2)
                tokens.write(at + 1, right[-1])
            at += 1
        begin = chance.randint(0, len(right))
        end = chance.randint(begin, len(right))
        assert tokens.slice_codes(begin, end).tolist() == right[begin:end]
        if begin < end:
            j = chance.randint(0, at)
            found = PLAIN(tokens.window, tokens.base, tokens.history.pages, tokens.history.page_tokens, j)
            assert kinds[found] == kinds[right[j]]
    assert list(tokens.names_between(0, len(right))) == [NAMES[code] for code in right]
    for others in (kinds, np.array([0, 0, 2, 2, 2], dtype=np.int32)):
        again = tokens.read_only_prefix(len(right), others)
        assert again.slice_codes(0, len(right)).tolist() == right
        again.move_window(len(right) - 1, len(right) - 1, len(right))
        found = [
            PLAIN(again.window, again.base, again.history.pages, again.history.page_tokens, j)
            for j in range(len(right))
        ]
        assert np.array_equal(others[found], others[right])


def test_a_page_of_one_class_is_one_number_and_others_keep_their_tokens() -> None:
    older = TokenHistory(np.array([0, 0, 2], dtype=np.int32), np.dtype(np.uint8))
    codes = np.array([0, 1] * PAGE_SIZE + [1, 2] * (PAGE_SIZE // 2) + [2] * 10, dtype=np.uint8)
    for start in range(0, len(codes), 1000):
        older.append(start, codes[start : start + 1000])
    older.append(0, codes[:500])  # nothing new
    assert older.pages[:3].tolist() == [-1, -1, 0]
    assert older.page_tokens[:4].tolist() == [0, 2, 0, 2]
    assert older.token_count == len(codes)
    assert older.size == 3 * 8 + PAGE_SIZE


@pytest.mark.usefixtures("narrow")
def test_runs_with_small_windows_are_the_interpreters(tmp_path: Path) -> None:
    model = sm.compile("busy-beaver-5")
    running = RunSession(model, "", engine="fast", max_steps=40_000, verify=True, checkpoint=tmp_path / "run")
    list(running.chunks())
    assert isinstance(running._now, FastRun)
    assert len(running._now.run.tokens.compressed) > 30_000  # type: ignore[union-attr]
    assert running.result().verified_count == 40_001
    assert running.audit(5).holds
    assert (tmp_path / "run").stat().st_size < 150_000
    again = RunSession(model, "", max_steps=50_000, verify=True, resume=tmp_path / "run")
    list(again.chunks())
    assert (again.resumed_count, again.result().verified_count) == (40_001, 50_001)
    assert again.audit(5, seed=1).holds


@pytest.mark.usefixtures("narrow")
def test_heads_find_the_input_after_it_is_compressed() -> None:
    word = "".join(random.Random(1).choice("01") for _ in range(4 * PAGE_SIZE)) + "1111"
    run = sm.run(sm.compile("increment"), word, engine="fast", verify=True)
    assert int(run.output, 2) == int(word, 2) + 1
    assert run.verified_count == len(run.tokens)


@pytest.mark.usefixtures("narrow")
def test_a_plan_that_fails_late_restarts_from_compressed_tokens() -> None:
    model = sm.compile("busy-beaver-5")
    running = RunSession(model, "", engine="fast", max_steps=30_000)
    assert isinstance(running._now, FastRun)
    run = running._now.run
    run.advance(20_000)
    run.engine.set_assumptions(frozenset({"last write"}), frozenset())
    run._restart_with_new_plans()  # type: ignore[union-attr]
    list(running.chunks())
    assert running.result().steps == 30_000  # which compares every token


def test_loaded_compressed_tokens_are_validated() -> None:
    from softmachine.support.token_array import BLOCK_SIZE, CompressedSequence

    packed: CompressedSequence[str] = CompressedSequence(NAMES)
    packed.extend(np.arange(BLOCK_SIZE + 7) % 5)
    saved = list(packed.arrays_to_save())
    twin: CompressedSequence[str] = CompressedSequence(NAMES)
    twin.restore(saved, 5)
    assert np.array_equal(twin.slice_codes(0, len(twin)), packed.slice_codes(0, len(packed)))
    assert len(saved[0]) < BLOCK_SIZE / 50
    bomb = np.frombuffer(__import__("zlib").compress(bytes(4 * BLOCK_SIZE)), dtype=np.uint8)
    short = np.frombuffer(__import__("zlib").compress(bytes(9)), dtype=np.uint8)
    for wrong in ([], [bomb, saved[1]], [short, saved[1]], [saved[0][:-9], saved[1]], [saved[0], saved[1] + 5]):
        with pytest.raises(ValueError, match=r"saved|block"):
            CompressedSequence(NAMES).restore(wrong, 5)
