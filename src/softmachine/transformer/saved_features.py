"""JSON form of features and relations: the stored name of the class and its fields; only known classes are loaded.

Stored names are part of the file format and of digests: they are given by each class, and never change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import TypeAlias, get_args, get_origin, get_type_hints

from softmachine.transformer import features as plain
from softmachine.transformer.features import Feature, Relation
from softmachine.transformer.table_features import AddressBit, AddressVector, InBlocks, Shifted, Table

FEATURES: tuple[type[Feature | Relation], ...] = (
    plain.Constant,
    plain.Monomial,
    plain.Predecessor,
    plain.Alternating,
    plain.Bit,
    plain.Residue,
    plain.Prime,
    plain.PowerOfTwo,
    plain.Last,
    plain.Logarithm,
    Table,
    AddressBit,
    AddressVector,
    Shifted,
    InBlocks,
    plain.Distance,
)
"""Features that every saved model may use, besides those of its theorem."""

Json: TypeAlias = "int | str | bool | list[Json] | dict[str, Json]"


def to_json(item: Feature | Relation) -> dict[str, Json]:
    """Convert a feature or relation to JSON data: the stored name of its class, and its fields."""
    return {"is": item.stored_name, **{part.name: _encoded(getattr(item, part.name)) for part in fields(item)}}


def from_json(data: object, known: Iterable[type[Feature | Relation]]) -> Feature | Relation:
    """The inverse of :func:`to_json`, for known classes.

    Raises:
        ValueError, TypeError: If the data is not a feature or relation of a known class.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("is"), str):
        raise TypeError(f"{data!r} is not a feature")
    known = tuple(known)
    made = next((item for item in known if item.stored_name == data["is"]), None)
    if made is None:
        raise ValueError(f"unknown feature {data['is']!r}")
    types = get_type_hints(made)
    if data.keys() - {"is"} != {part.name for part in fields(made)}:
        raise ValueError(f"the parameters of a {made.stored_name} are not {', '.join(data.keys() - {'is'})}")
    return made(**{part.name: _decoded(data[part.name], types[part.name], known) for part in fields(made)})


def _encoded(value: object) -> Json:
    if isinstance(value, Feature):
        return to_json(value)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [_encoded(item) for item in value]
    if not isinstance(value, int | str):
        raise TypeError(f"{value!r} is not a parameter")
    return value


def _decoded(data: object, declared: type, known: tuple[type[Feature | Relation], ...]) -> object:
    """Decode a parameter of the type that the class declares."""
    if get_origin(declared) is tuple and isinstance(data, list):
        return tuple(_decoded(item, get_args(declared)[0], known) for item in data)
    if declared is Feature and isinstance(found := from_json(data, known), Feature):
        return found
    if declared is Fraction and isinstance(data, str) and len(data) < 2000:
        return Fraction(data)
    if declared in (int, str, bool) and type(data) is declared:
        return data
    raise TypeError(f"{data!r} is not of type {declared}")
