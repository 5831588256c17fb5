"""RASP programs, as immutable, validated data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from softmachine.errors import Place
from softmachine.languages.rasp.core import Definition, Node, Value
from softmachine.languages.rasp.value_types import Type
from softmachine.languages.source import OfWords


@dataclass(frozen=True, kw_only=True)
class Program(OfWords):
    """A RASP program: sequence operators and selectors, one after the other, and the one that is the output.

    Args:
        name: What people call it.
        alphabet: The letters an input may have.
        letters: What `Tokens` is at each of these letters; by default the letter itself.
        definitions: The operations, in the order in which they are computed.
        output: The sequence operator that is the result.
        causal: Whether selectors see only keys up to the query, so that a decoder can run it.
        stop: With which output a program that feeds on its own output is done; None if it does not.
        example: The input that it suggests.
        place: Where it comes from, if it comes from a text.
    """

    language: ClassVar[str] = "rasp"
    name: str
    alphabet: tuple[str, ...]
    letters: tuple[Value, ...] = ()
    definitions: tuple[Definition, ...]
    output: str
    causal: bool = False
    stop: str | None = None
    example: tuple[str, ...] = ()
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def default_input(self) -> tuple[str, ...]:
        """The input that it suggests."""
        return self.example

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The operations by name."""
        return {definition.name: definition.node for definition in self.definitions}

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """The type of every sequence operator, in the order of the definitions."""
        raise AssertionError("types are found when a program is made")
