"""Hash tables on the heap and gathered words: what was inserted is found."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softmachine.engines.fast.bytecode import hash_tables, intrinsics, packed_trits
from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode.packed_trits import BitAddress, gather, pack_addresses, plan_moves

Integers = NDArray[np.int64]
STORE, STATE, FREE, KEY = of.HEADER, 0, of.STATE_SIZE, of.STATE_SIZE + 3
FIRST_FREE = KEY + 2


def store(most: int = 1 << 62, size: int = 4_000_000) -> tuple[Integers, Integers]:
    """A store of entries with keys of two words, and its heap."""
    code = np.zeros(of.HEADER + 5, dtype=np.int64)
    code[of.FREE] = FREE
    code[STORE:] = STATE, 2, 1, 1, most
    heap = np.zeros(size, dtype=np.int64)
    heap[FREE], heap[FREE + 1] = FIRST_FREE, size
    return code, heap


def found(key: tuple[int, int], guess: int, code: Integers, heap: Integers) -> int:
    heap[KEY : KEY + 2] = key
    return int(hash_tables.find(STORE, guess, KEY, code, heap))


def inserted(key: tuple[int, int], code: Integers, heap: Integers) -> int:
    missing = found(key, -1, code, heap)
    assert missing < 0
    return int(hash_tables.insert(STORE, missing, KEY, code, heap))


@pytest.mark.parametrize("count", [1, hash_tables.INITIAL_CAPACITY, hash_tables.INITIAL_CAPACITY + 1, 4_000, 40_000])
def test_entries_are_found_by_their_keys_however_many_there_are(count: int) -> None:
    """Up to 16,384 entries the hash table has four slots per word, then two."""
    code, heap = store()
    keys = [(k * k - 7 * k, -k) for k in range(count)]
    assert [inserted(key, code, heap) for key in keys] == list(range(count))
    assert [found(key, -1, code, heap) for key in keys] == list(range(count))
    assert all(found((x, 1), guess, code, heap) < 0 for guess, (x, _) in enumerate(keys))
    assert heap[STATE + of.CAPACITY] >= count
    assert heap[STATE + of.FOLD] == (2 if heap[STATE + of.CAPACITY] <= hash_tables.MAX_SHORT_ENTRIES else 1)


def test_a_guess_is_used_only_if_its_key_matches() -> None:
    code, heap = store()
    for k in range(40):
        inserted((k, 1), code, heap)
    assert [found((k, 1), guess, code, heap) for k in range(40) for guess in (k, 0, 39, 40, -5)] == [
        k for k in range(40) for _ in range(5)
    ]


def test_a_store_of_maximum_size_is_cleared_when_full() -> None:
    code, heap = store(most=64)
    for k in range(64):
        inserted((k, 0), code, heap)
    assert inserted((64, 0), code, heap) == 0
    assert found((64, 0), -1, code, heap) == 0
    assert found((63, 0), 63, code, heap) < 0


def test_a_heap_that_is_too_small_is_unchanged() -> None:
    code, heap = store(size=FIRST_FREE + 5 * hash_tables.INITIAL_CAPACITY)
    for k in range(hash_tables.INITIAL_CAPACITY):
        inserted((k, 0), code, heap)
    before = heap[:KEY].copy()
    assert inserted((hash_tables.INITIAL_CAPACITY, 0), code, heap) == -1
    assert heap[FREE + 2] > heap.size
    before[FREE + 2] = heap[FREE + 2]
    assert np.array_equal(heap[:KEY], before)
    assert [found((k, 0), -1, code, heap) for k in range(hash_tables.INITIAL_CAPACITY)] == list(
        range(hash_tables.INITIAL_CAPACITY)
    )


SPOTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, packed_trits.LANES - 1).map(lambda lane: 2 * lane)),
    max_size=70,
    unique=True,
)


@given(SPOTS, st.integers(0, 3), st.data())
def test_gathered_numbers_agree_with_their_sources(narrow: list[BitAddress], wide: int, data: st.DataObject) -> None:
    spots = dict(enumerate([*narrow, *((6 + 2 * k, packed_trits.WIDE_SHIFT) for k in range(wide))]))
    own, width = pack_addresses(spots, spots)
    assert len(set(own.values())) == len(spots)
    code: list[int] = [of.HEADER + 3, width, 20]
    for part in plan_moves([(spots[place], own[place]) for place in spots], width):
        code.append(of.HEADER + len(code) + 1 + 3 * len(part))
        code += [number for move in part for number in move]
    array = np.array([0] * of.HEADER + code, dtype=np.int64)
    heap = np.zeros(20 + width, dtype=np.int64)
    for _ in range(2):
        numbers = {place: data.draw(st.sampled_from([-1, 0, 1])) for place in range(len(narrow))}
        numbers |= {len(narrow) + k: data.draw(st.integers(-(1 << 62), 1 << 62)) for k in range(wide)}
        heap[:20] = 0
        for place, number in numbers.items():
            assert packed_trits.write_number(heap, *spots[place], number, 1)
        last = heap[20:].copy()
        new = gather(of.HEADER, array, heap)
        assert new == (not np.array_equal(heap[20:], last))
        assert {
            place: packed_trits.read_number(heap, 20 + own[place][0], own[place][1])[0] for place in spots
        } == numbers


@numba.njit  # type: ignore[untyped-decorator]
def compiled(bits: int, count: int) -> tuple[int, int, int]:
    return intrinsics.popcount(bits), intrinsics.count_trailing_zeros(bits | 1), intrinsics.rotate_left(bits, count)


@given(st.integers(0, (1 << 62) - 1), st.integers(0, 63), st.integers(0, 61))
def test_intrinsics_agree_with_the_python_functions(bits: int, count: int, first: int) -> None:
    high = bits >> first << first | 1 << first
    assert intrinsics.popcount(bits) == bits.bit_count()
    assert intrinsics.count_trailing_zeros(high) == first
    assert intrinsics.rotate_left(intrinsics.rotate_left(bits, count), (64 - count) % 64) == bits
    assert compiled(bits, count) == (bits.bit_count(), 0, intrinsics.rotate_left(bits, count))


def test_rotation_wraps_around() -> None:
    assert [intrinsics.rotate_left(bits, 2) for bits in (3, 1 << 61, -1, 1 << 62)] == [12, -(1 << 63), -1, 1]
