"""File loader of the statement ``load "file";``, restricted to the folder of the loading file and its subfolders."""

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
    """Parses the files that a program loads.

    Args:
        source: The origin of the program text.
        statements: Parser of the text of a file.
    """

    def __init__(self, source: str, statements: Callable[[str], tuple[Statement, ...]]) -> None:
        self.source = source
        self._statements = statements
        self._count = 0

    def __call__(self, file: str, at: At) -> tuple[Statement, ...]:
        """Parse a file into statements.

        Raises:
            Mistake: If the file does not exist, or cannot be read or parsed.
        """
        self._count += 1
        if self._count > MOST_FILES:
            raise Mistake(
                f"more than {MOST_FILES} files are loaded", at.line, at.column, "check for files that load each other"
            )
        try:
            return self._statements(self._text(file, at))
        except Mistake as error:
            if error.line == at.line and error.column == at.column:
                raise
            message = f"in {file!r}, line {error.line}: {error.message}"
            raise Mistake(message, at.line, at.column, error.hint) from None

    def _text(self, file: str, at: At) -> str:
        name = file if file.endswith(EXTENSION) else file + EXTENSION
        if self.source.startswith("<") or not Path(self.source).is_file():
            raise Mistake(
                "only a program in a file can load other files", at.line, at.column, "save the program to a file first"
            )
        folder = Path(self.source).resolve().parent
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            hint = "move it to the folder of the loading file or a subfolder"
            raise Mistake(f"{file!r} is outside the folder of the loading file", at.line, at.column, hint)
        try:
            with path.open(encoding="utf-8") as opened:
                text = opened.read(LARGEST_SOURCE + 1)
        except (OSError, UnicodeDecodeError, ValueError):
            raise Mistake(
                f"{name!r} cannot be read",
                at.line,
                at.column,
                f"expected a readable file of this name in {folder.name}",
            ) from None
        if len(text) > LARGEST_SOURCE:
            raise Mistake(f"{name!r} is longer than {LARGEST_SOURCE:,} characters", at.line, at.column)
        return text
