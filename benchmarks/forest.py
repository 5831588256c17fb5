"""How much faster the k-d forest finds the best keys than looking at every group of equal keys.

Run with ``python benchmarks/forest.py``. Everything is measured in one run, on one core, in seconds of that core; what
counts are the ratios.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from softmachine.engines.fast.indexes.boxes import box_width
from softmachine.engines.fast.indexes.descent import DEEPEST, search_forest
from softmachine.engines.fast.indexes.finding import AVERAGE, search
from softmachine.engines.fast.indexes.forest import LEAF
from softmachine.engines.fast.indexes.groups import insert_in_forest

Integers = NDArray[np.int64]
Function = Callable[..., Any]
insert: Function = insert_in_forest
descend: Function = search_forest
scan: Function = search
SIZES = (128, 512, 2_048, 16_384, 131_072)
SEARCHES = 2_000
LOOKED_AT = 20_000_000
"""So many groups are looked at one by one, for a fair mean in bearable time."""


@numba.njit  # type: ignore[untyped-decorator]
def fill(groups: Any, trees: Any, rest: Any, all_keys: Any, value: Any) -> int:
    """Insert keys."""
    for i in range(all_keys.shape[0]):
        if insert(*groups, groups[0], *trees, rest, all_keys[i], value, i, False, False) != 0:
            return i
    return int(all_keys.shape[0])


@numba.njit  # type: ignore[untyped-decorator]
def ask(groups: Any, trees: Any, stack: Any, corner: Any, queries: Any, when: int, out: Any) -> int:
    """Search the forest for every query."""
    total = 0
    for k in range(queries.shape[0]):
        total += descend(*groups, *trees, stack, corner, queries[k], when, AVERAGE, False, False, out)
        total += out[0]
    return total


@numba.njit  # type: ignore[untyped-decorator]
def look(groups: Any, corner: Any, queries: Any, when: int, out: Any) -> int:
    """Look at every group for every query."""
    total = 0
    for k in range(queries.shape[0]):
        total += scan(*groups, corner, queries[k], when, AVERAGE, False, False, out)[0]
        total += out[0]
    return total


def shapes(rng: np.random.Generator, size: int) -> dict[str, tuple[Integers, Integers, int]]:
    """Keys, queries, and the coefficient of the position."""
    x = rng.permutation(np.arange(-size // 2, size - size // 2))
    q = rng.integers(-size // 2, size // 2, SEARCHES)
    ones = np.ones_like(q)
    side = int(1.5 * size**0.5) + 1
    plane, aims = rng.integers(-side, side, (size, 2)), rng.integers(-side, side, (SEARCHES, 2))
    sphere = rng.normal(size=(size, 3))
    sphere = (sphere / np.linalg.norm(sphere, axis=1)[:, None] * 10**6).astype(np.int64)
    anything, directions = rng.integers(-(10**6), 10**6, (size, 4)), rng.integers(-1000, 1000, (SEARCHES, 4))
    return {
        "(x, x²)": (np.stack([x, x * x], 1), np.stack([2 * q, -ones], 1), 0),
        "(x, x²), latest": (np.stack([x, x * x], 1), np.stack([2 * size * q, -size * ones], 1), 1),
        "(x, y, x² + y²)": (
            np.column_stack([plane, (plane * plane).sum(1)]),
            np.column_stack([2 * aims, -ones]),
            0,
        ),
        "on a sphere": (sphere, directions[:, :3].copy(), 0),
        "random, d_k = 4": (anything, directions, 0),
    }


def new(*shape: int) -> Integers:
    return np.zeros(shape, dtype=np.int64)


def measured(keys: Integers, queries: Integers, when: int) -> tuple[float, float, float]:
    """Seconds for an insertion, for a search in the forest, and for looking at every group."""
    size, d = keys.shape
    capacity = 1 << (size - 1).bit_length()
    slots = np.full(4 * capacity, -1, dtype=np.int64)
    groups = (new(capacity, d), new(capacity, 3), new(capacity, 3), slots, new(4), new(2, d))
    nodes = 2 * capacity // LEAF
    trees = (new(capacity, 2), new(nodes, box_width(d)), new(nodes, 4))
    rest, stack, corner, out = new(capacity, d), new(DEEPEST, 2), new(d), new(1)
    began = time.process_time()
    assert fill(groups, trees, rest, np.ascontiguousarray(keys), np.ones(1, dtype=np.int64)) == size
    inserting = (time.process_time() - began) / size
    queries = np.ascontiguousarray(queries)
    began = time.process_time()
    found = ask(groups, trees, stack, corner, queries, when, out)
    searching = (time.process_time() - began) / len(queries)
    fewer = queries[: max(LOOKED_AT // size, 20)]
    began = time.process_time()
    seen = look(groups, corner, fewer, when, out)
    looking = (time.process_time() - began) / len(fewer)
    assert len(fewer) < len(queries) or found == seen
    return inserting, searching, looking


def main() -> None:
    """Measure, and print a table."""
    for keys, queries, when in shapes(np.random.default_rng(0), 128).values():
        measured(keys, queries, when)  # compiles
    table = Table(title="the best of many different keys, one core")
    for heading in ("keys", "different keys", "insert, µs", "forest, µs", "every group, µs", "ratio"):
        table.add_column(heading, justify="right")
    for size in SIZES:
        for name, (keys, queries, when) in shapes(np.random.default_rng(1), size).items():
            inserting, searching, looking = (1e6 * seconds for seconds in measured(keys, queries, when))
            table.add_row(
                name,
                f"{len(np.unique(keys, axis=0)):,}",
                f"{inserting:.1f}",
                f"{searching:.1f}",
                f"{looking:,.1f}",
                f"{looking / searching:,.1f}",
            )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
