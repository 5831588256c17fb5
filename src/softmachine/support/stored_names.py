"""Names stored in folders and runs by earlier versions, with the present ones. Used only when reading, and in messages.

The stored names of position features are written out in their classes, and do not change when a class is renamed.
"""

from __future__ import annotations

from collections.abc import Iterable

MANIFEST_KEYS = {"construction": "theorem", "length": "context"}
"""Former keys of the manifests of saved and exported folders, and the present ones."""
THEOREMS = {
    "chapter-8": "turing-average-hard",
    "chapter-8-summary": "turing-average-hard-summary",
    "ternary": "turing-ternary",
    "ternary-summary": "turing-ternary-summary",
    "address-bits": "turing-binary-address",
    "residues": "turing-residue-address",
    "residues-without-positions": "turing-residue-address-no-positions",
    "turing-relative": "turing-counter-relative-bias",
    "configuration-graph": "turing-configuration-graph",
    "temporal-encoder-unbounded": "temporal-encoder-unbounded-positions",
    "temporal-masked-unbounded": "temporal-masked-unbounded-positions",
    "temporal-encoder-literal": "temporal-encoder-paper-positions",
    "temporal-masked-literal": "temporal-masked-paper-positions",
    "temporal-encoder-unbounded-literal": "temporal-encoder-unbounded-paper-positions",
    "temporal-masked-unbounded-literal": "temporal-masked-unbounded-paper-positions",
    "unique-hard": "temporal-unique-hard",
    "crasp-relu-bounded": "crasp-relu-max-length",
    "counter-relu-bounded": "counter-relu-max-length",
    "circuit-binary": "circuit-and-or-not",
    "circuit-unit": "circuit-threshold",
    "threshold-evaluator": "circuit-evaluator-threshold",
    "uniform-thresholds": "uniform-circuits-threshold",
    "nondeterministic-logspace": "nl-configuration-graph",
    "nondeterministic-logspace-literal": "nl-configuration-graph-unpruned",
}
"""From the earlier name of a theorem to the present one."""


def present_theorem(name: str) -> str:
    """Return the present name of a theorem, given the stored one."""
    return THEOREMS.get(name, name)


HEADS = {
    "undo 1/(i+1) of …": "recover … position",
    "find …": "recover …",
    "share of #…": "mean of #…",
    "share of odd(…": "mean of odd(…",
    "signs so far": "parity mean (past)",
    "signs from here": "parity mean (future)",
    "head told…": "head in the summary…",
    "state told": "state in the summary",
    "last write for told symbol…": "last write for column symbol…",
    "asked for ahead": "threshold ahead",
}
"""From the earlier name of an attention head to the present one; "…" is any text. The first that matches applies."""


def present_head(name: str) -> str:
    """Return the present name of a head, given the stored one."""
    return _translated(name, HEADS.items())


def earlier_head(name: str) -> str:
    """Return the earlier name of a head, given the present one."""
    return _translated(name, ((present, earlier) for earlier, present in HEADS.items()))


def _translated(name: str, pairs: Iterable[tuple[str, str]]) -> str:
    for old, new in pairs:
        start, dots, end = old.partition("…")
        if name == old or (dots and name.startswith(start) and name.endswith(end)):
            return new.replace("…", name[len(start) : len(name) - len(end)])
    return name
