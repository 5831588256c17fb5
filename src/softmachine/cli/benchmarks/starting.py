"""Start-up time of small commands, against an empty Python process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from softmachine.cli.benchmarks.result import ROUNDS, Result

COMMANDS = (("--version",), ("run", "palindrome", "abba", "--quiet"))


def starting() -> Iterator[Result]:
    """Measure the calls per second of processor time."""
    for arguments in COMMANDS:
        best = {"ours": float("inf"), "nothing": float("inf")}
        for _ in range(ROUNDS):
            best["nothing"] = min(best["nothing"], _seconds("-c", "pass"))
            best["ours"] = min(best["ours"], _seconds("-m", "softmachine", *arguments))
        ratios = {"python -c pass": best["nothing"] / best["ours"]}
        yield Result("starting", f"softmachine {' '.join(arguments)}", 1 / best["ours"], "calls", ratios)


def _seconds(*arguments: str) -> float:
    """Measure the processor seconds of a process; elapsed seconds where the system does not report them."""
    before = _spent()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return _spent() - before


def _spent() -> float:
    try:
        import resource
    except ImportError:
        return time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
