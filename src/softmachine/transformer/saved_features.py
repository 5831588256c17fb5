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
from softmachine.transformer.table_features import AddressBit, AddressVector, BlockFeature, OffsetFeature, TableFeature

STANDARD_FEATURES: tuple[type[Feature | Relation], ...] = (
    plain.Constant,
    plain.Monomial,
    plain.PredecessorShare,
    plain.Alternating,
    plain.Bit,
    plain.Residue,
    plain.Prime,
    plain.PowerOfTwo,
    plain.Last,
    plain.Logarithm,
    TableFeature,
    AddressBit,
    AddressVector,
    OffsetFeature,
    BlockFeature,
    plain.Distance,
)
"""Features that every saved model may use, besides those of its theorem."""

JsonValue: TypeAlias = "int | str | bool | list[JsonValue] | dict[str, JsonValue]"


def feature_to_json(item: Feature | Relation) -> dict[str, JsonValue]:
    """Convert a feature or relation to JSON data: the stored name of its class, and its fields."""
    return {"is": item.stored_name, **{part.name: _encode(getattr(item, part.name)) for part in fields(item)}}


def feature_from_json(data: object, classes: Iterable[type[Feature | Relation]]) -> Feature | Relation:
    """The inverse of :func:`feature_to_json`, for known classes.

    Raises:
        ValueError, TypeError: If the data is not a feature or relation of a known class.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("is"), str):
        raise TypeError(f"{data!r} is not a feature")
    classes = tuple(classes)
    made = next((item for item in classes if item.stored_name == data["is"]), None)
    if made is None:
        raise ValueError(f"unknown feature {data['is']!r}")
    types = get_type_hints(made)
    if data.keys() - {"is"} != {part.name for part in fields(made)}:
        raise ValueError(f"the parameters of a {made.stored_name} are not {', '.join(data.keys() - {'is'})}")
    return made(**{part.name: _decode(data[part.name], types[part.name], classes) for part in fields(made)})


def _encode(value: object) -> JsonValue:
    if isinstance(value, Feature):
        return feature_to_json(value)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if not isinstance(value, int | str):
        raise TypeError(f"{value!r} is not a parameter")
    return value


def _decode(data: object, declared: type, known: tuple[type[Feature | Relation], ...]) -> object:
    """Decode a parameter of the type that the class declares."""
    if get_origin(declared) is tuple and isinstance(data, list):
        return tuple(_decode(item, get_args(declared)[0], known) for item in data)
    if declared is Feature and isinstance(found := feature_from_json(data, known), Feature):
        return found
    if declared is Fraction and isinstance(data, str) and len(data) < 2000:
        return Fraction(data)
    if declared in (int, str, bool) and type(data) is declared:
        return data
    raise TypeError(f"{data!r} is not of type {declared}")
