"""Counter machines as text, in files ``.cm``.

As in::

    input a b                       # counter a starts with the number of a's, and so on
    order                           # only words of the shape a* b*; the others are rejected
    counters x y                    # more counters, starting at 0
    start q0
    accept yes
    reject no
    q0: a >= 2 -> q0: a -= 2, x += 1
    q0: a = 1 and b = 0 -> yes
    q0: else -> no

A test is made with and, or, not, true, false and parentheses from comparisons (= != < <= > >=) of sums such as
``2*x + y - 3``. ``else`` holds if no other test of the state does. Names with other characters than letters, digits and
underscores are in quotes: ``'1' >= 2`` asks for the counter of the letter 1. ``machine NAME`` says what it is called.
A line that is indented deeper goes on with the one before. A comment begins with ``#``; in the lines above the
transitions, where it may be a letter, only at the start of a line or after two blanks.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from softmachine.errors import InvalidError, Place, SourceError
from softmachine.languages.counter.explain import explain
from softmachine.languages.counter.grammar import Mistake, parser
from softmachine.languages.counter.layout import HEADERS, statements
from softmachine.languages.counter.machine import CounterMachine, Transition
from softmachine.languages.counter.printing import to_text
from softmachine.languages.layout import Statement, Word, split_lines, unquote
from softmachine.languages.problems import MOST_REPORTED, Problem, refuse

__all__ = ["looks_like", "parse", "to_text"]

LARGEST_SOURCE = 1 << 20
"""Characters. Nobody writes a machine of a megabyte."""
START = re.compile(r"^[ \t]*start[ \t]+[^\s:]", re.MULTILINE)
TRANSITION = re.compile(r"^[ \t]*\S[^\n]*:[^\n]*(?:->|→)", re.MULTILINE)
MANY = frozenset({"input", "counters", "accept", "reject"})


def looks_like(text: str) -> bool:
    """Whether a text is meant as a counter machine, though there may be a mistake in it."""
    return START.search(text) is not None and TRANSITION.search(text) is not None


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> CounterMachine:
    """The machine that a text describes.

    Args:
        text: The machine.
        source: Where it comes from, for messages.
        name: What to call it; by default what it says itself, or its file.

    Raises:
        SourceError: If the text is not in this form, with all mistakes of writing.
        InvalidError: If the machine breaks the rules of the language, with all problems.
    """
    if len(text) > LARGEST_SOURCE:
        message = f"this is {len(text):,} characters long; a machine may have at most {LARGEST_SOURCE:,}"
        raise SourceError(message, place=Place(source))
    lines = split_lines(text)
    reader = _Reader(source)
    for statement in statements(lines):
        reader.read(statement)
    reader.finish()
    refuse(reader.problems, lines)
    headers = reader.headers
    file = None if source.startswith("<") else PurePath(source).stem
    return CounterMachine(
        name=name or next(iter(headers.get("machine", ())), None) or file or "machine",
        alphabet=headers["input"],
        work_counters=headers.get("counters", ()),
        order="order" in headers,
        start=headers["start"][0],
        accept=headers.get("accept", ()),
        reject=headers.get("reject", ()),
        transitions=tuple(reader.transitions),
        place=Place(source),
    )


class _Reader:
    """Reads statement after statement, and goes on after a mistake."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.headers: dict[str, tuple[str, ...]] = {}
        self.transitions: list[Transition] = []
        self.problems: list[Problem] = []

    def read(self, statement: Statement) -> None:
        """Read a statement."""
        first, *words = statement.words()
        if first.text not in HEADERS or (words and words[0].text.startswith(":")):
            self._transition(statement)
        elif first.text in self.headers:
            self._report(f"there is already a line that begins with {first.text!r}", first)
        else:
            self.headers[first.text] = tuple(self._plain(word) for word in words)
            wanted = 0 if first.text == "order" else 1
            if first.text not in MANY and len(words) != wanted:
                self._report(f"{first.text!r} is followed by {HEADERS[first.text]}", first)

    def finish(self) -> None:
        """Say which lines are missing."""
        for keyword in ("input", "start"):
            if keyword not in self.headers:
                message = f"there is no line that begins with {keyword!r}; it is followed by {HEADERS[keyword]}"
                self.problems.append(Problem(message, Place(self.source)))

    def _plain(self, word: Word) -> str:
        """A word as it is, or what is in its quotes."""
        if word.text[0] not in "'\"":
            return word.text
        inner = unquote(word.text)
        if inner is None:
            self._report(r"this is not a name in quotes; a quote is written '\'' and a backslash '\\'", word)
        return inner or ""

    def _transition(self, statement: Statement) -> None:
        from lark.exceptions import UnexpectedInput, VisitError

        try:
            found: Transition = parser().parse(statement.text)  # type: ignore[assignment]
        except UnexpectedInput as error:
            # What is not shown need not be explained, which takes long.
            shown = len(self.problems) < MOST_REPORTED
            mistake = explain(error, statement.text) if shown else Mistake("", 1, 1)
        except Mistake as raised:
            mistake = raised
        except VisitError as error:
            if not isinstance(error.orig_exc, Mistake | InvalidError):
                raise
            mistake = error.orig_exc if isinstance(error.orig_exc, Mistake) else Mistake(str(error.orig_exc), 1, 1)
        else:
            place = found.place or Place("", 1, 1)
            here = Place(self.source, statement.line + (place.line or 1) - 1, place.column)
            self.transitions.append(Transition(found.source, found.test, found.updates, found.target, here))
            return
        place = Place(self.source, statement.line + mistake.line - 1, mistake.column)
        self.problems.append(Problem(mistake.message, place))

    def _report(self, message: str, word: Word) -> None:
        self.problems.append(Problem(message, Place(self.source, word.line, word.column)))
