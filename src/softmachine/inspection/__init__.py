"""Inspection of runs: attention, residual stream and logits at a position, in exact numbers."""

from softmachine.inspection.choices import Pattern
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.moment import Logits, Moment, Stream
from softmachine.inspection.seeing import HeadSight
from softmachine.inspection.stage import Stage

__all__ = ["HeadSight", "Inspection", "Logits", "Moment", "Pattern", "Stage", "Stream"]
