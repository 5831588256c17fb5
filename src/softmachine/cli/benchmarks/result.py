"""Results of benchmarks: rates, and ratios to alternatives."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

ROUNDS = 3


@dataclass(frozen=True)
class Result:
    """One measured rate.

    Args:
        benchmark: The name of the benchmark.
        subject: The measured subject.
        rate: Units per second.
        unit: The unit.
        ratios: Speed relative to each alternative, by name.
        notes: Alternatives that could not be measured, with reasons.
    """

    benchmark: str
    subject: str
    rate: float
    unit: str
    ratios: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the result as JSON data."""
        return {
            "benchmark": self.benchmark,
            "subject": self.subject,
            "unit": self.unit,
            "rate": self.rate,
            "ratios": dict(self.ratios),
        }


def time_in_turn(*actions: Callable[[], object]) -> list[float]:
    """Measure the processor seconds of each action: the best of several rounds, in turn."""
    best = [float("inf")] * len(actions)
    for _ in range(ROUNDS):
        for number, action in enumerate(actions):
            began = time.process_time()
            action()
            best[number] = min(best[number], time.process_time() - began)
    return [max(each, 1e-9) for each in best]


def format_results(results: Sequence[Result]) -> str:
    """Format results as a table per benchmark."""
    blocks = (_format_block(name, list(alike)) for name, alike in groupby(results, lambda result: result.benchmark))
    return "\n\n".join(blocks)


def _format_block(name: str, results: Sequence[Result]) -> str:
    """Format the results of one benchmark; a dash marks a missing alternative."""
    against = list(dict.fromkeys(name for result in results for name in result.ratios))
    rows = [[name, "rate", *(f"against {other}" for other in against)]]
    for result in results:
        ratios = (format_ratio(result.ratios[other]) if other in result.ratios else "–" for other in against)
        rows.append([result.subject, f"{format_number(result.rate)} {result.unit}/s", *ratios])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    )


def format_ratio(value: float) -> str:
    """Format a ratio: "× 1,200", or "1/2.6" below 1."""
    return f"× {format_number(value)}" if value >= 1 else f"1/{format_number(1 / value)}"


def format_number(value: float) -> str:
    """Format a number with two significant digits, or one decimal below 10."""
    if value < 10:
        return f"{value:.2g}" if value < 1 else f"{value:.1f}"
    digits = len(str(int(value)))
    return f"{round(value, 2 - digits):,.0f}"
