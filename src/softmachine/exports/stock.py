"""RoPE configuration without rotation, for compiled and trained checkpoints."""

from __future__ import annotations

STRETCH = 1e37
"""The divisor of positions: every rotation angle is 0 up to rounding in all number formats."""


def unrotated(base: float = 10_000.0) -> dict[str, str | float]:
    """The RoPE parameters of a LLaMA configuration, scaled so that no vector is rotated: a model without positions."""
    return {"rope_type": "linear", "factor": STRETCH, "rope_theta": base}
