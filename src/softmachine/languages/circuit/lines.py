"""Lines of fields, and diagnostics that point at them: shared by the parsers and printers of all circuit formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from softmachine.languages.circuit.circuit import MAX_GATES, Circuit
from softmachine.languages.source import check_source_length
from softmachine.support.errors import SourceError, SourceLocation, UsageError

MAX_SOURCE_LENGTH = 1 << 24
"""Maximum characters of a file; longer ones are rejected before parsing."""
MAX_SHOWN_LENGTH = 100
"""Maximum characters of a line shown in a message."""


@dataclass(frozen=True)
class SourceLine:
    """A line of a source: its text, its location, and its fields, which are separated by spaces."""

    text: str
    place: SourceLocation

    @property
    def fields(self) -> list[str]:
        """The fields."""
        return self.text.split()

    def field_offset(self, field: int | None) -> int:
        """The offset of a field, or of the first field if there is no such field."""
        starts = [match.start() for match in re.finditer(r"\S+", self.text)]
        known = field is not None and field < len(starts)
        return starts[field] if field is not None and known else len(self.text) - len(self.text.lstrip())

    def error(self, message: str, hint: str | None = None, *, field: int | None = None) -> SourceError:
        """An error about this line, which quotes it and, if a field is at fault, has a caret below that field."""
        start, known = self.field_offset(field), field is not None and field < len(self.fields)
        begin = max(0, start - MAX_SHOWN_LENGTH // 2)
        shown = "".join(c if c.isprintable() else " " for c in self.text[begin : begin + MAX_SHOWN_LENGTH]).rstrip()
        caret = f"\n    {' ' * (start - begin)}^" if known else ""
        place = SourceLocation(self.place.source, self.place.line, start + 1)
        return SourceError(f"{message}\n    {shown}{caret}" if shown else message, place=place, hint=hint)

    def parse_number(self, field: int, description: str, *, maximum: int = 2 * MAX_GATES) -> int:
        """Parse a field as an integer between 0 and ``maximum``."""
        if field >= len(self.fields):
            raise self.error(f"{description} is missing")
        text = self.fields[field]
        if not re.fullmatch(r"[0-9]{1,18}", text):
            raise self.error(f"{description} should be a number, not {text[:40]!r}", field=field)
        if int(text) > maximum:
            raise self.error(f"{description} is {int(text):,}; at most {maximum:,} is allowed", field=field)
        return int(text)


def check_length(text: str, source: str) -> None:
    """Check the length of a file.

    Raises:
        SourceError: If it has more than `MAX_SOURCE_LENGTH` characters.
    """
    check_source_length(text, source, "a circuit may be described in", max_length=MAX_SOURCE_LENGTH)


def source_lines(text: str, source: str, *, comment: str | None = None) -> Iterator[SourceLine]:
    """Yield the non-empty lines of a source, without comments."""
    check_length(text, source)
    for number, line in enumerate(text.split("\n"), start=1):
        content = (line.partition(comment)[0] if comment else line).rstrip()
        if content.strip():
            yield SourceLine(content, SourceLocation(source, number))


def check_names(circuit: Circuit, format_name: str, forbidden: str) -> None:
    """Check that a format can represent the names of all wires: no whitespace and no forbidden characters.

    Raises:
        UsageError: If it cannot.
    """
    for wire in circuit.wires:
        if any(character.isspace() or character in forbidden for character in wire):
            raise UsageError(
                f"the wire {wire!r} of circuit {circuit.name!r} cannot be written in the {format_name} format",
                hint=f"names there have no spaces and none of {' '.join(forbidden)}",
            )
