"""Record the certificates: ``python -m tests.certified.record``, only in a commit of its own that gives the reason.

With words, only the rows whose names have all the words are recorded, e.g. ``python -m tests.certified.record
palindrome ternary``. With ``--missing``, only rows that have not been recorded yet.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.certified.cases import Case, Row, cases

RECORDED = Path(__file__).with_name("recorded.json")
MISSING = "--missing"


def recorded() -> dict[str, Row]:
    """The table; the key "seconds" of a row is the processor time that it takes."""
    data: dict[str, Row] = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    return data


def measured(case: Case) -> Row:
    """A row, with its processor time."""
    start = time.process_time()
    row = case.row()
    return {**row, "seconds": round(time.process_time() - start, 2)}


def main(words: list[str]) -> None:
    """Record all rows, or those with these words."""
    existing = {str(case): case for case in cases()}
    before = recorded()
    table = {key: before[key] for key in existing if key in before}
    wanted = [word for word in words if word != MISSING]
    for key, case in existing.items():
        if all(word in key for word in wanted) and not (MISSING in words and key in table):
            table[key] = measured(case)
            if table[key]["seconds"] > 2:
                print(f"{key}: {table[key]['seconds']} s", file=sys.stderr, flush=True)
                write(table)
    write(table)


def write(table: dict[str, Row]) -> None:
    """One line per row, in the order of their names."""
    rows = (f"  {_json(key)}: {_json(table[key])}" for key in sorted(table))
    RECORDED.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main(sys.argv[1:])
