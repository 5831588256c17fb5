"""Parts that are found, not listed: modules in a folder of ours, and entry points of other people's packages.

A part is what a module defines under an agreed name, such as ``FORMAT`` or ``THEOREM``. A new file in the right folder
is enough to add one. Another package adds one by an entry point::

    [project.entry-points."softmachine.formats"]
    rasp = "their_package.rasp:FORMAT"

Our modules are imported when they are asked for, and entry points when something is asked for that is not ours. What
cannot be imported there breaks nothing: `Shelf.problems` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, TypeVar

Part = TypeVar("Part")


class Shelf(Generic[Part]):
    """All parts of one kind, by name.

    Args:
        kind: What a part is.
        attribute: The agreed name; a line of the module, not the first one, begins with it and ``=`` or ``:``.
        package: The package that our modules are in.
        pattern: Which files of the package may define a part: ``*.py``, or ``*/*.py`` for those of its subpackages.
        main: Parts in files of these names are called as their folder is, other parts as their module.
        group: The group of entry points in which other packages name theirs.
        objection: Why a part cannot be used; empty if it can.
    """

    problems: ClassVar[list[str]] = []
    """What is wrong with the parts of other packages on any shelf, one line each."""

    def __init__(
        self,
        kind: type[Part],
        *,
        attribute: str,
        package: str,
        pattern: str,
        group: str,
        main: tuple[str, ...] = ("__init__.py",),
        objection: Callable[[Part], str] = lambda _: "",
    ) -> None:
        self.objection = objection
        self.kind, self.attribute, self.group = kind, attribute, group
        self.package, self.pattern, self.main = package, pattern, main

    def names(self) -> tuple[str, ...]:
        """The names of all parts: ours by the alphabet, then those of other packages. None of ours is imported."""
        return (*self._ours, *self._others)

    def mentioning(self, text: str) -> tuple[str, ...]:
        """The names of our parts that have a text in their source: those that are worth importing first."""
        return tuple(name for name, module in self._ours.items() if text in module.text)

    def named(self, name: str) -> Part | None:
        """The part that calls itself so, where a module may define several; only those that mention it are imported."""
        return self._among(self.mentioning(f'"{name}"'), name) or self._among(self._others, name)

    def _among(self, keys: Iterable[str], name: str) -> Part | None:
        return next((part for key in keys for part in self._several(key) if _own_name(part) == name), None)

    def every(self) -> tuple[Part, ...]:
        """All parts, where modules may define several; of two that call themselves the same, only the first."""
        found: dict[object, Part] = {}
        for key in self.names():
            for part in self._several(key):
                if _own_name(part) in found:
                    self.complain(f"{_own_name(part)!r} of {self.group} cannot be used: there is another of this name")
                found.setdefault(_own_name(part), part)
        return tuple(found.values())

    def _several(self, key: str) -> Iterator[Part]:
        """The parts of a module or an entry point: one, or a tuple of them, as far as they can be used."""
        part = self._value(key)
        for item in part if isinstance(part, tuple) else (part,):
            reason = self.objection(item) if isinstance(item, self.kind) else f"it is no {self.kind.__name__}"
            if isinstance(item, self.kind) and not reason:
                yield item
            else:
                self.complain(f"{key!r} of {self.group} cannot be used: {reason}")

    def complain(self, line: str) -> None:
        """Note what is wrong with a part of another package."""
        if line not in self.problems:
            self.problems.append(line)

    def get(self, name: str) -> Part | None:
        """The part of this name, if there is one. Where the name has ``.`` or ``-``, the module's name has ``_``."""
        part = self._value(name)
        return part if isinstance(part, self.kind) else None

    def _value(self, name: str) -> object:
        """What a module or an entry point defines."""
        module = self._ours.get(_identifier(name))
        return self._others.get(name) if module is None else getattr(import_module(module.name), self.attribute)

    def all(self) -> dict[str, Part]:
        """All parts by name, in the order of `names`."""
        return {name: part for name in self.names() if (part := self.get(name)) is not None}

    @cached_property
    def _ours(self) -> dict[str, _Module]:
        """The modules of our parts."""
        folder = Path(import_module(self.package).__path__[0])
        found = {}
        for path in folder.glob(self.pattern):
            text = path.read_text(encoding="utf-8")
            if f"\n{self.attribute} =" in text or f"\n{self.attribute}:" in text:
                name = path.parent.name if path.name in self.main else path.stem
                module = path.parent if path.name == "__init__.py" else path.with_suffix("")
                found[name] = _Module(".".join((self.package, *module.relative_to(folder).parts)), text)
        return dict(sorted(found.items()))

    @cached_property
    def _others(self) -> dict[str, object]:
        """The parts of other packages, as far as they can be used."""
        # Imported late because it takes long, and most runs need no part that is not ours.
        from importlib.metadata import entry_points

        found: dict[str, object] = {}
        for entry in entry_points(group=self.group):
            try:
                part = entry.load()
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                taken = entry.name in found or _identifier(entry.name) in self._ours
                reason = "there is another one of this name" if taken else f"it is no {self.kind.__name__}"
                if isinstance(part, self.kind | tuple) and not taken:
                    found[entry.name] = part
                    continue
            line = f"{entry.name!r} of {self.group} ({entry.value}) cannot be used: {reason}"
            self.complain(" ".join(line.split()))
        return found


class _Module(NamedTuple):
    name: str
    text: str


def _own_name(part: object) -> object:
    return getattr(part, "name", None)


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)
