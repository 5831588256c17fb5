"""Reads sources: from the zoo, a file, standard input, or a string in a one-line format."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from softmachine.languages import formats, zoo
from softmachine.languages.source import Source
from softmachine.support.errors import SourceError, SourceLocation
from softmachine.support.text import did_you_mean
from softmachine.theorems import source_of_theorem

MAX_SOURCE_BYTES = 1 << 20
"""Maximal size of a source in bytes."""
MAX_COMPARED = 1000
"""Maximal number of files whose names are compared with that of a missing one."""


def read_source(source: str, format: str | None = None) -> Source:  # noqa: A002
    """Read and parse a source.

    Args:
        source: The name of a zoo entry or of a theorem about one language, the path of a file or a pipe, "-"
            for standard input, or text in a one-line format.
        format: The name of the format; by default it is detected.

    Raises:
        SourceError: If the source does not exist or cannot be read.
    """
    if not source.strip():
        raise SourceError("the source is empty", hint="`softmachine zoo` lists the bundled sources")
    entry = zoo.find_entry(source)
    if entry is not None:
        return formats.parse(entry.read_text(), format=format, source=f"zoo/{entry.file}", name=entry.name)
    if source == "-":
        return _parse_stream(sys.stdin.buffer.read(MAX_SOURCE_BYTES + 1), format, "<stdin>", "standard input")
    path = Path(source)
    try:
        is_file, is_folder, is_pipe = path.is_file(), path.is_dir(), path.is_fifo()
    except (OSError, ValueError):
        is_file = is_folder = is_pipe = False
    if (
        (is_folder or (is_file and not path.suffix))
        and format is None
        and (own := source_of_theorem(source)) is not None
    ):
        return own  # a theorem's name, like a zoo entry's, takes precedence over what is in the working directory
    if is_pipe:  # <(…) in a shell
        return _parse_stream(_read_bytes(path), format, "<pipe>", f"the pipe {source}")
    if is_file:
        text = formats.decode_source(_require_size(_read_bytes(path), source), format=format, source=source)
        return formats.parse(text, format=format, source=source)
    if is_folder:
        raise SourceError(
            "this is a folder, but not a model written by `softmachine compile`", place=SourceLocation(source)
        )
    if format is not None or _is_one_line(source):
        return formats.parse(source, format=format)
    own = source_of_theorem(source)
    if own is not None:
        return own
    hint = did_you_mean(source, (*_files_beside(path), *zoo.names()), "`softmachine zoo` lists the bundled sources")
    raise SourceError(f"{source!r} is not in the zoo, not a file, and not in a one-line format", hint=hint)


def _files_beside(path: Path) -> Iterator[str]:
    """The files in the folder of a missing file, to be suggested in its place."""
    try:
        for other in islice(path.parent.iterdir(), MAX_COMPARED):
            if other.is_file() and other.suffix:
                yield str(path.with_name(other.name))
    except (OSError, ValueError):
        return


def _parse_stream(data: bytes, format: str | None, source: str, description: str) -> Source:  # noqa: A002
    """Parse a source from a stream, whose format is detected from its content."""
    text = formats.decode_source(_require_size(data, source), format=format, source=source)
    if not text.strip():
        raise SourceError(f"{description} is empty")
    return formats.parse(text, format=format, source=source)


def _is_one_line(text: str) -> bool:
    """Whether the text is a source in a one-line format."""
    try:
        formats.recognise(text)
    except SourceError:
        return False
    return True


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", place=SourceLocation(str(path))) from None


def _require_size(data: bytes, source: str) -> bytes:
    if len(data) > MAX_SOURCE_BYTES:
        raise SourceError(f"the source is longer than {MAX_SOURCE_BYTES >> 20} MiB", place=SourceLocation(source))
    return data
