"""Short benchmarks against alternatives, measured in turn.

Times are processor times of one core. Rates vary between machines and days; ratios vary much less.
"""

from softmachine.cli.benchmarks.measurements import measure_checking, measure_decoding, measure_startup
from softmachine.cli.benchmarks.result import Result, format_results

BENCHMARKS = {"decoding": measure_decoding, "checking": measure_checking, "starting": measure_startup}
"""The benchmarks by name; each yields its results."""

__all__ = ["BENCHMARKS", "Result", "format_results"]
