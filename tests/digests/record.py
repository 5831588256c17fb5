"""Record the digests of names: ``python -m tests.digests.record``. Recorded numbers are kept, and must agree.

With words, only the cases whose names have all the words are recorded, e.g. ``python -m tests.digests.record palindrome
ternary``. Where the numbers of a case differ from the record, it stays as it is and the exit status is 1. With
``--numbers``, new numbers are recorded: only in a commit of its own that gives the reason.
"""

from __future__ import annotations

import json
import sys
import time
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

from tests.digests.cases import LEFT_OUT, Case, cases

RECORDED = Path(__file__).with_name("recorded.json")
NUMBERS = "--numbers"


class Line(NamedTuple):
    """What is recorded of a case: the digests of its numbers and its names, and the processor seconds."""

    numbers: str = LEFT_OUT
    names: str = LEFT_OUT
    seconds: float = 0.0


def recorded() -> dict[str, Line]:
    """The record."""
    data = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    return {key: Line(*line) for key, line in data.items()}


def measured(case: Case) -> tuple[str, Line]:
    """The name of a case and its line."""
    start = time.process_time()
    digests = case.digests()
    return str(case), Line(*digests, round(time.process_time() - start, 2))


def updated(old: Line, new: Line, *, numbers: bool) -> Line:
    """The line to record; the old one if nothing changed, or if numbers changed and may not."""
    if old[:2] == new[:2] or (old.numbers not in (new.numbers, LEFT_OUT) and not numbers):
        return old
    return new


def main(words: list[str]) -> int:
    """Record all cases, or those with these words; 1 if numbers differ and may not."""
    numbers = NUMBERS in words
    wanted_words = [word for word in words if word != NUMBERS]
    existing = list(cases())
    before = recorded()
    record = {key: before.get(key, Line()) for key in map(str, existing)}
    wanted = [case for case in existing if all(word in str(case) for word in wanted_words)]
    different = 0
    with Pool(2) as pool:
        for count, (key, line) in enumerate(pool.imap_unordered(measured, wanted), start=1):
            record[key] = updated(record[key], line, numbers=numbers)
            if record[key].numbers != line.numbers:
                different += 1
                print(f"the numbers of {key} differ from the record", file=sys.stderr, flush=True)
            if line.seconds > 2:
                print(f"{count} of {len(wanted)}: {key}, {line.seconds} s", file=sys.stderr, flush=True)
                write(record)
    write(record)
    return int(different > 0)


def write(record: dict[str, Line]) -> None:
    """One line per case, in the order of their names."""
    rows = (f"  {_json(key)}: {_json(record[key])}" for key in sorted(record))
    RECORDED.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
