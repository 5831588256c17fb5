"""Groups of options: a command takes a group as one dataclass, whose fields are the options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance as Dataclass
else:
    Dataclass = object


class OptionGroup(Dataclass):
    """A dataclass whose fields are options, in the order of the help."""


def _kind(parameter: Parameter) -> type[OptionGroup] | None:
    kind = parameter.annotation
    return kind if isinstance(kind, type) and issubclass(kind, OptionGroup) else None


def expand_group(parameter: Parameter) -> list[Parameter]:
    """Return the options of a group, or the parameter itself if it is an option."""
    kind = _kind(parameter)
    if kind is None:
        return [parameter]
    annotations = get_type_hints(kind, include_extras=True)
    return [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=annotations[field.name])
        for field in fields(kind)
    ]


def group_values(signature: Signature, given: Mapping[str, object]) -> dict[str, Any]:
    """Convert values of options to the arguments of a command."""
    found = dict(given)
    for name, parameter in signature.parameters.items():
        if kind := _kind(parameter):
            found[name] = kind(**{field.name: found.pop(field.name) for field in fields(kind)})
    return found
