"""Plug-in registries, filled from the modules of a package and from entry points of other packages.

A plug-in is an object that a module defines under a fixed name, such as ``FORMAT_NAME`` or ``THEOREMS``. A new file in
the right folder is enough to add one. Another package adds one by an entry point::

    [project.entry-points."softmachine.formats"]
    rasp = "their_package.rasp:FORMAT"

Modules of softmachine are imported when their plug-in is requested, and entry points when a requested plug-in is not
built in. An entry point that cannot be imported is recorded in `Registry.problems` and otherwise ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, TypeVar

Plugin = TypeVar("Plugin")


class Registry(Generic[Plugin]):
    """Registry of the plug-ins of one kind, by name.

    Args:
        kind: The class of the plug-ins.
        attribute: The fixed name; a line of the module, not the first one, begins with it and ``=`` or ``:``.
        package: The package of the built-in plug-ins.
        pattern: Files of the package that may define a plug-in: ``*.py``, or ``*/*.py`` for those of its subpackages.
        main_files: Plug-ins in files of these names are named after their folder, others after their module.
        group: The entry-point group of other packages' plug-ins.
        find_objection: Why a plug-in cannot be used; empty if it can.
    """

    problems: ClassVar[list[str]] = []
    """Problems of other packages' plug-ins in any registry, one line each."""

    def __init__(
        self,
        kind: type[Plugin],
        *,
        attribute: str,
        package: str,
        pattern: str,
        group: str,
        main_files: tuple[str, ...] = ("__init__.py",),
        find_objection: Callable[[Plugin], str] = lambda _: "",
    ) -> None:
        self.find_objection = find_objection
        self.kind, self.attribute, self.group = kind, attribute, group
        self.package, self.pattern, self.main_files = package, pattern, main_files

    def names(self) -> tuple[str, ...]:
        """The names of all plug-ins: built-in ones alphabetically, then the others. Imports no built-in module."""
        return (*self._builtin, *self._external)

    def modules_containing(self, text: str) -> tuple[str, ...]:
        """The names of built-in plug-ins whose module contains a text: candidates to import first."""
        return tuple(name for name, module in self._builtin.items() if text in module.text)

    def find(self, name: str) -> Plugin | None:
        """The plug-in with this ``name``, where modules define several; imports only modules that contain the name."""
        return self._first_named(self.modules_containing(f'"{name}"'), name) or self._first_named(self._external, name)

    def _first_named(self, keys: Iterable[str], name: str) -> Plugin | None:
        return next((part for key in keys for part in self._load(key) if _own_name(part) == name), None)

    def load_all(self, *, include_entry_points: bool = True) -> tuple[Plugin, ...]:
        """All plug-ins, where modules may define several; of two with the same ``name``, only the first."""
        found: dict[object, Plugin] = {}
        for key in self.names() if include_entry_points else self._builtin:
            for part in self._load(key):
                if _own_name(part) in found:
                    self.record_problem(f"{_own_name(part)!r} of {self.group} cannot be used: the name is taken")
                found.setdefault(_own_name(part), part)
        return tuple(found.values())

    def _load(self, key: str) -> Iterator[Plugin]:
        """The usable plug-ins of a module or an entry point, which defines one or a tuple of them."""
        part = self._load_object(key)
        for item in part if isinstance(part, tuple) else (part,):
            reason = (
                self.find_objection(item) if isinstance(item, self.kind) else f"it is not of type {self.kind.__name__}"
            )
            if isinstance(item, self.kind) and not reason:
                yield item
            else:
                self.record_problem(f"{key!r} of {self.group} cannot be used: {reason}")

    def record_problem(self, line: str) -> None:
        """Record a problem of another package's plug-in."""
        if line not in self.problems:
            self.problems.append(line)

    def get(self, name: str) -> Plugin | None:
        """The plug-in of this name, if there is one. ``.`` and ``-`` in the name are ``_`` in the module's name."""
        part = self._load_object(name)
        return part if isinstance(part, self.kind) else None

    def _load_object(self, name: str) -> object:
        """The object that a module or an entry point defines."""
        module = self._builtin.get(_identifier(name))
        return self._external.get(name) if module is None else getattr(import_module(module.name), self.attribute)

    def load_by_name(self) -> dict[str, Plugin]:
        """All plug-ins by name, in the order of `names`."""
        return {name: part for name in self.names() if (part := self.get(name)) is not None}

    @cached_property
    def _builtin(self) -> dict[str, _Module]:
        """The modules of the built-in plug-ins."""
        folder = Path(import_module(self.package).__path__[0])
        found = {}
        for path in folder.glob(self.pattern):
            text = path.read_text(encoding="utf-8")
            if f"\n{self.attribute} =" in text or f"\n{self.attribute}:" in text:
                name = path.parent.name if path.name in self.main_files else path.stem
                module = path.parent if path.name == "__init__.py" else path.with_suffix("")
                found[name] = _Module(".".join((self.package, *module.relative_to(folder).parts)), text)
        return dict(sorted(found.items()))

    @cached_property
    def _external(self) -> dict[str, object]:
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
                taken = entry.name in found or _identifier(entry.name) in self._builtin
                reason = "the name is taken" if taken else f"it is not of type {self.kind.__name__}"
                if isinstance(part, self.kind | tuple) and not taken:
                    found[entry.name] = part
                    continue
            line = f"{entry.name!r} of {self.group} ({entry.value}) cannot be used: {reason}"
            self.record_problem(" ".join(line.split()))
        return found


class _Module(NamedTuple):
    name: str
    text: str


def _own_name(part: object) -> object:
    return getattr(part, "name", None)


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)
