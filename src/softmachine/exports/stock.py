"""What stock architectures have to be told, whoever fills them with weights: compiled ones or trained ones."""

from __future__ import annotations

STRETCH = 1e37
"""Positions are divided by this, so that every rotation is by an angle that no format can tell from 0."""


def unrotated(base: float = 10_000.0) -> dict[str, str | float]:
    """The rotary positions of a LLaMA's configuration, stretched until nothing rotates: it has no positions then."""
    return {"rope_type": "linear", "factor": STRETCH, "rope_theta": base}
