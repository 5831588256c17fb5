"""Candidates of shell completion, read from files: importing the modules that define them would be slow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def zoo_names(incomplete: str) -> Iterator[str]:
    """Complete names of the zoo; if there are none, shells complete file names."""
    index = (_PACKAGE / "languages" / "zoo" / "index.yaml").read_text(encoding="utf-8")
    return beginning(re.findall(r"^- name: (\S+)", index, re.MULTILINE), incomplete)


def theorem_names(incomplete: str) -> Iterator[str]:
    """Complete names of bundled theorems; those of plug-ins would have to be imported."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(_PACKAGE.glob("theorems/*/theorem.py")))
    listed = (text.partition("\nTHEOREMS = (")[2] for text in texts)
    return beginning((name for text in listed for name in _FIRST.findall(text)), incomplete)


_FIRST = re.compile(r'^    \w+\(\s*"([^"]+)"', re.MULTILINE)
"""The first argument of each call that defines a theorem: its name."""


def one_of(*names: str) -> Callable[[str], Iterator[str]]:
    """Return a function that completes these names."""
    return lambda incomplete: beginning(names, incomplete)


def beginning(names: Iterable[str], incomplete: str) -> Iterator[str]:
    """Select the names that start with a prefix."""
    return (name for name in names if name.startswith(incomplete))
