"""``load "file";``: the statements of another file, which lies beside the one that loads it or below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from softmachine.languages.rasp.trees import At, Statement
from softmachine.languages.source import LARGEST_SOURCE
from softmachine.languages.text.mistakes import Mistake

MOST_FILES: Final = 20
EXTENSION: Final = ".rasp"


class Loader:
    """Reads the files that a text loads.

    Args:
        source: Where the text comes from.
        statements: What is read of the text of a file.
    """

    def __init__(self, source: str, statements: Callable[[str], tuple[Statement, ...]]) -> None:
        self.source = source
        self._statements = statements
        self._count = 0

    def __call__(self, file: str, at: At) -> tuple[Statement, ...]:
        """The statements of a file.

        Raises:
            Mistake: If there is no such file, or it cannot be read.
        """
        self._count += 1
        if self._count > MOST_FILES:
            raise Mistake(f"more than {MOST_FILES} files are loaded", at.line, at.column, "do they load each other?")
        try:
            return self._statements(self._text(file, at))
        except Mistake as mistake:
            if mistake.line == at.line and mistake.column == at.column:
                raise
            message = f"in {file!r}, line {mistake.line}: {mistake.message}"
            raise Mistake(message, at.line, at.column, mistake.hint) from None

    def _text(self, file: str, at: At) -> str:
        name = file if file.endswith(EXTENSION) else file + EXTENSION
        if self.source.startswith("<") or not Path(self.source).is_file():
            raise Mistake("only a text in a file can load others", at.line, at.column, "save it as a file first")
        folder = Path(self.source).resolve().parent
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            hint = "a file that is loaded lies beside the one that loads it, or below"
            raise Mistake(f"{file!r} lies elsewhere", at.line, at.column, hint)
        try:
            with path.open(encoding="utf-8") as opened:
                text = opened.read(LARGEST_SOURCE + 1)
        except (OSError, UnicodeDecodeError, ValueError):
            raise Mistake(
                f"{name!r} cannot be read", at.line, at.column, f"there should be such a file in {folder.name}"
            ) from None
        if len(text) > LARGEST_SOURCE:
            raise Mistake(f"{name!r} is longer than {LARGEST_SOURCE:,} characters", at.line, at.column)
        return text
