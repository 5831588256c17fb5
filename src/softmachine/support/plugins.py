"""Plug-in registries, filled from the modules of a package and from entry points of other packages.

A plug-in is an object that a module defines under a fixed name, such as ``FORMAT`` or ``THEOREMS``. A new file in the
right folder is enough to add one. Another package adds one by an entry point::

    [project.entry-points."softmachine.formats"]
    rasp = "their_package.rasp:FORMAT"

Modules of softmachine are imported when their plug-in is requested, and entry points when a requested plug-in is not
built in. An entry point that cannot be imported is recorded in `Shelf.problems` and otherwise ignored.
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
    """Registry of the plug-ins of one kind, by name.

    Args:
        kind: The class of the plug-ins.
        attribute: The fixed name; a line of the module, not the first one, begins with it and ``=`` or ``:``.
        package: The package of the built-in plug-ins.
        pattern: Files of the package that may define a plug-in: ``*.py``, or ``*/*.py`` for those of its subpackages.
        main: Plug-ins in files of these names are named after their folder, others after their module.
        group: The entry-point group of other packages' plug-ins.
        objection: Why a plug-in cannot be used; empty if it can.
    """

    problems: ClassVar[list[str]] = []
    """Problems of other packages' plug-ins in any registry, one line each."""

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
        """The names of all plug-ins: built-in ones alphabetically, then the others. Imports no built-in module."""
        return (*self._ours, *self._others)

    def mentioning(self, text: str) -> tuple[str, ...]:
        """The names of built-in plug-ins whose module contains a text: candidates to import first."""
        return tuple(name for name, module in self._ours.items() if text in module.text)

    def named(self, name: str) -> Part | None:
        """The plug-in with this ``name``, where modules define several; imports only modules that contain the name."""
        return self._among(self.mentioning(f'"{name}"'), name) or self._among(self._others, name)

    def _among(self, keys: Iterable[str], name: str) -> Part | None:
        return next((part for key in keys for part in self._several(key) if _own_name(part) == name), None)

    def every(self, *, include_entry_points: bool = True) -> tuple[Part, ...]:
        """All plug-ins, where modules may define several; of two with the same ``name``, only the first."""
        found: dict[object, Part] = {}
        for key in self.names() if include_entry_points else self._ours:
            for part in self._several(key):
                if _own_name(part) in found:
                    self.complain(f"{_own_name(part)!r} of {self.group} cannot be used: the name is taken")
                found.setdefault(_own_name(part), part)
        return tuple(found.values())

    def _several(self, key: str) -> Iterator[Part]:
        """The usable plug-ins of a module or an entry point, which defines one or a tuple of them."""
        part = self._value(key)
        for item in part if isinstance(part, tuple) else (part,):
            reason = self.objection(item) if isinstance(item, self.kind) else f"it is not of type {self.kind.__name__}"
            if isinstance(item, self.kind) and not reason:
                yield item
            else:
                self.complain(f"{key!r} of {self.group} cannot be used: {reason}")

    def complain(self, line: str) -> None:
        """Record a problem of another package's plug-in."""
        if line not in self.problems:
            self.problems.append(line)

    def get(self, name: str) -> Part | None:
        """The plug-in of this name, if there is one. ``.`` and ``-`` in the name are ``_`` in the module's name."""
        part = self._value(name)
        return part if isinstance(part, self.kind) else None

    def _value(self, name: str) -> object:
        """The object that a module or an entry point defines."""
        module = self._ours.get(_identifier(name))
        return self._others.get(name) if module is None else getattr(import_module(module.name), self.attribute)

    def all(self) -> dict[str, Part]:
        """All plug-ins by name, in the order of `names`."""
        return {name: part for name in self.names() if (part := self.get(name)) is not None}

    @cached_property
    def _ours(self) -> dict[str, _Module]:
        """The modules of the built-in plug-ins."""
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
        """The usable plug-ins of other packages."""
        # Imported here because it is slow, and most runs need only built-in plug-ins.
        from importlib.metadata import entry_points

        found: dict[str, object] = {}
        for entry in entry_points(group=self.group):
            try:
                part = entry.load()
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                taken = entry.name in found or _identifier(entry.name) in self._ours
                reason = "the name is taken" if taken else f"it is not of type {self.kind.__name__}"
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
