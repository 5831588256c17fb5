"""Runs of every language, short enough to test every position."""

from __future__ import annotations

from functools import cache
from typing import Any

import softmachine as sm
from softmachine.engines.result import Run

LANGUAGES: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "turing": ("palindrome", "abba", {}),
    "temporal": ("response-formula", "rwgrg", {}),
    "srasp": ("dyck-2-program", "([])", {}),
    "counter": ("gcd-counter", "aabbbbc", {}),
    "crasp": ("power-of-two-crasp", "aaaa", {}),
    "circuit": ("full-adder", "101", {}),
    "graph": ("one-way-streets", "home station", {}),
}
"""The name of a source, an input and options, by language."""
OTHERS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "two tapes": ("two-tape-palindrome", "aba", {}),
    "counting formula": ("dyck-1-formula", "(())", {}),
    "crasp that answers": ("dyck-1-crasp", "(())()", {}),
    "turing-ternary": ("palindrome", "aba", {"theorem": "turing-ternary"}),
    "summary": ("binary-counter", None, {"theorem": "turing-average-hard-summary", "max_steps": 60}),
    "address bits": ("palindrome", "aba", {"theorem": "turing-binary-address"}),
}
"""Further runs, by the feature that they demonstrate."""


@cache
def run_of(kind: str) -> Run:
    name, word, options = (LANGUAGES | OTHERS)[kind]
    return sm.run(name, word, **options)
