"""Constructions: one module a theorem, from an object of a source language to signals; and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from softmachine.constructions import chapter8
from softmachine.constructions.turing_tokens import TuringCodec
from softmachine.errors import ConstructionError, SourceError
from softmachine.languages.turing import TuringMachine
from softmachine.signals import Program
from softmachine.transformer import Codec

__all__ = ["CONSTRUCTIONS", "Construction", "codec_from_json", "construction_for"]


@dataclass(frozen=True)
class Construction:
    """A theorem that can be run.

    Args:
        name: What the command line calls it.
        theorem: What it is, for people.
        source: The type of the objects it applies to.
        build: From such an object to the program, and how to talk to it.
    """

    name: str
    theorem: str
    source: type
    build: Callable[[Any], tuple[Program, Codec]]


def _chapter8(machine: TuringMachine) -> tuple[Program, Codec]:
    codec = TuringCodec(machine)
    return chapter8.decoder(codec), codec


CONSTRUCTIONS: tuple[Construction, ...] = (
    Construction("chapter-8", "Theorem 8.2: average-hard attention, one token a step", TuringMachine, _chapter8),
)
"""All constructions; of those that apply to an object, the first is the one that is used if none is named."""


def construction_for(source: object, name: str | None = None) -> Construction:
    """The construction of this name, or the default one, for an object of a source language.

    Raises:
        ConstructionError: If there is none, or it does not apply.
    """
    fitting = [item for item in CONSTRUCTIONS if isinstance(source, item.source)]
    for item in fitting:
        if name in (None, item.name):
            return item
    known = ", ".join(item.name for item in fitting) or "none yet"
    if name is None:
        raise ConstructionError(f"there is no construction for {type(source).__name__}")
    raise ConstructionError(
        f"there is no construction {name!r} for {type(source).__name__}", hint=f"those that apply: {known}"
    )


def codec_from_json(data: dict[str, Any]) -> Codec:
    """The codec of a saved model."""
    if data.get("kind") == "turing":
        return TuringCodec.from_json(data)
    raise SourceError(f"a codec of kind {data.get('kind')!r} is not known to this version")
