"""Journal of a sweep: a file with one line per finished part, from which an interrupted sweep resumes.

The first line identifies the sweep, the version and the weights. Each further line is a part, with a digest. Only a
journal of the same sweep is appended to; a damaged one is rejected and left unchanged. The file is append-only
(:class:`softmachine.support.files.AppendOnlyFile`): an incomplete last line is overwritten.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from softmachine.support.errors import SourceError, SourceLocation, UsageError
from softmachine.support.files import AppendOnlyFile

Json: TypeAlias = dict[str, Any]
"""Result of a part, as JSON data."""
RangeFunction: TypeAlias = Callable[[int, int], Json]
"""Processes the items from ``start`` to ``stop - 1``."""


@dataclass(frozen=True)
class PartResult:
    """Result of the items from ``start`` to ``stop - 1``, with its run time in seconds."""

    start: int
    stop: int
    seconds: float
    result: Json


_lock = threading.Lock()
"""Models are prepared once per process and are not thread-safe, and a worker of a cluster may have several threads."""


def run_part(work: RangeFunction, start: int, stop: int) -> PartResult:
    """Process a part; only one at a time per process."""
    with _lock:
        began = time.perf_counter()
        result = work(start, stop)
        return PartResult(start, stop, time.perf_counter() - began, result)


FORMAT_NAME, FORMAT_VERSION = "softmachine-journal", 1


class Journal:
    """The finished parts of a sweep, stored in a file.

    Args:
        path: The file; it is created if missing.
        identification: Identification of the sweep: everything that its results depend on, by name.

    Raises:
        SourceError: If the file is not a journal, or damaged; the message gives the line.
        UsageError: If it is the journal of another sweep, or cannot be written.
    """

    def __init__(self, path: Path, identification: Mapping[str, object]) -> None:
        self.path = path
        self.parts: dict[int, PartResult] = {}
        header = {
            "format": FORMAT_NAME,
            "version": FORMAT_VERSION,
            "about": json.loads(json.dumps(dict(identification))),
        }
        self._log = AppendOnlyFile(path, _format_line(header))
        try:
            self._read_parts(header)
        except BaseException:
            self.close()
            raise

    @property
    def finished_count(self) -> int:
        """The number of finished items."""
        return sum(part.stop - part.start for part in self.parts.values())

    def append(self, part: PartResult) -> None:
        """Append a part; on return, it is on disk."""
        line = {"start": part.start, "stop": part.stop, "seconds": part.seconds, "result": part.result}
        self._log.append(_format_line(line))

    def close(self) -> None:
        """Close the file, which is complete at any time."""
        self._log.close()

    def _read_parts(self, header: Json) -> None:
        """Read and validate the lines of the file."""
        number = 0
        for number, line in enumerate(self._log.lines(), 1):
            data = self._parse_line(line, number)
            if number == 1:
                self._require_same(data, header)
            else:
                self._add_part(data, number)
        if not number:
            raise self._not_a_journal_error()

    def _parse_line(self, line: bytes, number: int) -> Json:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            data = None
        if number == 1 and (not isinstance(data, dict) or data.get("format") != FORMAT_NAME):
            raise self._not_a_journal_error()
        if not isinstance(data, dict) or _format_line({k: v for k, v in data.items() if k != "digest"}) != line:
            raise SourceError("the journal is damaged: the digest of this line is wrong", place=self._location(number))
        return data

    def _require_same(self, found: Json, header: Json) -> None:
        if found.get("version") != FORMAT_VERSION:
            raise UsageError(f"{self.path} is a journal of version {found.get('version')!r}, not {FORMAT_VERSION}")
        there, here = found.get("about"), header["about"]
        if not isinstance(there, dict):
            raise self._not_a_journal_error()
        for name in (*here, *there):
            if there.get(name) != here.get(name):
                was, now = (_abbreviate(each.get(name)) for each in (there, here))
                hint = "choose another file, or run the same sweep"
                raise UsageError(f"{self.path} is of another sweep: {name} is {was} there, {now} here", hint=hint)

    def _add_part(self, data: Json, number: int) -> None:
        part = PartResult(*(data.get(name) for name in ("start", "stop", "seconds", "result")))  # type: ignore[arg-type]
        whole = isinstance(part.start, int) and isinstance(part.stop, int) and 0 <= part.start < part.stop
        if not whole or not isinstance(part.result, dict):
            raise SourceError(
                "the journal is damaged: this line is not a part of a sweep", place=self._location(number)
            )
        if part.start in self.parts:
            raise SourceError(
                f"the journal is damaged: number {part.start:,} was done before", place=self._location(number)
            )
        self.parts[part.start] = part

    def _location(self, number: int) -> SourceLocation:
        return SourceLocation(str(self.path), number)

    def _not_a_journal_error(self) -> SourceError:
        return SourceError(
            "is not a journal of softmachine, and was left unchanged",
            place=SourceLocation(str(self.path)),
            hint="choose a new name",
        )


def _format_line(line: Json) -> bytes:
    """Format a line of JSON with its digest."""
    text = json.dumps(line, sort_keys=True)
    sealed = {**line, "digest": sha256(text.encode()).hexdigest()[:32]}
    return json.dumps(sealed, sort_keys=True).encode() + b"\n"


def _abbreviate(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]} …"
