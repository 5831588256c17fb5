"""The gallery: pages of runs, as ``softmachine gallery`` writes them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from softmachine import api as showing


@cache
def pages() -> dict[str, str]:
    """Their names and what is in them, the index among them."""
    with TemporaryDirectory() as folder:
        showing.gallery(Path(folder) / "gallery")
        return {file.name: file.read_text(encoding="utf-8") for file in sorted(Path(folder).glob("gallery/*.html"))}
