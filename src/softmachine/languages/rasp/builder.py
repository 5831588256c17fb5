"""Hash-consing builder of RASP definitions: equal operations are shared."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from itertools import count

from softmachine.languages.rasp.ir import ANONYMOUS, Definition, Node, is_name, rename_operands
from softmachine.support.errors import SourceLocation


class DefinitionBuilder:
    """Builds a list of definitions with common subexpressions shared.

    Anonymous definitions are named ``_1``, ``_2``, …

    Args:
        prefix: Prefix of the generated names.
        exact: Whether equal operations stay separate, and every operation keeps the first name that it is given.
            Generated names are then invalid, so that an operation without a name is an error of the program.
    """

    def __init__(self, *, prefix: str = "_", exact: bool = False) -> None:
        self.exact = exact
        self._references: dict[Hashable, str] = {}
        self._definitions: dict[str, Definition] = {}
        self._assigned_names: dict[str, str] = {}
        self._prefix = f"?{prefix[1:]}" if exact else prefix
        self._taken: set[str] = set()
        self._reserved: set[str] = set()
        self._numbers = count(1)

    def add(self, node: Node, place: SourceLocation | None = None) -> str:
        """Add an operation and return its reference; an equal earlier operation is reused."""
        key = object() if self.exact else structural_key(node)
        if key not in self._references:
            reference = next(
                name for name in (f"{self._prefix}{k}" for k in self._numbers) if name not in self._reserved
            )
            self._references[key] = reference
            self._definitions[reference] = Definition(reference, node, place)
        return self._references[key]

    def __len__(self) -> int:
        return len(self._definitions)

    def node(self, reference: str) -> Node:
        """The operation of a reference."""
        return self._definitions[reference].node

    def set_name(self, reference: str, name: str) -> None:
        """Give an operation a user-visible name. Ignored if it has one already, or if the name is taken or invalid."""
        free = name not in self._taken and name not in self._reserved
        if (
            self.exact or (free and is_name(name) and not ANONYMOUS.fullmatch(name))
        ) and reference not in self._assigned_names:
            self._assigned_names[reference] = name
            self._taken.add(name)

    def reserve_name(self, name: str) -> bool:
        """Reserve a name so that later calls cannot assign it; False if an operation has it already."""
        self._reserved.add(name)
        return self.exact or name not in self._taken

    def name(self, reference: str) -> str:
        """The final name of an operation."""
        return self._assigned_names.get(reference, reference)

    def definitions(self) -> tuple[Definition, ...]:
        """All definitions in order of creation, under their final names."""
        return tuple(
            Definition(self.name(item.name), rename_operands(item.node, self._assigned_names), item.place)
            for item in self._definitions.values()
        )


def structural_key(part: object) -> Hashable:
    """A hashable key, equal for equal operations, that distinguishes True from 1 (unlike Python's equality)."""
    if isinstance(part, tuple):
        return tuple(map(structural_key, part))
    if is_dataclass(part):
        return (type(part), *(structural_key(getattr(part, entry.name)) for entry in fields(part) if entry.compare))
    return (isinstance(part, bool), part)
