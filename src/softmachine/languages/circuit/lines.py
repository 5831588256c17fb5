"""What the readers and writers of all formats of circuits share: lines of fields, and messages that point at them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from softmachine.languages.circuit.circuit import MOST_GATES, Circuit
from softmachine.languages.source import check_size
from softmachine.support.errors import Place, SourceError, UsageError

LARGEST_SOURCE = 1 << 24
"""Characters; whatever is longer is refused before it is read."""
SHOWN = 100
"""So many characters of a line are shown."""


@dataclass(frozen=True)
class Line:
    """A line of a source: its text, where it stands, and its fields, which blanks separate."""

    text: str
    place: Place

    @property
    def fields(self) -> list[str]:
        """The fields."""
        return self.text.split()

    def start(self, field: int | None) -> int:
        """Where a field begins, or what is there if there is no such field."""
        starts = [match.start() for match in re.finditer(r"\S+", self.text)]
        known = field is not None and field < len(starts)
        return starts[field] if field is not None and known else len(self.text) - len(self.text.lstrip())

    def error(self, message: str, hint: str | None = None, *, field: int | None = None) -> SourceError:
        """What to raise about this line, with the line itself and, if a field is at fault, a caret below it."""
        start, known = self.start(field), field is not None and field < len(self.fields)
        begin = max(0, start - SHOWN // 2)
        shown = "".join(c if c.isprintable() else " " for c in self.text[begin : begin + SHOWN]).rstrip()
        caret = f"\n    {' ' * (start - begin)}^" if known else ""
        place = Place(self.place.source, self.place.line, start + 1)
        return SourceError(f"{message}\n    {shown}{caret}" if shown else message, place=place, hint=hint)

    def number(self, field: int, what: str, *, most: int = 2 * MOST_GATES) -> int:
        """A field as a number that is not negative and not absurdly large."""
        if field >= len(self.fields):
            raise self.error(f"{what} is missing")
        text = self.fields[field]
        if not re.fullmatch(r"[0-9]{1,18}", text):
            raise self.error(f"{what} should be a number, not {text[:40]!r}", field=field)
        if int(text) > most:
            raise self.error(f"{what} is {int(text):,}; at most {most:,} is allowed", field=field)
        return int(text)


def check_length(text: str, source: str) -> None:
    """Refuse a file that is far too long.

    Raises:
        SourceError: If it is.
    """
    check_size(text, source, "a circuit may be described in", largest=LARGEST_SOURCE)


def lines_of(text: str, source: str, *, comment: str | None = None) -> Iterator[Line]:
    """The lines of a source without comments, those that are empty left out."""
    check_length(text, source)
    for number, line in enumerate(text.split("\n"), start=1):
        content = (line.partition(comment)[0] if comment else line).rstrip()
        if content.strip():
            yield Line(content, Place(source, number))


def check_names(circuit: Circuit, format_name: str, forbidden: str) -> None:
    """Complain if a wire's name cannot be written in a format: it has a blank, or a character that is forbidden.

    Raises:
        UsageError: If it has.
    """
    for wire in circuit.wires:
        if any(character.isspace() or character in forbidden for character in wire):
            raise UsageError(
                f"the wire {wire!r} of circuit {circuit.name!r} cannot be written in the {format_name} format",
                hint=f"names there have no blanks and none of {' '.join(forbidden)}",
            )
