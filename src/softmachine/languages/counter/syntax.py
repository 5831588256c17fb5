"""Parser of counter machines, in ``.cm`` files.

Example::

    input a b                       # counter a starts with the number of a's, and so on
    order                           # only words of the shape a* b*; others are rejected
    counters x y                    # work counters, starting at 0
    start q0
    accept yes
    reject no
    q0: a >= 2 -> q0: a -= 2, x += 1
    q0: a = 1 and b = 0 -> yes
    q0: else -> no

A test combines comparisons (= != < <= > >=) of sums such as ``2*x + y - 3`` with and, or, not, true, false and
parentheses. ``else`` holds if no other test of the state does. Names with characters other than letters, digits and
underscores are quoted: ``'1' >= 2`` tests the counter of the letter 1. ``machine NAME`` sets the name. A more deeply
indented line continues the previous one. A comment begins with ``#``; in the header lines, where ``#`` may be a letter,
only at the start of a line or after two spaces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from softmachine.languages.counter.building import Builder
from softmachine.languages.counter.machine import CounterMachine, Transition
from softmachine.languages.counter.mistakes import explain
from softmachine.languages.counter.printing import to_text
from softmachine.languages.source import check_size, name_of
from softmachine.languages.text.grammar import parser
from softmachine.languages.text.layout import QUOTED_OR_HASH, WORD, Statement, split_lines, statements, up_to_comment
from softmachine.languages.text.mistakes import Mistake
from softmachine.languages.text.problems import Problem, refuse
from softmachine.languages.text.reader import StatementReader
from softmachine.support.errors import Place

__all__ = ["parse", "to_text"]

MANY = frozenset({"input", "counters", "accept", "reject"})
HEADERS: Mapping[str, str] = {
    "machine": "the name of the machine, one word or quoted",
    "input": "the letters of inputs, as in: input a b",
    "order": "nothing: the letters of an input must be in the order of the line 'input'",
    "counters": "the names of the work counters, as in: counters x y",
    "start": "one name: the initial state",
    "accept": "the accepting states",
    "reject": "the rejecting states",
}
"""Keywords of the header lines, with descriptions of their arguments."""
KEYWORD = re.compile(rf"\s*({'|'.join(HEADERS)})(?=\s+[^\s:]|\s*$|\s+#)")


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> CounterMachine:
    """Parse a machine; all errors are reported at once."""
    check_size(text, source, "a machine may have")
    lines = split_lines(text)
    reader = _Reader(source)
    for statement in statements(lines, keyword=_keyword, without_comment=_without_comment):
        reader.read(statement)
    reader.finish()
    refuse(reader.problems, lines)
    headers = reader.headers
    return CounterMachine(
        name=name or next(iter(headers.get("machine", ())), None) or name_of(source) or "machine",
        alphabet=headers["input"],
        work_counters=headers.get("counters", ()),
        order="order" in headers,
        start=headers["start"][0],
        accept=headers.get("accept", ()),
        reject=headers.get("reject", ()),
        transitions=tuple(reader.transitions),
        place=Place(source),
    )


def _keyword(line: str) -> str:
    found = KEYWORD.match(line)
    return found[1] if found else ""


def _without_comment(line: str, keyword: str) -> str:
    return up_to_comment(line, WORD if keyword else QUOTED_OR_HASH, apart=bool(keyword))


class _Reader(StatementReader):
    """Parser state: the parts of the machine."""

    quoted = "a name"

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.headers: dict[str, tuple[str, ...]] = {}
        self.transitions: list[Transition] = []

    def read(self, statement: Statement) -> None:
        """Parse a statement."""
        first, *words = statement.words()
        if first.text not in HEADERS or (words and words[0].text.startswith(":")):
            self._transition(statement)
        elif self.header(statement):
            self.headers[first.text] = tuple(self.plain(word) for word in words)
            arity = 0 if first.text == "order" else 1
            if first.text not in MANY and len(words) != arity:
                self.report(f"expected after {first.text!r}: {HEADERS[first.text]}", first.line, first.column)

    def finish(self) -> None:
        """Report missing headers."""
        for keyword in ("input", "start"):
            if keyword not in self.headers:
                message = f"missing line {keyword!r}; it contains {HEADERS[keyword]}"
                self.problems.append(Problem(message, Place(self.source)))

    def _transition(self, statement: Statement) -> None:
        from lark.exceptions import UnexpectedInput

        try:
            found: Transition = parser("counter", Builder).parse(statement.text)  # type: ignore[assignment]
        except UnexpectedInput as error:
            self.unreadable(statement, partial(explain, error, statement.text))
        except Mistake as error:
            self.mistake(statement, error)
        else:
            place = found.place or Place("", 1, 1)
            here = Place(self.source, statement.line + (place.line or 1) - 1, place.column)
            self.transitions.append(Transition(found.source, found.test, found.updates, found.target, here))
