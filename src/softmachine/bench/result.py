"""What a benchmark found: how fast it is, and how many times faster than something else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

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
    """Results for people: a line each, a column for everything that they are compared with."""
    against = list(dict.fromkeys(name for result in results for name in result.ratios))
    rows = [["benchmark", "", "rate", *(f"against {name}" for name in against)]]
    for result in results:
        ratios = (ratio(result.ratios[name]) if name in result.ratios else "–" for name in against)
        rows.append([result.benchmark, result.subject, f"{figures(result.rate)} {result.unit}/s", *ratios])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(w) if k < 2 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def ratio(value: float) -> str:
    """A ratio for people: "× 1,200", or "1/2.6" for what is slower."""
    return f"× {figures(value)}" if value >= 1 else f"1/{figures(1 / value)}"


def figures(value: float) -> str:
    """A number with as many digits as a measurement is good for."""
    if value < 10:
        return f"{value:.2g}" if value < 1 else f"{value:.1f}"
    digits = len(str(int(value)))
    return f"{round(value, 2 - digits):,.0f}"
