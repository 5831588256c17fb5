"""Two digests of a transformer: one of its numbers and one of its names. Together they cover every field.

The numbers are the weights, the shapes, the masks, the kinds of attention and the activations, in order. A position
feature or relation is represented by its values, never by its class or its printed form. Renaming tokens,
coordinates, heads, units, blocks, features or the model itself, or moving and renaming code, does not change the digest
of the numbers. The names are the texts that people see.

Only plain attributes are read, no classes. Where the restructured code spells an attribute, a mask, a kind of
attention or an activation in another way, this module is adapted, not the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any

from softmachine.support.errors import SoftmachineError

DENSE = 130
"""A feature is evaluated at every position below this one …"""
LENGTHS = (0, 1, 2, 7, 16, 64, 1000)
"""… of inputs of these lengths; …"""
POWERS = 24
"""… further on, next to every power of two below this one and wherever a table among its parameters reaches …"""
LENGTH = 64
"""… of inputs of this length."""
GRID = 40
"""A relation is evaluated for this many keys and queries."""

MASKS = {"all j": "all", "j ≤ i": "≤", "j < i": "<", "j ≥ i": "≥", "j > i": ">"}
KINDS = {"average-hard": "average", "leftmost-hard": "leftmost", "rightmost-hard": "rightmost", "softmax": "softmax"}
ACTIVATIONS = {"relu": "relu", "step": "step", "norm": "norm"}
"""From the spelling in the code to the spelling in the digest, which stays."""


def number_digest(transformer: Any) -> str:
    """The digest of everything that is computed: sha256 in hexadecimal digits."""
    return _hashed(numbers(transformer))


def name_digest(transformer: Any) -> str:
    """The digest of everything that is only read by people: sha256 in hexadecimal digits."""
    return _hashed(names(transformer))


def _hashed(lines: Iterable[str]) -> str:
    hashed = sha256()
    for line in lines:
        hashed.update(line.encode())
        hashed.update(b"\n")
    return hashed.hexdigest()


def numbers(transformer: Any) -> Iterator[str]:
    """The numbers, line by line."""
    yield f"{len(transformer.vocabulary)} tokens"
    yield f"{len(transformer.coordinates)} coordinates"
    yield f"{len(transformer.outputs)} outputs"
    yield from _matrix("embedding", transformer.embedding)
    for feature in transformer.features:
        yield f"feature {_values(feature)}"
    yield from _matrix("position embedding", transformer.position_embedding)
    for block in transformer.blocks:
        yield f"block repeats {_number(block.repeats)}"
        for layer in block.layers:
            yield "layer"
            for head in layer.heads:
                yield from _head(head)
            yield from _feed_forward(layer.feed_forward)
    yield from _affine("unembedding", transformer.unembedding)


def names(transformer: Any) -> Iterator[str]:
    """The names, line by line."""
    yield f"name {transformer.name}"
    yield from _listing("vocabulary", transformer.vocabulary)
    yield from _listing("coordinates", transformer.coordinates)
    yield from _listing("outputs", transformer.outputs)
    yield from _listing("features", transformer.features)
    for block in transformer.blocks:
        yield f"block {block.name!r}{_printed(block.repeats)}"
        for layer in block.layers:
            for head in layer.heads:
                bias = "" if head.bias is None else _printed(head.bias)
                yield f"head {head.name!r}{_printed(head.weighting.scale)}{bias}"
            yield from _listing("units", layer.feed_forward.units)


def _head(head: Any) -> Iterator[str]:
    yield "head"
    yield from _affine("query", head.query)
    yield from _affine("key", head.key)
    yield from _affine("value", head.value)
    yield from _matrix("output", head.output)
    yield f"mask {MASKS[str(head.mask)]}"
    yield f"kind {KINDS[str(head.weighting.kind)]} scale {_number(head.weighting.scale)}"
    yield f"bias {'none' if head.bias is None else _grid(head.bias)}"


def _feed_forward(feed_forward: Any) -> Iterator[str]:
    yield f"feed-forward {len(feed_forward.units)}"
    yield from _affine("first", feed_forward.first)
    yield " ".join(ACTIVATIONS[str(activation)] for activation in feed_forward.activations)
    yield f"norms {' '.join(','.join(map(str, group)) for group in feed_forward.norms)}"
    yield from _affine("second", feed_forward.second)


def _listing(title: str, items: Iterable[Any]) -> Iterator[str]:
    listed = tuple(items)
    yield f"{title} {len(listed)}"
    yield from map(repr, map(str, listed))


def _affine(title: str, affine: Any) -> Iterator[str]:
    yield from _matrix(title, affine.weight)
    yield f"{title} bias {' '.join(map(_ratio, affine.bias))}"


def _matrix(title: str, matrix: Any) -> Iterator[str]:
    yield f"{title} {len(matrix.rows)} × {matrix.columns}"
    for row in matrix.rows:
        yield " ".join(f"{column}:{_ratio(value)}" for column, value in row)


def _number(value: Any) -> str:
    """A number, or the values of a feature."""
    return _ratio(value) if isinstance(value, int | Fraction) else _values(value)


def _printed(value: Any) -> str:
    """The printed form of a feature or relation; nothing for a number, which is not a name."""
    return "" if isinstance(value, int | Fraction) else f" {str(value)!r}"


def _ratio(value: Any) -> str:
    return f"{value.numerator}/{value.denominator}"


@lru_cache(maxsize=4096)
def _values(feature: Any) -> str:
    """The digest of a feature's values where they are not 0, so that the extent of a table does not matter."""
    near, far = range(DENSE), {2**k + d for k in range(7, POWERS) for d in (-1, 0, 1)}
    places = [(n, near) for n in LENGTHS] + [(LENGTH, sorted(far | set(range(DENSE, _reach(feature)))))]
    values = ((i, _at(feature, i, n)) for n, positions in places for i in (-1, *positions))
    return _hashed(f"{i}:{value}" for i, value in values if value != "0/1")


def _reach(feature: Any) -> int:
    """The number of positions that the tables among a feature's parameters cover; 0 without tables.

    Features with tables are 0 beyond them.
    """
    items = [getattr(feature, field.name) for field in fields(feature)]
    tables = [
        *(len(item) for item in items if isinstance(item, tuple)),
        *(_reach(i) for i in items if hasattr(i, "at")),
    ]
    if not any(tables):
        return 0
    shifts = sum(item for item in items if isinstance(item, int) and item > 0)
    return max(tables) + shifts + getattr(feature, "block", 0) * getattr(feature, "blocks", 0)


def _at(feature: Any, i: int, n: int) -> str:
    if i < 0:
        return f"length {n}"
    try:
        return _ratio(feature.at(i, n))
    except SoftmachineError:  # such as 1/(n-i+1) beyond the end
        return "none"


@lru_cache(maxsize=64)
def _grid(relation: Any) -> str:
    return _hashed(" ".join(_ratio(relation.at(j, i)) for j in range(GRID)) for i in range(GRID))
