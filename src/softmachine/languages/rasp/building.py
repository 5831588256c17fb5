"""Programs built one operation at a time; what is written twice is computed once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from softmachine.errors import Place
from softmachine.languages.rasp.core import Definition, Node, renamed


class Builder:
    """Definitions in the making.

    What nobody has named is called ``_1``, ``_2``, …

    Args:
        reserved: Names that no definition may get unasked.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._references: dict[Node, str] = {}
        self._definitions: dict[str, Definition] = {}
        self._wanted: dict[str, str] = {}
        self._reserved = set(reserved)
        self._numbers = count(1)

    def add(self, node: Node, place: Place | None = None) -> str:
        """A reference to an operation, for those after it; that of the earlier one if there is an equal one."""
        if node not in self._references:
            reference = next(name for name in (f"_{k}" for k in self._numbers) if name not in self._reserved)
            self._references[node] = reference
            self._definitions[reference] = Definition(reference, node, place)
        return self._references[node]

    def node(self, reference: str) -> Node:
        """The operation that a reference stands for."""
        return self._definitions[reference].node

    def call(self, reference: str, name: str) -> None:
        """Give an operation a name for people. The first name stays, and a name that is taken is not given again."""
        if name not in self._wanted.values() and name not in self._reserved:
            self._wanted.setdefault(reference, name)

    def name(self, reference: str) -> str:
        """What an operation is called in the end."""
        return self._wanted.get(reference, reference)

    def definitions(self) -> tuple[Definition, ...]:
        """All of them, in the order in which they were made, with their names."""
        return tuple(
            Definition(self.name(item.name), renamed(item.node, self._wanted), item.place)
            for item in self._definitions.values()
        )
