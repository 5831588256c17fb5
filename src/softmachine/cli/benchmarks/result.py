"""What a benchmark found: how fast it is, and how many times faster than something else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

ROUNDS = 3


@dataclass(frozen=True)
class Result:
    """How fast something is.

    Args:
        benchmark: The name of the benchmark.
        subject: What was measured.
        rate: How many a second.
        unit: Of what.
        ratios: How many times faster it is than what has this name; below 1, how many times slower.
        notes: What could not be measured, and why.
    """

    benchmark: str
    subject: str
    rate: float
    unit: str
    ratios: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "benchmark": self.benchmark,
            "subject": self.subject,
            "unit": self.unit,
            "rate": self.rate,
            "ratios": dict(self.ratios),
        }


def alternately(*actions: Callable[[], object]) -> list[float]:
    """How many seconds of a core each action takes, at best, when they are done in turn."""
    best = [float("inf")] * len(actions)
    for _ in range(ROUNDS):
        for number, action in enumerate(actions):
            began = time.process_time()
            action()
            best[number] = min(best[number], time.process_time() - began)
    return [max(each, 1e-9) for each in best]


def table(results: Sequence[Result]) -> str:
    """Results for people: a line each, below what those of their benchmark are compared with."""
    blocks = (_block(name, list(alike)) for name, alike in groupby(results, lambda result: result.benchmark))
    return "\n\n".join(blocks)


def _block(name: str, results: Sequence[Result]) -> str:
    """The results of one benchmark; a dash where there is nothing to compare with."""
    against = list(dict.fromkeys(name for result in results for name in result.ratios))
    rows = [[name, "rate", *(f"against {other}" for other in against)]]
    for result in results:
        ratios = (ratio(result.ratios[other]) if other in result.ratios else "–" for other in against)
        rows.append([result.subject, f"{figures(result.rate)} {result.unit}/s", *ratios])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    )


def ratio(value: float) -> str:
    """A ratio for people: "× 1,200", or "1/2.6" for what is slower."""
    return f"× {figures(value)}" if value >= 1 else f"1/{figures(1 / value)}"


def figures(value: float) -> str:
    """A number with as many digits as a measurement is good for."""
    if value < 10:
        return f"{value:.2g}" if value < 1 else f"{value:.1f}"
    digits = len(str(int(value)))
    return f"{round(value, 2 - digits):,.0f}"
