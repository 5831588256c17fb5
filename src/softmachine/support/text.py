"""Text formatting for messages and tables: plurals, lists of names, abbreviation, line filling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

MAX_LIST_LENGTH = 240
"""Maximum characters of a list of names that is not abbreviated."""
MAX_NAME_LENGTH = 48
"""Maximum characters of a name in an abbreviated list."""
MIN_FOLDED_NAMES = 3
"""Minimum number of names with a common prefix that are folded into one entry."""

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""A lone surrogate: a character of a Python string that UTF-8 cannot encode, so that no file can hold it."""
_LABEL = re.compile(r"(?<=[\w)²'])\[[^\[\]]*\]$")
_BEFORE_NUMBER = re.compile(r"\d.*$", re.DOTALL)
_COMPONENT = re.compile(r"(.*)\[(\d+)\]")


def pluralize(count: int, noun: str) -> str:
    """A number with a noun: "1 token", "2,000 tokens"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def did_you_mean(
    name: str, known: Iterable[str], otherwise: str | None = None, aliases: Mapping[str, str] = MappingProxyType({})
) -> str:
    """A hint for an unknown name: "did you mean palindrome or prime?".

    Args:
        name: The unknown name.
        known: All names.
        otherwise: The hint if none of them is similar; by default, the list of all names.
        aliases: Other names for some of them, which need not be similar.
    """
    from difflib import get_close_matches

    names = {each: each for each in known}
    meant = {each.lower(): present for each, present in [*aliases.items(), *names.items()] if present in names}
    close = [meant[each] for each in get_close_matches(name.lower(), meant)]
    if aliases.get(name) in names:
        close = [aliases[name]]
    if close:
        return f"did you mean {' or '.join(dict.fromkeys(close))}?"
    return f"choose one of {', '.join(names)}" if otherwise is None else otherwise


def vector_name(name: str) -> str:
    """The vector of a component: ``state[q0]`` belongs to ``state``; the brackets of a count remain."""
    return _LABEL.sub("", name)


def abbreviate_names(names: Sequence[str]) -> str:
    """A comma-separated list of names, abbreviated if it is too long.

    Abbreviation folds names that are equal up to their first number, shortens long names, and drops the last ones.
    """
    whole = ", ".join(names)
    if len(whole) <= MAX_LIST_LENGTH:
        return whole
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(_BEFORE_NUMBER.sub("", name) or name, []).append(name)
    items = [item for kind in kinds.values() for item in _fold_names(kind)]
    shown: list[tuple[str, int]] = []
    for item in items:
        if shown and sum(len(text) + 2 for text, _ in shown) + len(item[0]) > MAX_LIST_LENGTH:
            break
        shown.append(item)
    left = len(names) - sum(count for _, count in shown)
    return ", ".join([text for text, _ in shown] + ([f"and {left:,} more"] if left else []))


def _fold_names(kind: list[str]) -> list[tuple[str, int]]:
    """Entries for names with a common prefix: pairs of a text and the number of names it represents."""
    if len(kind) < MIN_FOLDED_NAMES:
        return [(shorten_middle(name), 1) for name in kind]
    return [(f"{shorten_middle(kind[0])} … {shorten_middle(kind[-1])} ({len(kind):,} of them)", len(kind))]


def shorten_middle(name: str, max_length: int = MAX_NAME_LENGTH) -> str:
    """Shorten a name by an ellipsis in the middle."""
    half = max_length // 2
    return name if len(name) <= max_length else f"{name[:half].rstrip()}…{name[-half + 1 :].lstrip()}"


def truncate(text: str, max_length: int = 40) -> str:
    """Shorten a text by an ellipsis at the end."""
    return str(text) if len(text) <= max_length else text[: max_length - 1] + "…"


def format_sign(negative: bool, before: str) -> str:
    """The sign of a term in a sum; ``before`` is the text of the terms before it."""
    if before:
        return " - " if negative else " + "
    return "-" if negative else ""


def format_range(numbers: Sequence[int]) -> str:
    """A range of consecutive numbers: "1 to 5", "3", or "none"."""
    if len(numbers) > 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return str(numbers[0]) if numbers else "none"


def escape_unprintable(text: str, keep: str = "\n\t") -> str:
    """The text with every unprintable character, except those to keep, written as an escape sequence."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)


def join_names(names: Iterable[str]) -> str:
    """A comma-separated list of names, in which consecutive components are merged: x[0], x[1], x[2] is x[0…2]."""
    runs: list[tuple[str, int, int] | str] = []
    for name in names:
        found = _COMPONENT.fullmatch(name)
        last = runs[-1] if runs else ""
        if found and isinstance(last, tuple) and last[0] == found[1] and last[2] + 1 == int(found[2]):
            runs[-1] = (last[0], last[1], last[2] + 1)
        else:
            runs.append((found[1], int(found[2]), int(found[2])) if found else name)
    return ", ".join(run if isinstance(run, str) else _format_components(*run) for run in runs)


def _format_components(name: str, first: int, last: int) -> str:
    return f"{name}[{first}]" if first == last else f"{name}[{first}…{last}]"


def fill_lines(phrases: Iterable[str], width: int) -> list[str]:
    """Fill lines of a maximum width with phrases, which are not broken; continuation lines are indented.

    Spaces at the end of a phrase count as padding for longer values.
    """
    lines = [""]
    for phrase in phrases:
        if lines[-1].strip() and len(lines[-1] + phrase) > width:
            lines.append("  ")
        lines[-1] += phrase
    return [line.rstrip() for line in lines]
