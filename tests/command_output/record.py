"""Record the output of the commands anew: ``python -m tests.command_output.record [TEXT ...]``.

With TEXT, only the lines of ``commands.txt`` that contain it (or are in the section of that name) are recorded anew,
and lines that have no record yet; without, all of them. Records of lines that are gone are dropped. ``--missing``
records only what has no record yet.

Record anew only in a commit of its own whose message gives the change and the reason.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from tests.command_output.commands import RECORDED, Line, execute, format_results, lines, load_record, summarise

SLOW = 0.7
"""Seconds from which a line is printed."""


def main(selected: list[str]) -> None:
    """Record the selected lines."""
    sections: dict[str, list[Line]] = {}
    for line in lines():
        sections.setdefault(line.section, []).append(line)
    RECORDED.mkdir(exist_ok=True)
    for file in RECORDED.glob("*.json"):
        if file.stem not in sections:
            file.unlink()
    for section, members in sections.items():
        old = load_record(section)
        new = {}
        for line in members:
            chosen = not selected or any(text == section or text in line.text for text in selected)
            new[line.text] = _record(line, old.get(line.text)) if chosen or line.text not in old else old[line.text]
        text = json.dumps(new, ensure_ascii=False, indent=1)
        (RECORDED / f"{section}.json").write_text(text + "\n", encoding="utf-8")


def _record(line: Line, before: list[dict[str, object]] | None) -> list[dict[str, object]]:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        results = summarise(execute(line, Path(folder).resolve()))
    seconds = time.perf_counter() - began
    note = "new" if before is None else "same" if format_results(before) == format_results(results) else "CHANGED"
    if note != "same" or seconds > SLOW:
        print(f"{note:<8}{seconds:6.2f} s  {[one['status'] for one in results]}  {line.text}")
    return results


if __name__ == "__main__":
    main([text for text in sys.argv[1:] if text != "--missing"] or (["\0"] if "--missing" in sys.argv else []))
