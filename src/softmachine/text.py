"""Small matters of wording."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_COMPONENT = re.compile(r"(.*)\[(\d+)\]")


def many(count: int, what: str) -> str:
    """A number of things: "1 token", "2,000 tokens"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def html_table(rows: Sequence[Sequence[str]], caption: str, *, head: Sequence[str] = ()) -> str:
    """A table for notebooks: text only, with everything escaped that HTML would take for its own."""
    from html import escape

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    top = f"<thead>{line(head, 'th')}</thead>" if head else ""
    body = "".join(line(row, "td") for row in rows)
    return f"<table><caption>{escape(caption)}</caption>{top}<tbody>{body}</tbody></table>"


def listed(names: Iterable[str]) -> str:
    """Names with commas between; those of one vector that follow each other together: x[0], x[1], x[2] is x[0…2]."""
    runs: list[tuple[str, int, int] | str] = []
    for name in names:
        found = _COMPONENT.fullmatch(name)
        last = runs[-1] if runs else ""
        if found and isinstance(last, tuple) and last[0] == found[1] and last[2] + 1 == int(found[2]):
            runs[-1] = (last[0], last[1], last[2] + 1)
        else:
            runs.append((found[1], int(found[2]), int(found[2])) if found else name)
    return ", ".join(run if isinstance(run, str) else _spelled(*run) for run in runs)


def _spelled(name: str, first: int, last: int) -> str:
    return f"{name}[{first}]" if first == last else f"{name}[{first}…{last}]"


def filled(phrases: Iterable[str], width: int) -> list[str]:
    """Phrases one after the other in lines that are not longer, if no phrase is; later lines are indented.

    Blanks at the end of a phrase count: they keep room for what may be longer another time.
    """
    lines = [""]
    for phrase in phrases:
        if lines[-1].strip() and len(lines[-1] + phrase) > width:
            lines.append("  ")
        lines[-1] += phrase
    return [line.rstrip() for line in lines]
