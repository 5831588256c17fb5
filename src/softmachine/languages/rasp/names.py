"""Identifiers of the text form: valid and reserved names, and spelling suggestions for unknown ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

KEYWORDS: Final = frozenset(
    {"def", "return", "for", "in", "if", "else", "and", "or", "not", "True", "False", "None", "undefined"}
    | {"repeat", "until", "load", "lambda", "set", "example", "draw"}
)
"""Keywords of the text form, which cannot be identifiers."""
PRIMITIVES: Final = frozenset(
    {"tokens", "indices", "length", "select", "aggregate", "selector_width", "full_s", "no_s", "table", "constant"}
    | {"max", "min", "round", "int", "abs", "indicator"}
)
"""Names of the built-in operations. A program text may rebind them, but the binding's name is not kept."""
RESERVED: Final = KEYWORDS | PRIMITIVES
NAME: Final = re.compile(r"[^\W\d]\w*")
ANONYMOUS: Final = re.compile(r"_\d+(_\d+)?")
"""Generated names of anonymous definitions; inside a loop they include the number of the loop."""
MOST_COMPARED: Final = 200


def is_name(text: str) -> bool:
    """Whether a text is a valid name of a definition."""
    return NAME.fullmatch(text) is not None and text not in RESERVED


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint if a name is similar to a known one. Skipped if there are too many names to compare."""
    names = sorted(known)
    similar = get_close_matches(name, names, n=1) if len(names) < MOST_COMPARED else []
    return f"did you mean {similar[0]!r}?" if similar else None
