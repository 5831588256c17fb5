"""Theorems: one folder each. A folder is found by looking, and imported when a theorem of it is asked for.

Other people's packages add theirs through the entry-point group ``softmachine.theorems``; see ``docs/own-theorem.md``.
"""

from __future__ import annotations

from collections.abc import Iterator

from softmachine.errors import ConstructionError
from softmachine.languages.source import Source
from softmachine.plugins import Shelf
from softmachine.theorems.theorem import API, Stock, Theorem

__all__ = ["Stock", "Theorem", "all_theorems", "own_source", "theorem_for", "theorem_named", "theorems_for"]

PREFERRED = {
    "turing": "chapter_8",
    "temporal": "temporal",
    "srasp": "srasp",
    "crasp": "crasp",
    "counter": "counter",
    "circuit": "circuit",
    "graph": "connectivity",
}
"""For each source language, the folder with the theorem that is used if none is named; others need not be imported."""

_SHELF: Shelf[object] = Shelf(
    object,
    attribute="THEOREMS",
    package="softmachine.theorems",
    pattern="*/theorem.py",
    main=("theorem.py",),
    group="softmachine.theorems",
)


def _of(folder: str) -> Iterator[Theorem]:
    """The theorems of a folder, or of an entry point."""
    part = _SHELF.get(folder)
    for item in part if isinstance(part, tuple) else (part,):
        if isinstance(item, Theorem) and item.api == API:
            yield item
        elif part is not None:
            version = f" for version {item.api}" if isinstance(item, Theorem) else ""
            problem = f"{folder!r} of softmachine.theorems cannot be used: it is no theorem for version {API} of the"
            _SHELF.complain(f"{problem} interface, but {type(item).__name__}{version}")


def all_theorems() -> tuple[Theorem, ...]:
    """All theorems, by source language and rank; other people's come last."""
    found: dict[str, Theorem] = {}
    for folder in _SHELF.names():
        for item in _of(folder):
            if item.name in found:
                _SHELF.complain(
                    f"the theorem {item.name!r} of {folder!r} cannot be used: there is another of this name"
                )
            else:
                found[item.name] = item
    languages = list(PREFERRED)
    known = dict(zip(languages, range(len(languages)), strict=True))
    return tuple(sorted(found.values(), key=lambda item: (known.get(item.language, len(known)), item.rank)))


def theorems_for(source: object) -> tuple[Theorem, ...]:
    """All theorems about an object; the first is the default."""
    return tuple(item for item in all_theorems() if item.applies_to(source))


def theorem_named(name: str) -> Theorem | None:
    """The theorem of this name; only folders that mention it are imported."""
    for folder in (*_SHELF.mentioning(f'"{name}"'), *_SHELF.others()):
        for item in _of(folder):
            if item.name == name:
                return item
    return None


def own_source(name: str) -> Source | None:
    """The one object that a theorem of this name is about; None if there is no such theorem, or it is about many."""
    theorem = theorem_named(name)
    return None if theorem is None or isinstance(theorem.source, type) else theorem.source


def theorem_for(source: Source, name: str | None = None) -> Theorem:
    """The theorem of this name, or the default one, for an object of a source language.

    Raises:
        ConstructionError: If there is none, or it does not apply.
    """
    preferred = PREFERRED.get(source.language)
    chosen = theorem_named(name) if name else next(_of(preferred)) if preferred else None
    if chosen is not None and chosen.applies_to(source):
        return chosen
    fitting = theorems_for(source)
    if name is None and fitting:
        return fitting[0]
    known = ", ".join(item.name for item in fitting) or "none yet"
    if name is None:
        raise ConstructionError(f"there is no construction for {type(source).__name__}")
    raise ConstructionError(
        f"there is no construction {name!r} for {type(source).__name__}", hint=f"those that apply: {known}"
    )
