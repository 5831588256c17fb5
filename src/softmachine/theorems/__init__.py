"""Registry of theorems. Modules are discovered by their path, and imported when one of their theorems is requested.

Other packages add theorems through the entry-point group ``softmachine.theorems``; see ``docs/own-theorem.md``.
"""

from __future__ import annotations

from softmachine.languages.source import Source
from softmachine.support.errors import ConstructionError
from softmachine.support.plugins import Registry
from softmachine.support.stored_names import THEOREMS
from softmachine.support.text import did_you_mean
from softmachine.theorems.theorem import API_VERSION, CheckpointSupport, Requirements, Theorem

__all__ = [
    "Requirements",
    "CheckpointSupport",
    "Theorem",
    "all_theorems",
    "source_of_theorem",
    "find_theorem",
    "get_theorem",
    "applicable_theorems",
]

DEFAULT_THEOREMS = {
    "turing": "turing-average-hard",
    "temporal": "temporal-encoder",
    "srasp": "srasp",
    "rasp": "rasp",
    "crasp": "crasp",
    "counter": "counter",
    "circuit": "circuit-and-or-not",
    "graph": "connectivity",
}
"""For each source language, the default theorem, so that the others need not be imported."""


def _incompatibility(theorem: Theorem) -> str:
    return (
        ""
        if theorem.api == API_VERSION
        else f"it was written for version {theorem.api} of the interface; this is version {API_VERSION}"
    )


_REGISTRY = Registry(
    Theorem,
    attribute="THEOREMS",
    package="softmachine.theorems",
    pattern="**/*.py",
    main_files=("theorem.py",),
    group="softmachine.theorems",
    find_objection=_incompatibility,
)


def all_theorems() -> tuple[Theorem, ...]:
    """Return all theorems, ordered by source language and rank; those of other packages come last."""
    languages = {language: place for place, language in enumerate(DEFAULT_THEOREMS)}
    return tuple(
        sorted(_REGISTRY.load_all(), key=lambda item: (languages.get(item.language, len(languages)), item.rank))
    )


def applicable_theorems(source: object) -> tuple[Theorem, ...]:
    """Return all theorems that apply to an object; the first is the default."""
    return tuple(item for item in all_theorems() if item.applies_to(source))


def get_theorem(name: str) -> Theorem | None:
    """Return the theorem of this name, or None; only modules that mention the name are imported."""
    return _REGISTRY.find(name)


def source_of_theorem(name: str) -> Source | None:
    """Return the only source of the theorem of this name; None if there is no such theorem, or it has many sources."""
    theorem = get_theorem(name)
    return None if theorem is None or isinstance(theorem.source, type) else theorem.source


def find_theorem(source: Source, name: str | Theorem | None = None) -> Theorem:
    """Find the theorem of this name, or the default one, for a source; a theorem is returned as it is.

    Raises:
        ConstructionError: If there is none, or it does not apply.
    """
    if isinstance(name, Theorem):
        return name
    chosen = get_theorem(name or DEFAULT_THEOREMS.get(source.language, ""))
    if chosen is not None and chosen.applies_to(source):
        return chosen
    fitting = applicable_theorems(source)
    if name is None and fitting:
        return fitting[0]
    if name is None:
        raise ConstructionError(f"no theorem applies to {type(source).__name__}")
    known = [item.name for item in fitting]
    listing = f"theorems that apply: {', '.join(known) or 'none'}"
    hint = listing if chosen else did_you_mean(name, known, listing, THEOREMS)
    raise ConstructionError(f"no theorem {name!r} applies to {type(source).__name__}", hint=hint)
