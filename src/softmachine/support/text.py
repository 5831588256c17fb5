"""Small matters of wording."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LONG = 240
"""So many characters of names are a list that people read."""
LONG_NAME = 48
"""So many characters of a name are shown where there are too many names."""
ALIKE = 3
"""So many names that begin alike are told as one."""

SURROGATE = re.compile("[\ud800-\udfff]")
"""A lone surrogate: a character of a Python string that UTF-8 cannot encode, so that no file can hold it."""
_LABEL = re.compile(r"(?<=[\w)²'])\[[^\[\]]*\]$")
_BEFORE_NUMBER = re.compile(r"\d.*$", re.DOTALL)
_COMPONENT = re.compile(r"(.*)\[(\d+)\]")


def many(count: int, what: str) -> str:
    """A number of things: "1 token", "2,000 tokens"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def family(name: str) -> str:
    """The vector that a component is of: ``state[q0]`` is of ``state``; the brackets of a count stay."""
    return _LABEL.sub("", name)


def brief(names: Sequence[str]) -> str:
    """Names with commas between; too many or too long ones are folded.

    Then those that are the same up to their first number are told as one, long ones are cut, and the last left out.
    """
    whole = ", ".join(names)
    if len(whole) <= LONG:
        return whole
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(_BEFORE_NUMBER.sub("", name) or name, []).append(name)
    items = [item for kind in kinds.values() for item in _folded(kind)]
    shown: list[tuple[str, int]] = []
    for item in items:
        if shown and sum(len(text) + 2 for text, _ in shown) + len(item[0]) > LONG:
            break
        shown.append(item)
    left = len(names) - sum(count for _, count in shown)
    return ", ".join([text for text, _ in shown] + ([f"and {left:,} more"] if left else []))


def _folded(kind: list[str]) -> list[tuple[str, int]]:
    """Names that begin alike, as texts that stand for so many of them each."""
    if len(kind) < ALIKE:
        return [(cut(name), 1) for name in kind]
    return [(f"{cut(kind[0])} … {cut(kind[-1])} ({len(kind):,} of them)", len(kind))]


def cut(name: str, longest: int = LONG_NAME) -> str:
    """A name that is not too long; what is missing is in the middle."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[:half].rstrip()}…{name[-half + 1 :].lstrip()}"


def clipped(text: str, longest: int = 40) -> str:
    """The beginning of a text that may be long."""
    return str(text) if len(text) <= longest else text[: longest - 1] + "…"


def sign(negative: bool, before: str) -> str:
    """The sign in front of a term of a sum, where something stands before it or nothing does."""
    if before:
        return " - " if negative else " + "
    return "-" if negative else ""


def span(numbers: Sequence[int]) -> str:
    """Numbers that follow each other: "1 to 5", "3", or "none"."""
    if len(numbers) > 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return str(numbers[0]) if numbers else "none"


def printable(text: str, keep: str = "\n\t") -> str:
    """The text with every unprintable character, except those to keep, written as an escape sequence."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)


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
