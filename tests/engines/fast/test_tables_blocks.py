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
from softmachine.engines.fast.bytecode.attention import scale_query, scan_groups
from softmachine.engines.fast.bytecode.encoder import EncodedProgram, make_schedule
from softmachine.engines.fast.bytecode.interpreter import Bytecode
from softmachine.engines.fast.bytecode.memory import BytecodeHeap
from softmachine.engines.fast.engine import FastPass
from softmachine.theorems.codec import DecoderCodec

LANES = st.lists(st.sampled_from([-1, 0, 1]), min_size=packed_trits.LANES, max_size=packed_trits.LANES)


@pytest.fixture(scope="module")
def ternary() -> Model:
    return sm.compile("binary-counter", theorem="turing-ternary", length=256)


def started(model: Model) -> tuple[FastPass, BytecodeHeap]:
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    run = FastEngine(model.weights).start(codec.prompt("").tokens, codec.is_stop_token)
    assert isinstance(run.memory, BytecodeHeap)
    return run, run.memory


def packed(numbers: list[int]) -> int:
    return sum((number & 3) << (2 * k) for k, number in enumerate(numbers))


@given(LANES, LANES)
def test_words_represent_numbers(one: list[int], two: list[int]) -> None:
    word = packed(one)
    assert [packed_trits.read_trit(word, 2 * k) for k in range(packed_trits.LANES)] == one
    assert packed_trits.nonzero_lanes(word) == packed([abs(number) for number in one])
    assert intrinsics.popcount(packed_trits.nonzero_lanes(word)) == sum(map(abs, one))
    both = packed_trits.nonzero_lanes(word) & packed_trits.nonzero_lanes(packed(two))
    unlike = intrinsics.popcount(((word ^ packed(two)) >> 1) & both)
    assert intrinsics.popcount(both) - 2 * unlike == sum(a * b for a, b in zip(one, two, strict=True))


def test_memoised_blocks_agree_with_computed_ones(ternary: Model) -> None:
    (remembering, _), (computing, kept) = started(ternary), started(ternary)
    computing.memory = BytecodeHeap(kept.code, compute_all=True)
    for count in range(remembering.given_count, 100):  # prompt positions have no output
        remembering.run_until(count)
        computing.run_until(count)
        quick, slow = remembering.memory, computing.memory
        assert isinstance(quick, BytecodeHeap)
        assert isinstance(slow, BytecodeHeap)
        end = quick.encoded.registers  # the words come first
        assert np.array_equal(quick.heap[:end], slow.heap[:end]), count
        assert not any(slow.heap[slow.encoded.code[table + of.STATE] + of.USED] for table in slow.encoded.memo_stores)


def test_incremental_rows_agree_with_full_evaluation(ternary: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    keeping, kept = started(ternary)
    assert all(kept.encoded.code[record + of.IS_INCREMENTAL] for record in kept.encoded.blocks_at)
    monkeypatch.setattr(EncodedProgram, "_is_narrow", lambda *_: False)
    computing, computed = started(ternary)
    assert not any(computed.encoded.code[record + of.IS_INCREMENTAL] for record in computed.encoded.blocks_at)
    for count in range(1, 100):
        keeping.run_until(count)
        computing.run_until(count)
        one, other = keeping.memory, computing.memory
        assert isinstance(one, BytecodeHeap)
        assert isinstance(other, BytecodeHeap)
        assert np.array_equal(one.heap[: one.encoded.registers], other.heap[: other.encoded.registers]), count


def test_memory_of_a_context_is_committed_before_it_begins(ternary: Model) -> None:
    run, kept = started(ternary)
    run.reserve(4096)
    heap = kept.heap
    run.run_until(250)
    assert kept.heap is heap
    assert heap.size > 2 * kept.encoded.heap_size


def test_blocks_that_are_the_same_function_share_one_table(ternary: Model) -> None:
    code = FastEngine(ternary.weights).code
    assert isinstance(code, Bytecode)
    tables = [code.encoded.code[record + of.MEMO] for record in code.encoded.blocks_at]
    assert len(set(tables)) == len(code.encoded.memo_stores) < len(tables)


def test_a_full_memo_table_is_cleared_without_changing_tokens(ternary: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(ternary.codec.expected("", 200))[:200]
    monkeypatch.setattr(encoder, "MAX_MEMO_ENTRIES", 32)
    run, _ = started(ternary)
    run.run_until(202)
    kept = run.memory
    assert isinstance(kept, BytecodeHeap)
    stores = [kept.encoded.code[table + of.STATE] for table in kept.encoded.memo_stores]
    assert max(kept.heap[state + of.CAPACITY] for state in stores) == 32
    assert list(run.output(200)) == expected


def test_the_best_key_agrees_with_comparing_all(ternary: Model) -> None:
    """Kinds and new keys against every score of every group, computed in fractions."""
    run, _ = started(ternary)
    decided = 0
    for count in range(1, 120, 7):
        run.run_until(count)
        kept = run.memory
        assert isinstance(kept, BytecodeHeap)
        code, heap = kept.encoded.code, kept.heap.copy()
        for question in kept.encoded.queries:
            g = heap[code[question + of.SEARCH_RESULT] + of.GROUP]
            if g >= 0:
                time, bad = scale_query(question, code, heap)
                best, ties, *_, unfit = scan_groups(question, time, code, heap)
                assert (best, ties, bad or unfit) == (g, 1, False)
                decided += 1
    assert decided > 300


def test_a_run_in_reused_memory_gives_the_same_tokens(ternary: Model) -> None:
    run, _ = started(ternary)
    run.run_until(200)
    output = list(run.output(190))
    codes = np.array([run.tokens[k] for k in range(run.prompt_length)])
    run.restart(codes)
    run.run_until(200)
    assert list(run.output(190)) == output


def test_prompt_positions_compute_only_what_later_ones_need(ternary: Model) -> None:
    code = FastEngine(ternary.weights).code
    assert isinstance(code, Bytecode)
    order = make_schedule(code.program, code.blocks)
    answered = {
        (of.INSERT_AND_RETRIEVE, number) if what == of.INSERT_VALUE else (what, number)
        for what, number in order.without_output
    }
    assert answered < set(order.with_output)
    assert len(order.without_output) < 0.9 * len(order.with_output)
    keys = {number for what, number in order.with_output if what == of.INSERT_KEY}
    assert (
        keys
        == {number for what, number in order.without_output if what == of.INSERT_KEY}
        == set(range(len(code.program.indexes)))
    )
    assert order.previous == []
