"""Pages of docs/ that are run: their blocks of Python, and what they say is printed."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


class Page:
    """A page, with its blocks of code.

    Args:
        name: The name of its file.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = (DOCS / name).read_text(encoding="utf-8")
        self.blocks = re.findall(r"^```(\w+)\n(.*?)^```$", self.text, flags=re.MULTILINE | re.DOTALL)

    def printed(self) -> Iterator[tuple[str, str]]:
        """For each block of Python, run from top to bottom: what it prints, and what the page says that it prints."""
        names: dict[str, object] = {}
        for (language, text), (following, said) in zip(self.blocks, [*self.blocks[1:], ("", "")], strict=True):
            if language == "python":
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(compile(text, f"docs/{self.name}", "exec"), names)
                yield tidy(output.getvalue()), tidy(said) if following == "text" else ""


def tidy(text: str) -> str:
    """A text without what differs from run to run."""
    return re.sub(r"\(\d+\.\d s\)", "(0.0 s)", "\n".join(line.rstrip() for line in text.strip().splitlines()))
