"""Inspection of runs: attention, residual stream and logits at a position, in exact numbers."""

from softmachine.inspection.activations import Activations, Logits, ResidualStream
from softmachine.inspection.attention_patterns import AttentionPattern
from softmachine.inspection.head_activation import HeadActivation
from softmachine.inspection.hooks import HookPoint
from softmachine.inspection.inspection import Inspection

__all__ = ["HeadActivation", "Inspection", "Logits", "Activations", "AttentionPattern", "HookPoint", "ResidualStream"]
