"""Memoised blocks of large models: packed trits are numbers, answers are the computed ones, the argmax is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.fast import FastEngine
from softmachine.engines.fast.bytecode import encoder, intrinsics, packed_trits
from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode.attention import best_of_all, scaled_query
from softmachine.engines.fast.bytecode.encoder import Layout, order_of
from softmachine.engines.fast.bytecode.interpreter import Interpreted
from softmachine.engines.fast.bytecode.memory import TableMemory
from softmachine.engines.fast.engine import FastPass
from softmachine.theorems.codec import DecoderCodec

LANES = st.lists(st.sampled_from([-1, 0, 1]), min_size=packed_trits.LANES, max_size=packed_trits.LANES)


@pytest.fixture(scope="module")
def ternary() -> Model:
    return sm.compile("binary-counter", theorem="turing-ternary", length=256)


def started(model: Model) -> tuple[FastPass, TableMemory]:
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    run = FastEngine(model.weights).start(codec.prompt("").tokens, codec.stops)
    assert isinstance(run.memory, TableMemory)
    return run, run.memory


def packed(numbers: list[int]) -> int:
    return sum((number & 3) << (2 * k) for k, number in enumerate(numbers))


@given(LANES, LANES)
def test_words_represent_numbers(one: list[int], two: list[int]) -> None:
    word = packed(one)
    assert [packed_trits.lane(word, 2 * k) for k in range(packed_trits.LANES)] == one
    assert packed_trits.kind_of(word) == packed([abs(number) for number in one])
    assert intrinsics.how_many(packed_trits.kind_of(word)) == sum(map(abs, one))
    both = packed_trits.kind_of(word) & packed_trits.kind_of(packed(two))
    unlike = intrinsics.how_many(((word ^ packed(two)) >> 1) & both)
    assert intrinsics.how_many(both) - 2 * unlike == sum(a * b for a, b in zip(one, two, strict=True))


def test_memoised_blocks_agree_with_computed_ones(ternary: Model) -> None:
    (remembering, _), (computing, kept) = started(ternary), started(ternary)
    computing.memory = TableMemory(kept.code, everything=True)
    for count in range(remembering.given, 100):  # prompt positions have no output
        remembering.go(count)
        computing.go(count)
        quick, slow = remembering.memory, computing.memory
        assert isinstance(quick, TableMemory)
        assert isinstance(slow, TableMemory)
        end = quick.layout.numbers  # the words come first
        assert np.array_equal(quick.heap[:end], slow.heap[:end]), count
        assert not any(slow.heap[slow.layout.code[table + of.STATE] + of.USED] for table in slow.layout.tables)


def test_incremental_rows_agree_with_full_evaluation(ternary: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    keeping, kept = started(ternary)
    assert all(kept.layout.code[record + of.KEEPS] for record in kept.layout.blocks_at)
    monkeypatch.setattr(Layout, "_is_narrow", lambda *_: False)
    computing, computed = started(ternary)
    assert not any(computed.layout.code[record + of.KEEPS] for record in computed.layout.blocks_at)
    for count in range(1, 100):
        keeping.go(count)
        computing.go(count)
        one, other = keeping.memory, computing.memory
        assert isinstance(one, TableMemory)
        assert isinstance(other, TableMemory)
        assert np.array_equal(one.heap[: one.layout.numbers], other.heap[: other.layout.numbers]), count


def test_memory_of_a_context_is_committed_before_it_begins(ternary: Model) -> None:
    run, kept = started(ternary)
    run.reserve(4096)
    heap = kept.heap
    run.go(250)
    assert kept.heap is heap
    assert heap.size > 2 * kept.layout.heap


def test_blocks_that_are_the_same_function_share_one_table(ternary: Model) -> None:
    code = FastEngine(ternary.weights).code
    assert isinstance(code, Interpreted)
    tables = [code.layout.code[record + of.TABLE] for record in code.layout.blocks_at]
    assert len(set(tables)) == len(code.layout.tables) < len(tables)


def test_a_full_memo_table_is_cleared_without_changing_tokens(ternary: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(ternary.codec.expected("", 200))[:200]
    monkeypatch.setattr(encoder, "MOST_ANSWERS", 32)
    run, _ = started(ternary)
    run.go(202)
    kept = run.memory
    assert isinstance(kept, TableMemory)
    stores = [kept.layout.code[table + of.STATE] for table in kept.layout.tables]
    assert max(kept.heap[state + of.CAPACITY] for state in stores) == 32
    assert list(run.said_since(200)) == expected


def test_the_best_key_agrees_with_comparing_all(ternary: Model) -> None:
    """Kinds and new keys against every score of every group, computed in fractions."""
    run, _ = started(ternary)
    decided = 0
    for count in range(1, 120, 7):
        run.go(count)
        kept = run.memory
        assert isinstance(kept, TableMemory)
        code, heap = kept.layout.code, kept.heap.copy()
        for question in kept.layout.questions:
            g = heap[code[question + of.ASKED] + of.GROUP]
            if g >= 0:
                time, bad = scaled_query(question, code, heap)
                best, ties, *_, unfit = best_of_all(question, time, code, heap)
                assert (best, ties, bad or unfit) == (g, 1, False)
                decided += 1
    assert decided > 300


def test_a_run_in_reused_memory_gives_the_same_tokens(ternary: Model) -> None:
    run, _ = started(ternary)
    run.go(200)
    output = list(run.said_since(190))
    codes = np.array([run.tokens[k] for k in range(run.prompt)])
    run.again(codes)
    run.go(200)
    assert list(run.said_since(190)) == output


def test_prompt_positions_compute_only_what_later_ones_need(ternary: Model) -> None:
    code = FastEngine(ternary.weights).code
    assert isinstance(code, Interpreted)
    order = order_of(code.program, code.blocks)
    answered = {
        (of.KEEP_AND_FIND, number) if what == of.KEEP_VALUE else (what, number) for what, number in order.unanswered
    }
    assert answered < set(order.answered)
    assert len(order.unanswered) < 0.9 * len(order.answered)
    keys = {number for what, number in order.answered if what == of.KEEP_KEY}
    assert (
        keys
        == {number for what, number in order.unanswered if what == of.KEEP_KEY}
        == set(range(len(code.program.indexes)))
    )
    assert order.past == []
