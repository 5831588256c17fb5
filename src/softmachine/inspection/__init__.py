"""Runs from the inside: what every head saw at a position, the residual stream and the logits, in exact numbers."""

from softmachine.inspection.choices import Pattern
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.moment import Logits, Moment, Stage, Stream
from softmachine.inspection.seeing import HeadSight

__all__ = ["HeadSight", "Inspection", "Logits", "Moment", "Pattern", "Stage", "Stream"]
