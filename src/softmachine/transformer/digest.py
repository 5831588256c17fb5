"""The digest of a transformer: SHA-256 of its numbers and structure, without the names of coordinates, heads and units.

Two transformers with the same digest compute the same logits. Vocabulary and outputs are part of it, since they define
what is computed; position features and relations enter by their saved form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256

from softmachine.transformer.features import Feature, Relation
from softmachine.transformer.saved_features import to_json
from softmachine.transformer.weights import Matrix, Transformer

NAMES = ("name", "coordinates", "units")
"""The fields that hold nothing but names."""


def digest(transformer: Transformer) -> str:
    """SHA-256, in hexadecimal digits."""
    hashed = sha256()
    for part in _parts(transformer):
        hashed.update(f"{part}\n".encode(errors="surrogatepass"))
    return hashed.hexdigest()


def _parts(item: object) -> Iterator[str]:
    """The numbers of a value in a fixed order, with the length of every sequence."""
    if isinstance(item, Feature | Relation):
        yield json.dumps(to_json(item), sort_keys=True)
    elif isinstance(item, Matrix):
        yield repr((item.columns, item.rows))
    elif is_dataclass(item):
        for part in fields(item):
            if part.name not in NAMES:
                yield from _parts(getattr(item, part.name))
    elif isinstance(item, tuple):
        yield f"[{len(item)}]"
        for part in item:
            yield from _parts(part)
    else:
        yield repr(item)
