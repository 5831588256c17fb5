"""What speed is measured against: short benchmarks, each against what one would use instead, measured in turn.

Seconds are those of one core. Rates differ from machine to machine and from day to day; ratios do so much less.
"""

from softmachine.studies.bench.checking import checking
from softmachine.studies.bench.decoding import decoding
from softmachine.studies.bench.result import Result, table
from softmachine.studies.bench.starting import starting

BENCHMARKS = {"decoding": decoding, "checking": checking, "starting": starting}
"""What there is to measure, by name: each hands out results as they come."""

__all__ = ["BENCHMARKS", "Result", "table"]
