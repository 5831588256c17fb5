"""What speed is measured against: short benchmarks, each against what one would use instead, measured in turn.

Seconds are those of one core. Rates differ from machine to machine and from day to day; ratios do so much less.
"""

from softmachine.cli.benchmarks.checking import checking
from softmachine.cli.benchmarks.decoding import decoding
from softmachine.cli.benchmarks.result import Result, table
from softmachine.cli.benchmarks.starting import starting

BENCHMARKS = {"decoding": decoding, "checking": checking, "starting": starting}
"""What there is to measure, by name: each hands out results as they come."""

__all__ = ["BENCHMARKS", "Result", "table"]
