"""Processor time of small commands, compared with another checkout, alternately in one run.

    python benchmarks/startup.py [OTHER_SRC] [ROUNDS]

OTHER_SRC is the ``src`` folder of another checkout; the default is to compare with ``python -c pass``.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "src"
COMMANDS = (["--help"], ["run", "palindrome", "abba"], ["run", "Q_a since Q_b", "aabaa"], ["zoo", "--quiet"])
COUNT = """
import sys, softmachine.cli
softmachine.cli.main(sys.argv[1:])
print(sum(name.startswith("softmachine") for name in sys.modules))
"""


def seconds(source: Path | None, arguments: list[str]) -> float:
    command = [sys.executable, "-c", "pass"] if source is None else [sys.executable, "-m", "softmachine", *arguments]
    began = os.times()
    subprocess.run(command, env=environment(source), stdout=subprocess.DEVNULL, check=True)
    ended = os.times()
    return ended.children_user + ended.children_system - began.children_user - began.children_system


def modules(source: Path, arguments: list[str]) -> int:
    command = [sys.executable, "-c", COUNT, *arguments]
    printed = subprocess.run(command, env=environment(source), capture_output=True, text=True, check=True).stdout
    return int(printed.split()[-1])


def environment(source: Path | None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(source or HERE)}


def main() -> None:
    other = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    for arguments in COMMANDS:
        mine, theirs = [], []
        for _ in range(rounds):
            theirs.append(seconds(other, arguments))
            mine.append(seconds(HERE, arguments))
        here, there = statistics.median(mine), statistics.median(theirs)
        counts = f"{modules(HERE, arguments)} modules" + (f" against {modules(other, arguments)}" if other else "")
        print(f"{' '.join(arguments):<30} {here:6.3f} s against {there:6.3f} s: {here / there:5.2f}; {counts}")


if __name__ == "__main__":
    main()
