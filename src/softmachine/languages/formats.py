"""Registry of source formats: recognising, parsing and printing.

The built-in formats are in `softmachine.languages.builtin_formats`; the format named after a language is lossless.
Other packages add formats by entry points, see `softmachine.support.plugins`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Protocol

from softmachine.languages.source import Source
from softmachine.support.errors import SourceError, SourceLocation, UsageError
from softmachine.support.plugins import Registry
from softmachine.support.text import did_you_mean


class Parser(Protocol):
    """The parser of a format."""

    def __call__(self, text: str, *, source: str = "<string>", name: str | None = None) -> Source:
        """Parse a text.

        Args:
            text: The text.
            source: Origin for messages: a file name, or a description in angle brackets.
            name: Name of the result; by default the name in the text, or the file name.

        Raises:
            SourceError: If the text is not in the format.
            InvalidError: If the text describes an invalid object.
        """
        ...


@dataclass(frozen=True)
class Format:
    """A source format with its recogniser, parser and printer.

    Args:
        name: Name of the format.
        extensions: File name extensions, with the dot; empty for formats that only saved models use.
        looks_like: Heuristic recogniser; also accepts texts with syntax errors.
        parse: The parser.
        to_text: The printer; raises a `UsageError` with the reason for a source that the format cannot express.
        rank: Formats are tried in ascending order; more specific formats come first.
        magic: First bytes of binary files, if the format has any. Binary files are decoded as Latin-1.
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


_REGISTRY = Registry(
    Format,
    attribute="FORMATS",
    package="softmachine.languages",
    pattern="builtin_formats.py",
    group="softmachine.formats",
)


def formats() -> dict[str, Format]:
    """All formats with file extensions by name, in the order in which they are tried."""
    found = sorted(_REGISTRY.load_all(), key=lambda entry: entry.rank)
    return {entry.name: entry for entry in found if entry.extensions}


def format_by_extension(extension: str) -> Format | None:
    """The format with this extension (including the dot); built-in formats take precedence over entry points."""
    if not extension:
        return None
    fitting = (entry for entry in _REGISTRY.load_all(include_entry_points=False) if extension in entry.extensions)
    return next(fitting, None) or next((entry for entry in formats().values() if extension in entry.extensions), None)


def decode_source(data: bytes, *, format: str | None = None, source: str = "<string>") -> str:  # noqa: A002
    """Decode a file: as UTF-8, or as Latin-1 if it is in a binary format.

    Args:
        data: The contents of the file.
        format: Name of the format; by default it is recognised.
        source: Origin: a file name, or a description in angle brackets.

    Raises:
        SourceError: If the file is neither binary nor UTF-8.
    """
    chosen = _REGISTRY.find(format) if format else format_by_extension(PurePath(source).suffix.lower())
    if any(entry.is_binary(data) for entry in ([chosen] if chosen else formats().values())):
        return data.decode("latin-1")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"is not UTF-8 text (byte {error.start})", place=SourceLocation(source, line)) from None


def recognise(text: str, *, filename: str | None = None) -> str:
    """Recognise the format of a text, by the file name extension or else by content.

    Raises:
        SourceError: If no format fits.
    """
    by_extension = format_by_extension(PurePath(filename or "").suffix.lower())
    if by_extension is not None:
        return by_extension.name
    for entry in formats().values():
        if entry.looks_like(text):
            return entry.name
    raise SourceError("unknown source format", place=SourceLocation(filename or "<string>"), hint=_list_formats())


def parse(
    text: str,
    *,
    format: str | None = None,  # noqa: A002 - the name of the command-line option
    source: str = "<string>",
    name: str | None = None,
) -> Source:
    """Parse a source.

    Args:
        text: The text.
        format: Name of the format; by default it is recognised.
        source: Origin: a file name, or a description in angle brackets.
        name: Name of the result; by default the name in the text, or the file name.

    Raises:
        SourceError: If the format does not exist, or the text is not in it.
        InvalidError: If the text describes an invalid object.
    """
    chosen = format or recognise(text, filename=None if source.startswith("<") else source)
    return format_by_name(chosen, source).parse(text, source=source, name=name)


def format_by_name(name: str, source: str = "<string>") -> Format:
    """The format of this name.

    Raises:
        SourceError: If the format does not exist; the message gives ``source`` as the place.
    """
    entry = _REGISTRY.find(name)
    if entry is None:
        hint = did_you_mean(name, formats()) or _list_formats()
        raise SourceError(f"unknown format {name!r}", place=SourceLocation(source), hint=hint)
    return entry


def serialise_source(source: Source) -> str:
    """Print a source in the format named after its language, which is lossless except possibly for the name.

    Raises:
        UsageError: If the source has no text form.
    """
    entry = _REGISTRY.find(source.language)
    if entry is None:
        raise UsageError(f"{source.name!r} cannot be written: there is no format {source.language!r}")
    return entry.to_text(source)


def deserialise_source(language: str, name: str, text: str) -> Source:
    """Parse the output of `serialise_source`.

    Raises:
        SourceError: If the language does not exist, or the text is not in its format.
        InvalidError: If the text describes an invalid object.
    """
    return parse(text, format=language, source="<saved source>", name=name)


def make_json_codec(
    description: str, to_json: Callable[[Any], dict[str, object]], from_json: Callable[[Any], Source]
) -> tuple[Parser, Callable[[Any], str]]:
    """Build parser and printer of the JSON form that saved models use for a language without a lossless text form.

    Args:
        description: What the JSON form describes, as in "a circuit".
        to_json: Converts a source to dictionaries, lists and strings.
        from_json: The inverse; raises a KeyError, TypeError or ValueError for other data.
    """

    def parse_json(text: str, *, source: str = "<string>", name: str | None = None) -> Source:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SourceError(f"this is not JSON: {error}", place=SourceLocation(source)) from None
        if not isinstance(data, dict):
            raise SourceError("this is not a JSON object", place=SourceLocation(source))
        try:
            return from_json(data if name is None else {**data, "name": name})
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(f"this is not {description} in JSON: {error!r}", place=SourceLocation(source)) from None

    def format_json(item: Source) -> str:
        return json.dumps(to_json(item), ensure_ascii=False)

    return parse_json, format_json


def raise_inexpressible(source: Source, format_name: str, obstacles: Iterable[str]) -> None:
    """Raise an error that lists the reasons why a format cannot express a source.

    Raises:
        UsageError: If there is at least one reason.
    """
    reasons = "".join(f"\n  - {obstacle}" for obstacle in obstacles)
    if reasons:
        raise UsageError(f"{source.name!r} cannot be written in the {format_name} format:{reasons}")


def _list_formats() -> str:
    names = (f"{entry.name} ({' '.join(entry.extensions)})" for entry in formats().values())
    return f"the formats are {', '.join(names)}"
