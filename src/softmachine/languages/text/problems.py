"""What can be wrong with a program, and how it is said: where, what, and the line with a caret under the place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from softmachine.support.errors import InvalidError, Place, SourceError

MOST_REPORTED = 20
WIDTH = 100


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Args:
        message: What is wrong, and what would be right.
        place: Where, if it comes from a text.
    """

    message: str
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def refuse(problems: Sequence[Problem], lines: Sequence[str]) -> None:
    """Report all mistakes of writing at once, each with its line.

    Raises:
        SourceError: If there are any.
    """
    if not problems:
        return
    first, *others = _most(problems)
    message = first.message + _indented(excerpt(first.place, lines), 4)
    message += "".join(f"\n{other}{_indented(excerpt(other.place, lines), 4)}" for other in others)
    raise SourceError(message, place=first.place)


def invalid(what: str, problems: Sequence[Problem], place: Place | None, lines: Sequence[str] = ()) -> InvalidError:
    """The error that reports all broken rules at once, each with its line if the text is given."""
    listing = [f"{problem}{_indented(excerpt(problem.place, lines), 8)}" for problem in _most(problems)]
    return InvalidError(what, listing, place=place)


def excerpt(place: Place | None, lines: Sequence[str]) -> list[str]:
    """The line at a place, cut to a window if it is long, and a line with a caret under the place."""
    if place is None or place.line is None or place.column is None or place.line > len(lines):
        return []
    line = "".join(character if character.isprintable() else " " for character in lines[place.line - 1])
    start = max(0, place.column - 1 - WIDTH // 2) if len(line) > WIDTH else 0
    window = line[start : start + WIDTH]
    blanks = "".join(" " * columns(character) for character in line[start : place.column - 1])
    lead = "… " if start else ""
    return [lead + window + (" …" if start + WIDTH < len(line) else ""), f"{' ' * len(lead)}{blanks}^"]


def columns(character: str) -> int:
    """How wide a terminal draws a character."""
    return 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1


def _indented(lines: list[str], by: int) -> str:
    return "".join(f"\n{' ' * by}{line}" for line in lines)


def _most(problems: Sequence[Problem]) -> list[Problem]:
    shown = list(problems[:MOST_REPORTED])
    if len(problems) > len(shown):
        shown.append(Problem(f"… and {len(problems) - len(shown):,} more"))
    return shown
