"""The lines of a text that describes a counter machine: statements without their comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from softmachine.languages.text import layout
from softmachine.languages.text.layout import QUOTED_OR_HASH, WORD, Statement

HEADERS: Mapping[str, str] = {
    "machine": "what the machine is called, in one word or in quotes",
    "input": "the letters of inputs, as in: input a b",
    "order": "nothing: the letters of an input come in the order of the line that begins with 'input'",
    "counters": "the names of more counters, as in: counters x y",
    "start": "one name: the state a run starts in",
    "accept": "the states that accept",
    "reject": "the states that reject",
}
"""The first words of the lines above the transitions, and what follows them."""
_KEYWORD = re.compile(rf"\s*(?:{'|'.join(HEADERS)})(?=\s+[^\s:]|\s*$|\s+#)")


def statements(lines: list[str]) -> Iterator[Statement]:
    """The statements of a text."""
    return layout.statements(lines, keyword=_keyword, without_comment=_without_comment)


def _keyword(line: str) -> str:
    found = _KEYWORD.match(line)
    return found[0].strip() if found else ""


def _without_comment(line: str, keyword: str) -> str:
    return layout.up_to_comment(line, WORD if keyword else QUOTED_OR_HASH, apart=bool(keyword))
