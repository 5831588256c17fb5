"""The gallery: pages of runs, as ``softmachine gallery`` writes them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import softmachine as sm


@cache
def pages() -> dict[str, str]:
    """Return the pages, including the index, as file name → HTML."""
    with TemporaryDirectory() as folder:
        sm.gallery(Path(folder) / "gallery")
        return {file.name: file.read_text(encoding="utf-8") for file in sorted(Path(folder).glob("gallery/*.html"))}
