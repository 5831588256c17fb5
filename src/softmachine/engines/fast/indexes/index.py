"""The arrays of a head's groups and of the forest over them, or of all its keys: fresh, larger, and from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.analysis.plans import Dense, Groups
from softmachine.engines.fast.codegen.serving import Storage
from softmachine.engines.fast.indexes.boxes import box_width
from softmachine.engines.fast.indexes.dense import OVER, TABULATED, WANTED, tabulate
from softmachine.engines.fast.indexes.descent import DEEPEST
from softmachine.engines.fast.indexes.forest import BLOCK, COUNT, FIRST, LAST, LEAF, plant_again
from softmachine.engines.fast.indexes.groups import GROUPS, HINT, INSERTED, LATEST, rehash

Integers = NDArray[np.int64]


def group_arrays(storage: Storage, capacity: int) -> dict[str, Integers]:
    """Empty arrays for so many groups, a power of two, by their names."""
    plan, keys, width = storage.plan, storage.key_width, storage.width
    assert isinstance(plan, Groups)
    components = len(plan.queries)
    nodes = max(2 * capacity // LEAF, 1)
    shapes = {
        "keys": (capacity, keys),
        "places": (capacity, 3),
        "values": (capacity, 3 * width),
        "slots": (4 * capacity,),
        "meta": (4,),
        "box": (2, keys),
        "key": (keys,),
        "value": (width,),
        "query": (components,),
        "out": (width,),
        "near": (capacity if plan.fractional else 0, components),
        "order": (capacity, 2),
        "boxes": (nodes, box_width(components)),
        "marks": (nodes, 3 + width),
        "rest": (capacity, components),
        "stack": (DEEPEST, 2),
    }
    arrays = {}
    for name in storage.arrays:
        part = name[len(storage.name) + 1 :]
        arrays[name] = np.full(shapes[part], -1 if part == "slots" else 0, dtype=np.int64)
    return arrays


def larger_groups(storage: Storage, parts: Mapping[str, Integers]) -> dict[str, Integers]:
    """The arrays of a storage with room for twice as many groups."""
    old = [parts[name] for name in storage.arrays]
    capacity = 2 * old[0].shape[0]
    arrays = group_arrays(storage, capacity)
    for array, before in zip(arrays.values(), old, strict=True):
        array[: before.shape[0]] = before
    name = f"{storage.name}_slots"
    arrays[name].fill(-1)
    rehash(arrays[name], arrays[f"{storage.name}_keys"], int(arrays[f"{storage.name}_meta"][GROUPS]))
    return arrays


def consistent_groups(storage: Storage, found: Sequence[Integers], fresh: Sequence[Integers], positions: int) -> bool:
    """Whether arrays from a file are what the code could have left; the trees of a forest are then made anew."""
    keys, places, values, slots, meta = found[:5]
    capacity = keys.shape[0]
    if (
        capacity < 1
        or capacity & (capacity - 1)
        or any(array.shape != like.shape for array, like in zip(found[4:10], fresh[4:10], strict=True))
    ):
        return False
    groups = int(meta[GROUPS])
    sizes = capacity == places.shape[0] == values.shape[0] and 0 <= groups <= capacity
    if not sizes or slots.size & (slots.size - 1) or 2 * groups > slots.size:
        return False
    used = np.sort(slots[slots >= 0])
    if not np.array_equal(used, np.arange(groups)) or slots.min() < -1:
        return False
    here = places[:groups]
    whole = bool(
        0 <= meta[INSERTED] <= positions + 1
        and all(0 <= meta[part] < max(groups, 1) for part in (LATEST, HINT))
        and (here[:, FIRST] >= 0).all()
        and (here[:, LAST] >= here[:, FIRST]).all()
        and (here[:, LAST] < positions + 1).all()
        and (here[:, COUNT] >= 1).all()
    )
    return whole and (storage.kind != "forest" or _planted_again(storage, found, groups))


def _planted_again(storage: Storage, found: Sequence[Integers], groups: int) -> bool:
    """Make the trees of a forest, whose arrays need no more than the right sizes."""
    arrays = dict(zip(storage.arrays, found, strict=True))
    wanted = group_arrays(storage, found[0].shape[0])
    if any(arrays[name].shape != array.shape for name, array in wanted.items()):
        return False
    keys, places, values, *_ = found
    near, order, boxes, marks, rest, _ = found[10:]
    plan = storage.plan
    assert isinstance(plan, Groups)
    if not plan.fractional:
        near = keys
    elif (keys[:groups, 1::2] < 1).any():
        return False
    if groups >= BLOCK:
        plant_again(keys, places, values, near, order, boxes, marks, rest, groups, plan.fractional, not plan.whole)
    return True


def dense_arrays(storage: Storage, capacity: int) -> dict[str, Integers]:
    """Empty arrays for so many positions, by their names."""
    plan = storage.plan
    assert isinstance(plan, Dense)
    width = storage.width
    shapes = ((capacity, storage.key_width), (capacity, width), (capacity,), (3,), (len(plan.queries),), (width,))
    return {name: np.zeros(shape, dtype=np.int64) for name, shape in zip(storage.arrays, shapes, strict=True)}


def next_row(storage: Storage, parts: Mapping[str, Integers]) -> dict[str, Integers]:
    """The arrays of a storage with the biases that are wanted next, and room for that position."""
    plan = storage.plan
    assert isinstance(plan, Dense)
    arrays = {name: parts[name] for name in storage.arrays}
    _, _, biases, meta, _, _ = arrays.values()
    wanted = int(meta[WANTED])
    if wanted >= len(biases):
        larger = dense_arrays(storage, 2 * max(wanted, len(biases)))
        for name, array in larger.items():
            array[: len(arrays[name])] = arrays[name]
        arrays = larger
        _, _, biases, meta, _, _ = arrays.values()
    meta[OVER] = tabulate(plan.bias, wanted, biases)
    meta[TABULATED] = wanted + 1
    return arrays


def consistent_rows(found: Sequence[Integers], positions: int) -> bool:
    """Whether the arrays of all keys from a file are long enough; biases are then tabulated anew."""
    keys, values, biases, meta, _, _ = found
    meta[:] = 0
    return len(keys) == len(values) == len(biases) >= max(positions, 1) and meta.shape == (3,)
