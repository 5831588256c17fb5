"""Problems of a source, reported together, each with its place and an excerpt of the line with a caret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from softmachine.support.errors import InvalidError, Place, SourceError

MOST_REPORTED = 20
WIDTH = 100


@dataclass(frozen=True)
class Problem:
    """A problem of a source.

    Args:
        message: The problem, with a hint.
        place: Its place, if the source was parsed from a text.
    """

    message: str
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def refuse(problems: Sequence[Problem], lines: Sequence[str]) -> None:
    """Raise one error for all syntax errors, each with an excerpt of its line.

    Raises:
        SourceError: If there is at least one.
    """
    if not problems:
        return
    first, *others = _most(problems)
    message = first.message + _indented(excerpt(first.place, lines), 4)
    message += "".join(f"\n{other}{_indented(excerpt(other.place, lines), 4)}" for other in others)
    raise SourceError(message, place=first.place)


def invalid(what: str, problems: Sequence[Problem], place: Place | None, lines: Sequence[str] = ()) -> InvalidError:
    """Return one error for all semantic problems, each with an excerpt of its line if the text is given."""
    listing = [f"{problem}{_indented(excerpt(problem.place, lines), 8)}" for problem in _most(problems)]
    return InvalidError(what, listing, place=place)


def excerpt(place: Place | None, lines: Sequence[str]) -> list[str]:
    """The line at a place, clipped to a window if it is long, and a line with a caret under the column."""
    if place is None or place.line is None or place.column is None or place.line > len(lines):
        return []
    line = "".join(character if character.isprintable() else " " for character in lines[place.line - 1])
    start = max(0, place.column - 1 - WIDTH // 2) if len(line) > WIDTH else 0
    window = line[start : start + WIDTH]
    padding = "".join(" " * columns(character) for character in line[start : place.column - 1])
    lead = "… " if start else ""
    return [lead + window + (" …" if start + WIDTH < len(line) else ""), f"{' ' * len(lead)}{padding}^"]


def columns(character: str) -> int:
    """The width of a character in a terminal."""
    return 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1


def _indented(lines: list[str], by: int) -> str:
    return "".join(f"\n{' ' * by}{line}" for line in lines)


def _most(problems: Sequence[Problem]) -> list[Problem]:
    shown = list(problems[:MOST_REPORTED])
    if len(problems) > len(shown):
        shown.append(Problem(f"… and {len(problems) - len(shown):,} more"))
    return shown
