"""Short benchmarks against alternatives, measured in turn.

Times are processor times of one core. Rates vary between machines and days; ratios vary much less.
"""

from softmachine.cli.benchmarks.measurements import checking, decoding, starting
from softmachine.cli.benchmarks.result import Result, table

BENCHMARKS = {"decoding": decoding, "checking": checking, "starting": starting}
"""The benchmarks by name; each yields its results."""

__all__ = ["BENCHMARKS", "Result", "table"]
