"""The formats that sources come in: which are there, which one a text is in, and how to read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Protocol

from softmachine.errors import Place, SourceError
from softmachine.languages import counter, crasp, graph, srasp, temporal
from softmachine.languages.circuit import aiger, bench, blif, bristol
from softmachine.languages.source import Source
from softmachine.languages.turing import bbchallenge, jflap, turingmachine_io


class Parser(Protocol):
    """What reads a format."""

    def __call__(self, text: str, *, source: str = "<string>", name: str | None = None) -> Source:
        """What a text describes."""
        ...


@dataclass(frozen=True)
class Format:
    """A format: how to recognise it, how to read it and how to write it.

    Args:
        name: What people call it.
        extensions: How names of files in it end, with the dot.
        looks_like: Whether a text is meant to be in it, though there may be a mistake in it.
        parse: From text to what it describes.
        to_text: From what it describes to text.
    """

    name: str
    extensions: tuple[str, ...]
    looks_like: Callable[[str], bool]
    parse: Parser
    to_text: Callable[[Any], str]


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format("bbchallenge", (".bb",), bbchallenge.looks_like, bbchallenge.parse, bbchallenge.to_text),
        Format("jflap", (".jff",), jflap.looks_like, jflap.parse, jflap.to_text),
        Format(
            "turingmachine.io",
            (".yaml", ".yml"),
            turingmachine_io.looks_like,
            turingmachine_io.parse,
            turingmachine_io.to_text,
        ),
        Format("srasp", (".srasp",), srasp.looks_like, srasp.parse, srasp.to_text),
        Format("counter", (".cm",), counter.looks_like, counter.parse, counter.to_text),
        Format("crasp", (".crasp",), crasp.looks_like, crasp.parse, crasp.to_text),
        Format("bench", (".bench",), bench.looks_like, bench.parse, bench.to_text),
        Format("blif", (".blif",), blif.looks_like, blif.parse, blif.to_text),
        Format("aiger", (".aag",), aiger.looks_like, aiger.parse, aiger.to_text),
        Format("bristol", (".bristol",), bristol.looks_like, bristol.parse, bristol.to_text),
        Format("temporal", (".ltl",), temporal.looks_like, temporal.parse, temporal.to_text),
        Format("edges", (".edges",), graph.looks_like, graph.parse, graph.to_text),
    )
}


def recognise(text: str, *, filename: str | None = None) -> str:
    """The name of the format that a text is in: what its file's extension says, or else what it looks like.

    Raises:
        SourceError: If no format fits.
    """
    extension = PurePath(filename or "").suffix.lower()
    for entry in FORMATS.values():
        if extension in entry.extensions:
            return entry.name
    for entry in FORMATS.values():
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
    if chosen not in FORMATS:
        raise SourceError(f"there is no format {chosen!r}", place=Place(source), hint=_known())
    return FORMATS[chosen].parse(text, source=source, name=name)


def _known() -> str:
    names = (f"{entry.name} ({' '.join(entry.extensions)})" for entry in FORMATS.values())
    return f"the formats are {', '.join(names)}"
