"""Loop-aware builder of definitions: hoists loop-invariant operations out of the loop body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from softmachine.languages.rasp.building import Builder
from softmachine.languages.rasp.core import Definition, Node, Repeat, operands
from softmachine.languages.rasp.names import ANONYMOUS, is_name
from softmachine.support.errors import Place


class Recorder:
    """Builds definitions inside and outside loops. Operations independent of the loop variables precede the loop.

    Args:
        exact: Whether equal operations stay separate and every definition keeps its assigned name.
    """

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact
        self.builder: Builder = _Apart() if exact else Builder()
        self._loop: _Loop | None = None
        self._loops = count(1)

    @property
    def inside(self) -> bool:
        """Whether a loop is open."""
        return self._loop is not None

    def add(self, node: Node, place: Place | None) -> str:
        """Add an operation and return its reference."""
        loop = self._loop
        if loop is not None and (self.exact or any(name in loop.names for name in operands(node))):
            return loop.add(node, place)
        return self.builder.add(node, place)

    def call(self, reference: str, name: str) -> str:
        """Give an operation a user-visible name if possible; returns its reference afterwards."""
        if self._loop is not None and reference in self._loop.names:
            return self._loop.call(reference, name, self.builder)
        if isinstance(self.builder, _Apart):
            return self.builder.rename(reference, name)
        if not ANONYMOUS.fullmatch(name):
            self.builder.call(reference, name)
        return reference

    def enter(self, variables: Sequence[str]) -> list[str]:
        """Open a loop; returns the names of its variables in the body."""
        self._loop = _Loop(next(self._loops), self.exact)
        return [self._loop.variable(name, self.builder) for name in variables]

    def leave(self, starts: Sequence[str], following: Sequence[str]) -> list[Repeat]:
        """Close the loop; returns one operation per variable."""
        loop = self._loop
        assert loop is not None
        self._loop = None
        body = tuple(loop.definitions())
        names = tuple(zip(loop.variables, starts, strict=True))
        after = tuple(loop.name(reference) for reference in following)
        return [Repeat(names, body, after, variable) for variable in loop.variables]


class _Loop:
    """The open loop.

    Args:
        number: The number of the loop, for generated names.
        exact: Whether equal operations stay separate.
    """

    def __init__(self, number: int, exact: bool) -> None:
        self.variables: list[str] = []
        self.names: set[str] = set()
        self._inner: Builder = _Apart(f"_{number}_") if exact else Builder(prefix=f"_{number}_")

    def variable(self, name: str, outer: Builder) -> str:
        """Declare a variable; returns its name, with a suffix if the name is taken."""
        own = next(own for own in _candidates(name) if is_name(own) and outer.reserve(own) and own not in self.names)
        self.variables.append(own)
        self.names.add(own)
        return own

    def add(self, node: Node, place: Place | None) -> str:
        """Add an operation to the loop body and return its reference."""
        reference = self._inner.add(node, place)
        self.names.add(reference)
        return reference

    def call(self, reference: str, name: str, outer: Builder) -> str:
        """Give an operation of the body a name, unless an outer definition has it."""
        if reference in self.variables:
            return reference
        if isinstance(self._inner, _Apart):
            new = self._inner.rename(reference, name)
            self.names.add(new)
            return new
        if not ANONYMOUS.fullmatch(name) and name not in self.names and outer.reserve(name):
            self._inner.call(reference, name)
            self.names.add(name)
        return reference

    def name(self, reference: str) -> str:
        """The final name of a reference."""
        return self._inner.name(reference)

    def definitions(self) -> tuple[Definition, ...]:
        """The definitions of the loop body."""
        return self._inner.definitions()


class _Apart(Builder):
    """A builder that shares nothing and keeps every operation under its assigned name."""

    def __init__(self, prefix: str = "_") -> None:
        super().__init__(prefix=prefix)
        self._all: list[Definition] = []
        self._temporary = count(1)

    def __len__(self) -> int:
        return len(self._all)

    def add(self, node: Node, place: Place | None = None) -> str:
        """Add an operation; its temporary reference cannot be written in a program text."""
        self._all.append(Definition(f"?{next(self._temporary)}", node, place))
        return self._all[-1].name

    def rename(self, reference: str, name: str) -> str:
        """Name the latest operation if it has no name yet."""
        if not self._all or self._all[-1].name != reference or not reference.startswith("?"):
            return reference
        latest = self._all.pop()
        self._all.append(Definition(name, latest.node, latest.place))
        return name

    def name(self, reference: str) -> str:
        """References are names already."""
        return reference

    def reserve(self, name: str) -> bool:  # noqa: ARG002
        """Every name is available."""
        return True

    def definitions(self) -> tuple[Definition, ...]:
        """All definitions in order of creation."""
        return tuple(self._all)


def _candidates(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(1))
