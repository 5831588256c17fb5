"""The journal of a sweep: a file with a line for each part that is done, from which an interrupted sweep goes on.

The first line says which sweep it is, by which version, of which weights. Each further line is a part, with a digest.
Only a file that begins as one of ours, about the same sweep, is ever added to; one that is damaged is refused, and left
as it is. The last line may be torn, if that is where the sweep was interrupted: it is written anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import IO

from softmachine.errors import Place, SourceError, UsageError
from softmachine.workers.part import Json, Part

FORMAT, VERSION = "softmachine-journal", 1
LONGEST = 1 << 26
"""No line of ours has more bytes."""


class Journal:
    """What is done of a sweep, kept in a file.

    Args:
        path: The file; it is made if there is none.
        about: Which sweep it is: whatever its results depend on, by name.

    Raises:
        SourceError: If the file is not a journal, or damaged; it names the line.
        UsageError: If it is the journal of another sweep, or cannot be written.
    """

    def __init__(self, path: Path, about: Mapping[str, object]) -> None:
        self.path = path
        self.parts: dict[int, Part] = {}
        header = {"format": FORMAT, "version": VERSION, "about": json.loads(json.dumps(dict(about)))}
        try:
            self._file = self._opened(header)
        except OSError as error:
            raise UsageError(f"cannot write the journal {path}: {error.strerror or error}") from None

    @property
    def count(self) -> int:
        """How many things are done."""
        return sum(part.stop - part.start for part in self.parts.values())

    def add(self, part: Part) -> None:
        """Keep a part; when this returns, it is in the file."""
        self._write({"start": part.start, "stop": part.stop, "seconds": part.seconds, "result": part.result})

    def close(self) -> None:
        """The file is as it should be at any time; nothing more is written."""
        self._file.close()

    def _write(self, line: Json) -> None:
        try:
            self._file.write(_sealed(line))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise UsageError(f"cannot write the journal {self.path}: {error.strerror or error}") from None

    def _opened(self, header: Json) -> IO[bytes]:
        try:
            file = self.path.open("xb")
        except FileExistsError:
            return self._continued(header)
        self._lock(file)
        file.write(_sealed(header))
        file.flush()
        return file

    def _continued(self, header: Json) -> IO[bytes]:
        """The file, to be added to behind its last whole line."""
        if not self.path.is_file():
            raise SourceError("is no file", place=Place(str(self.path)))
        file = self.path.open("r+b")
        try:
            self._lock(file)
            end = self._end(file, header)
            file.truncate(end)
            file.seek(end)
        except BaseException:
            file.close()
            raise
        return file

    def _end(self, file: IO[bytes], header: Json) -> int:
        """Where the last whole line ends; all parts before it are known then."""
        end = 0
        for number, line in enumerate(_lines(file), 1):
            if number > 1 and not line.endswith(b"\n"):
                break  # torn when the sweep was interrupted
            data = self._read(line, number)
            if number == 1:
                self._require_same(data, header)
            else:
                self._know(data, number)
            end += len(line)
        if not end:
            raise self._foreign()
        return end

    def _lock(self, file: IO[bytes]) -> None:
        """See that nobody else adds to the file, where the system can tell."""
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"somebody else is writing the journal {self.path}") from None
        except OSError:  # there are file systems without locks
            return

    def _read(self, line: bytes, number: int) -> Json:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            data = None
        if number == 1 and (not isinstance(data, dict) or data.get("format") != FORMAT):
            raise self._foreign()
        if not isinstance(data, dict) or _sealed({k: v for k, v in data.items() if k != "digest"}) != line:
            raise SourceError("the journal is damaged: this line is not what was written", place=self._at(number))
        return data

    def _require_same(self, found: Json, header: Json) -> None:
        if found.get("version") != VERSION:
            raise UsageError(f"{self.path} is a journal of version {found.get('version')!r}, not {VERSION}")
        there, here = found.get("about"), header["about"]
        if not isinstance(there, dict):
            raise self._foreign()
        for name in (*here, *there):
            if there.get(name) != here.get(name):
                was, now = (_short(each.get(name)) for each in (there, here))
                hint = "choose another file for it, or ask for the same sweep"
                raise UsageError(f"{self.path} is of another sweep: {name} is {was} there, {now} here", hint=hint)

    def _know(self, data: Json, number: int) -> None:
        part = Part(*(data.get(name) for name in ("start", "stop", "seconds", "result")))  # type: ignore[arg-type]
        whole = isinstance(part.start, int) and isinstance(part.stop, int) and 0 <= part.start < part.stop
        if not whole or not isinstance(part.result, dict):
            raise SourceError("the journal is damaged: this is no part of a sweep", place=self._at(number))
        if part.start in self.parts:
            raise SourceError(f"the journal is damaged: number {part.start:,} was done before", place=self._at(number))
        self.parts[part.start] = part

    def _at(self, number: int) -> Place:
        return Place(str(self.path), number)

    def _foreign(self) -> SourceError:
        return SourceError(
            "is not a journal of softmachine, and was left as it is",
            place=Place(str(self.path)),
            hint="choose a name that nothing has",
        )


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(LONGEST):
        yield line


def _sealed(line: Json) -> bytes:
    """A line of JSON with its own digest."""
    text = json.dumps(line, sort_keys=True)
    sealed = {**line, "digest": sha256(text.encode()).hexdigest()[:32]}
    return json.dumps(sealed, sort_keys=True).encode() + b"\n"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]} …"
