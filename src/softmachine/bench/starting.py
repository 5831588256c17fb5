"""How soon a small command answers, against a Python that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from softmachine.bench.result import ROUNDS, Result

COMMANDS = (("--version",), ("run", "palindrome", "abba", "--quiet"))


def starting() -> Iterator[Result]:
    """Calls a second, in seconds of a core."""
    for arguments in COMMANDS:
        best = {"ours": float("inf"), "nothing": float("inf")}
        for _ in range(ROUNDS):
            best["nothing"] = min(best["nothing"], _seconds("-c", "pass"))
            best["ours"] = min(best["ours"], _seconds("-m", "softmachine", *arguments))
        ratios = {"python -c pass": best["nothing"] / best["ours"]}
        yield Result("starting", f"softmachine {' '.join(arguments)}", 1 / best["ours"], "calls", ratios)


def _seconds(*arguments: str) -> float:
    began = os.times()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    ended = os.times()
    spent = ended.children_user + ended.children_system - began.children_user - began.children_system
    return max(spent, 1e-9)
