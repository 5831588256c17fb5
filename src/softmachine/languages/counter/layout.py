"""The lines of a text that describes a counter machine: statements without their comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from softmachine.languages.layout import Statement
from softmachine.languages.srasp.layout import without_comment

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
TAB = 8
_KEYWORD = re.compile(rf"\s*(?:{'|'.join(HEADERS)})(?=\s+[^\s:]|\s*$|\s+#)")


def statements(lines: list[str]) -> Iterator[Statement]:
    """The statements of a text: a line and the lines after it that are indented deeper, without comments."""
    collected: list[str] = []
    first = indent = 0
    is_header = False
    for number, line in enumerate(lines, start=1):
        here = len(line.expandtabs(TAB)) - len(line.expandtabs(TAB).lstrip())
        begins = not collected or here <= indent
        if begins:
            header_begins = _KEYWORD.match(line) is not None
        bare = without_comment(line, of_alphabet=header_begins if begins else is_header)
        if not bare.strip():
            if collected:
                collected.append("")
            continue
        if begins:
            if collected:
                yield Statement("\n".join(collected), first)
            collected, first, indent, is_header = [], number, here, header_begins
        collected.append(bare)
    if collected:
        yield Statement("\n".join(collected), first)
