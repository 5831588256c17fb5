"""Names: which a definition may have, and what is said of one that is not known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

KEYWORDS: Final = frozenset(
    {"def", "return", "for", "in", "if", "else", "and", "or", "not", "True", "False", "None", "undefined"}
    | {"repeat", "until", "load", "lambda", "set", "example", "draw"}
)
"""Words of the text form that nothing can be called."""
PRIMITIVES: Final = frozenset(
    {"tokens", "indices", "length", "select", "aggregate", "selector_width", "full_s", "no_s", "table", "constant"}
    | {"max", "min", "round", "int", "abs", "indicator"}
)
"""What the text form calls the operations. A text may give these names to something else, but they are not kept."""
RESERVED: Final = KEYWORDS | PRIMITIVES
NAME: Final = re.compile(r"[^\W\d]\w*")
ANONYMOUS: Final = re.compile(r"_\d+(_\d+)?")
"""What is called so that nobody named: in a loop, with the number of the loop."""
MOST_COMPARED: Final = 200


def is_name(text: str) -> bool:
    """Whether a definition may be called so."""
    return NAME.fullmatch(text) is not None and text not in RESERVED


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint if a name is similar to a known one. Where very many are known, comparing takes too long."""
    names = sorted(known)
    similar = get_close_matches(name, names, n=1) if len(names) < MOST_COMPARED else []
    return f"did you mean {similar[0]!r}?" if similar else None
