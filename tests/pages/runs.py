"""Runs of every language, short enough to be looked at everywhere."""

from __future__ import annotations

from functools import cache

import softmachine as sm
from softmachine.engines.result import Run

RUNS = {
    "turing": ("palindrome", "abba", {}),
    "two tapes": ("two-tape-palindrome", "aba", {}),
    "temporal": ("response-formula", "rwgrg", {}),
    "counting formula": ("dyck-1-formula", "(())", {}),
    "srasp": ("dyck-2-program", "([])", {}),
    "counter": ("gcd-counter", "aabbbbc", {}),
    "crasp": ("dyck-1-crasp", "(())()", {}),
    "crasp that thinks": ("power-of-two-crasp", "aaaa", {}),
    "circuit": ("full-adder", "101", {}),
    "graph": ("one-way-streets", "home station", {}),
    "ternary": ("palindrome", "aba", {"theorem": "ternary"}),
    "summary": ("binary-counter", None, {"theorem": "chapter-8-summary", "max_steps": 60}),
}
"""The name of a source, an input and options, by what they are an example of."""


@cache
def run_of(kind: str) -> Run:
    name, word, options = RUNS[kind]
    return sm.run(name, word, **options)  # type: ignore[arg-type]
