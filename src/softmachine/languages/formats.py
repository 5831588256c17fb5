"""The formats that sources come in: how one is found, which one a text is in, and how to read and write it.

A format is a module of a language's package that defines ``FORMAT``, and has the name of the module. The format in
``syntax.py`` or ``json_form.py`` has the name of the language, and keeps everything that an object of it is. Other
packages add formats by entry points of the same names, see `softmachine.support.plugins`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Protocol

from softmachine.languages.source import Source
from softmachine.support.errors import Place, SourceError, UsageError
from softmachine.support.plugins import Shelf


class Parser(Protocol):
    """What reads a format."""

    def __call__(self, text: str, *, source: str = "<string>", name: str | None = None) -> Source:
        """What a text describes.

        Args:
            text: The text.
            source: Where it comes from, for messages: a file, or something in angle brackets.
            name: What to call the object; by default what the text says, or its file.

        Raises:
            SourceError: If the text is not in the format.
            InvalidError: If what it describes is not valid.
        """
        ...


@dataclass(frozen=True)
class Format:
    """A format: how to recognise it, how to read it and how to write it.

    Args:
        name: What people call it.
        extensions: How names of files in it end, with the dot; none if it is for saved models, not for people.
        looks_like: Whether a text is meant to be in it, though there may be a mistake in it.
        parse: From text to what it describes.
        to_text: From what it describes to text; a `UsageError` says why if the format cannot express it.
        rank: Formats are tried in this order; those that fit fewer texts come first.
        magic: How its binary files begin, if it has such files. Their text is their bytes, a character each (Latin-1).
    """

    name: str
    extensions: tuple[str, ...]
    looks_like: Callable[[str], bool]
    parse: Parser
    to_text: Callable[[Any], str]
    rank: int = 1000
    magic: bytes = b""

    def is_binary(self, data: bytes) -> bool:
        """Whether a file of this format with these bytes is binary."""
        return bool(self.magic) and data.startswith(self.magic)


_SHELF = Shelf(
    Format,
    attribute="FORMAT",
    package="softmachine.languages",
    pattern="*/*.py",
    main=("syntax.py", "json_form.py"),
    group="softmachine.formats",
)


def formats() -> dict[str, Format]:
    """All formats that people write, by name, in the order in which they are tried. This imports every language."""
    found = sorted(_SHELF.all().values(), key=lambda entry: entry.rank)
    return {entry.name: entry for entry in found if entry.extensions}


def format_of(extension: str) -> Format | None:
    """The format of files whose names end so, with the dot. Only its own module is imported, if it is ours."""
    if not extension:
        return None
    for name in _SHELF.mentioning(f'"{extension}"'):
        entry = _SHELF.get(name)
        if entry is not None and extension in entry.extensions:
            return entry
    return next((entry for entry in formats().values() if extension in entry.extensions), None)


def text_of(data: bytes, *, format: str | None = None, source: str = "<string>") -> str:  # noqa: A002
    """The text of a file: UTF-8, or for a binary format its bytes, a character each.

    Args:
        data: The bytes of the file.
        format: The name of its format; by default it is recognised.
        source: Where it comes from: a file, or something in angle brackets.

    Raises:
        SourceError: If it is neither.
    """
    chosen = _SHELF.get(format) if format else format_of(PurePath(source).suffix.lower())
    if any(entry.is_binary(data) for entry in ([chosen] if chosen else formats().values())):
        return data.decode("latin-1")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"is not UTF-8 text (byte {error.start})", place=Place(source, line)) from None


def recognise(text: str, *, filename: str | None = None) -> str:
    """The name of the format that a text is in: what its file's extension says, or else what it looks like.

    Raises:
        SourceError: If no format fits.
    """
    by_extension = format_of(PurePath(filename or "").suffix.lower())
    if by_extension is not None:
        return by_extension.name
    for entry in formats().values():
        if entry.looks_like(text):
            return entry.name
    raise SourceError("cannot tell which format this is in", place=Place(filename or "<string>"), hint=_known())


def parse(
    text: str,
    *,
    format: str | None = None,  # noqa: A002 - the command line calls it so
    source: str = "<string>",
    name: str | None = None,
) -> Source:
    """Read a source.

    Args:
        text: The source.
        format: The name of its format; by default it is recognised.
        source: Where it comes from: a file, or something in angle brackets.
        name: What to call it; by default what it says itself, or its file.

    Raises:
        SourceError: If there is no such format, or the text is not in it.
        InvalidError: If what it describes is not valid.
    """
    chosen = format or recognise(text, filename=None if source.startswith("<") else source)
    entry = _SHELF.get(chosen)
    if entry is None or entry.name != chosen:
        raise SourceError(f"there is no format {chosen!r}", place=Place(source), hint=_known())
    return entry.parse(text, source=source, name=name)


def source_text(source: Source) -> str:
    """A source as text in the format that has the name of its language, which loses nothing but perhaps the name.

    Raises:
        UsageError: If it has no text.
    """
    entry = _SHELF.get(source.language)
    if entry is None:
        raise UsageError(f"{source.name!r} cannot be written: there is no format {source.language!r}")
    return entry.to_text(source)


def source_from(language: str, name: str, text: str) -> Source:
    """The source of this name that `source_text` wrote.

    Raises:
        SourceError: If there is no such language, or the text is not in its format.
        InvalidError: If what it describes is not valid.
    """
    return parse(text, format=language, source="<saved source>", name=name)


def json_format(name: str, to_json: Callable[[Any], dict[str, object]], from_json: Callable[[Any], Source]) -> Format:
    """The format of a language that has no text form of its own which keeps everything: JSON, for saved models."""

    def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Source:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SourceError(f"this is not JSON: {error}", place=Place(source)) from None
        if not isinstance(data, dict):
            raise SourceError("this is not a JSON object", place=Place(source))
        return from_json(data if name is None else {**data, "name": name})

    def to_text(item: Source) -> str:
        return json.dumps(to_json(item), ensure_ascii=False)

    return Format(name, (), lambda _: False, parse, to_text)


def refuse(source: Source, format_name: str, obstacles: Iterable[str]) -> None:
    """Say why a format cannot express a source, if it cannot.

    Raises:
        UsageError: If there are obstacles.
    """
    reasons = "".join(f"\n  - {obstacle}" for obstacle in obstacles)
    if reasons:
        raise UsageError(f"{source.name!r} cannot be written in the {format_name} format:{reasons}")


def _known() -> str:
    names = (f"{entry.name} ({' '.join(entry.extensions)})" for entry in formats().values())
    return f"the formats are {', '.join(names)}"
