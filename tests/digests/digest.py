"""The digest of a transformer's weights: sha256 of a text that has every weight and every name, and nothing else.

It reads plain attributes and knows no classes, so that code may be renamed and moved while digests stay as they are.
A feature is its printed name and its values; a codec, the construction's name and the length are no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from fractions import Fraction
from hashlib import sha256
from typing import Any

from softmachine.errors import SoftmachineError

POSITIONS = 21
"""A feature is evaluated at these positions, and as far as it has a table."""
LENGTH = 16
"""The length at which a feature is evaluated, if it depends on one."""
GRID = 12
"""A relation is evaluated for this many keys and queries."""


def digest(transformer: Any) -> str:
    """sha256, in hexadecimal digits."""
    hashed = sha256()
    for line in lines(transformer):
        hashed.update(line.encode())
        hashed.update(b"\n")
    return hashed.hexdigest()


def lines(transformer: Any) -> Iterator[str]:
    """The text, line by line."""
    yield f"name {transformer.name}"
    yield from _listing("vocabulary", transformer.vocabulary)
    yield from _listing("coordinates", transformer.coordinates)
    yield from _matrix("embedding", transformer.embedding)
    for feature in transformer.features:
        yield f"feature {_feature(feature)}"
    yield from _matrix("position embedding", transformer.position_embedding)
    for block in transformer.blocks:
        yield f"block {block.name!r} repeats {_number(block.repeats)}"
        for layer in block.layers:
            yield "layer"
            for head in layer.heads:
                yield from _head(head)
            yield from _feed_forward(layer.feed_forward)
    yield from _listing("outputs", transformer.outputs)
    yield from _affine("unembedding", transformer.unembedding)


def _head(head: Any) -> Iterator[str]:
    yield f"head {head.name!r}"
    yield from _affine("query", head.query)
    yield from _affine("key", head.key)
    yield from _affine("value", head.value)
    yield from _matrix("output", head.output)
    yield f"mask {head.mask}"
    yield f"weighting {head.weighting.choice} scale {_number(head.weighting.scale)}"
    yield f"bias {'none' if head.bias is None else _relation(head.bias)}"


def _feed_forward(feed_forward: Any) -> Iterator[str]:
    yield "feed-forward"
    yield from _affine("first", feed_forward.first)
    yield from _listing("activations", feed_forward.activations)
    yield from _affine("second", feed_forward.second)
    yield from _listing("units", feed_forward.units)


def _listing(title: str, items: Iterable[str]) -> Iterator[str]:
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
    """A number, or a feature."""
    return _ratio(value) if isinstance(value, int | Fraction) else _feature(value)


def _ratio(value: Any) -> str:
    return f"{value.numerator}/{value.denominator}"


def _feature(feature: Any) -> str:
    values = [_at(feature, i) for i in range(POSITIONS + _table(feature))]
    while len(values) > POSITIONS and values[-1] == "0/1":
        values.pop()
    return f"{feature} = {' '.join(values)}"


def _table(feature: Any) -> int:
    """How far the tables in a feature's parameters reach; they are 0 behind their end."""
    items = [getattr(feature, field.name) for field in fields(feature)]
    inner = [_table(item) for item in items if hasattr(item, "needs_length")]
    tables = [*(len(item) for item in items if isinstance(item, tuple)), *inner]
    shifts = [item for item in items if isinstance(item, int)]
    return max(tables) + max(shifts, default=0) if tables else 0


def _at(feature: Any, i: int) -> str:
    try:
        return _ratio(feature.at(i, LENGTH if feature.needs_length else None))
    except SoftmachineError:  # 1/(n-i+1) behind the end
        return "none"


def _relation(relation: Any) -> str:
    grid = (_ratio(relation.at(key, query)) for query in range(GRID) for key in range(GRID))
    return f"{relation} = {' '.join(grid)}"
