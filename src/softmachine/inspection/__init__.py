"""Inspection of runs: attention, residual stream and logits at a position, in exact numbers."""

from softmachine.inspection.activations import Logits, Moment, Stream
from softmachine.inspection.attention_patterns import Pattern
from softmachine.inspection.head_activation import HeadSight
from softmachine.inspection.hook_point import Stage
from softmachine.inspection.inspection import Inspection

__all__ = ["HeadSight", "Inspection", "Logits", "Moment", "Pattern", "Stage", "Stream"]
