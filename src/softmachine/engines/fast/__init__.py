"""The fast engine: decodes with attention in far less than linear time, exactly."""

from softmachine.engines.fast.analysis.grids import UnsupportedModel
from softmachine.engines.fast.audit import Audit, audit
from softmachine.engines.fast.engine import FastEngine, FastPass
from softmachine.engines.fast.segments import SegmentedPass

__all__ = ["Audit", "UnsupportedModel", "FastEngine", "FastPass", "SegmentedPass", "audit"]
