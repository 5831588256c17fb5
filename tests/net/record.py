"""Record anew what the commands print: ``python -m tests.net.record [TEXT ...]``.

With TEXT, only the lines of ``commands.txt`` that contain it (or are in the section of that name) are recorded anew,
and lines that have no record yet; without, all of them. Records of lines that are gone are dropped. ``--missing``
records only what has no record yet.

The record is the behaviour that users see. Record anew only in a commit of its own that says what changed and why.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from tests.net.commands import RECORDED, Line, carried_out, lines, recorded, shown

SLOW = 0.7
"""Lines that take more seconds are named."""


def main(wanted: list[str]) -> None:
    """Record the lines that are wanted."""
    sections: dict[str, list[Line]] = {}
    for line in lines():
        sections.setdefault(line.section, []).append(line)
    RECORDED.mkdir(exist_ok=True)
    for file in RECORDED.glob("*.json"):
        if file.stem not in sections:
            file.unlink()
    for section, members in sections.items():
        old = recorded(section)
        new = {}
        for line in members:
            chosen = not wanted or any(text == section or text in line.text for text in wanted)
            new[line.text] = _did(line, old.get(line.text)) if chosen or line.text not in old else old[line.text]
        text = json.dumps(new, ensure_ascii=False, indent=1)
        (RECORDED / f"{section}.json").write_text(text + "\n", encoding="utf-8")


def _did(line: Line, before: list[dict[str, object]] | None) -> list[dict[str, object]]:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        did = carried_out(line, Path(folder).resolve())
    seconds = time.perf_counter() - began
    note = "new" if before is None else "same" if shown(before) == shown(did) else "CHANGED"
    if note != "same" or seconds > SLOW:
        print(f"{note:<8}{seconds:6.2f} s  {[one['status'] for one in did]}  {line.text}")
    return did


if __name__ == "__main__":
    main([text for text in sys.argv[1:] if text != "--missing"] or (["\0"] if "--missing" in sys.argv else []))
