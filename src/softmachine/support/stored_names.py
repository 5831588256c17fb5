"""Names that earlier versions stored in folders, with the present names. Used only when reading, and in messages."""

from __future__ import annotations

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
