"""Names that the Tab key completes, read from files: importing what has them would take too long."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def zoo_names(incomplete: str) -> Iterator[str]:
    """The names of the zoo that begin so; where there are none, shells complete the names of files."""
    index = (_PACKAGE / "languages" / "zoo" / "index.yaml").read_text(encoding="utf-8")
    return beginning(re.findall(r"^- name: (\S+)", index, re.MULTILINE), incomplete)


def theorem_names(incomplete: str) -> Iterator[str]:
    """The names of our theorems that begin so; those of other packages would have to be imported."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(_PACKAGE.glob("theorems/*/theorem.py")))
    listed = (text.partition("\nTHEOREMS = (")[2] for text in texts)
    return beginning((name for text in listed for name in _FIRST.findall(text)), incomplete)


_FIRST = re.compile(r'^    \w+\(\s*"([^"]+)"', re.MULTILINE)
"""The first argument of each call that makes a theorem: its name."""


def one_of(*names: str) -> Callable[[str], Iterator[str]]:
    """Completes these names."""
    return lambda incomplete: beginning(names, incomplete)


def beginning(names: Iterable[str], incomplete: str) -> Iterator[str]:
    """Those of some names that begin so."""
    return (name for name in names if name.startswith(incomplete))
