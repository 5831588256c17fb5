"""Record the digests anew: ``python -m tests.digests.record``.

Only in a commit of its own that says why the weights are others now. With words, only those cases are recorded whose
names have all the words, e.g. ``python -m tests.digests.record palindrome ternary``; the others stay as they are. What
has the digest that it had keeps its line, seconds included.
"""

from __future__ import annotations

import json
import sys
import time
from multiprocessing import Pool
from pathlib import Path

from tests.digests.cases import LEFT_OUT, Case, cases

RECORDED = Path(__file__).with_name("recorded.json")


def recorded() -> dict[str, tuple[str, float]]:
    """For each case the digest and the seconds that it took."""
    data = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    return {key: (digest, seconds) for key, (digest, seconds) in data.items()}


def timed(case: Case) -> tuple[str, str, float]:
    """The name of a case, its digest, and the seconds of the processor that it takes."""
    start = time.process_time()
    digest = case.digest()
    return str(case), digest, round(time.process_time() - start, 2)


def main(words: list[str]) -> None:
    """Record all cases, or those with these words."""
    existing = list(cases())
    before = recorded()
    record = {key: before.get(key, (LEFT_OUT, 0)) for key in map(str, existing)}
    wanted = [case for case in existing if all(word in str(case) for word in words)]
    with Pool(2) as pool:
        for count, (key, digest, seconds) in enumerate(pool.imap_unordered(timed, wanted), start=1):
            if record[key][0] != digest:
                record[key] = (digest, seconds)
            if seconds > 2:
                print(f"{count} of {len(wanted)}: {key}, {seconds} s", file=sys.stderr, flush=True)
                write(record)
    write(record)


def write(record: dict[str, tuple[str, float]]) -> None:
    """One case a line, in the order of their names."""
    rows = (f"  {_json(key)}: {_json(record[key])}" for key in sorted(record))
    RECORDED.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main(sys.argv[1:])
