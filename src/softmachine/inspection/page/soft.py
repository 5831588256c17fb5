"""Softmax data of the page: the scale of every head, and the certified sharpness."""

from __future__ import annotations

from fractions import Fraction

from softmachine.certify import certify_model
from softmachine.compiler.model import Model
from softmachine.inspection.inspection import is_exact
from softmachine.inspection.page.numbers import Json
from softmachine.inspection.page.weights import is_uniform, scales
from softmachine.support.errors import BrokenPromiseError, ConstructionError, UsageError
from softmachine.transformer.features import Feature

MOST_SOFT = 500
"""The largest number of positions for which the page recomputes the run at any temperature."""

MOST_NUMBERS = 16_000_000
"""The largest number of residual stream values that a page keeps in memory."""


def soft(model: Model, positions: range, length: int | None) -> Json:
    """The scales of heads at a sharpness that is certified for these positions, or the reason why there is none."""
    choosing = [head for head in model.weights.heads if not is_uniform(head)]
    if not choosing and not model.weights.rooted:
        return {"why": "all attention is uniform, and softmax of equal scores is the same mean"}
    if positions.stop > MOST_SOFT:
        return {"why": f"the page computes soft attention for up to {MOST_SOFT} positions, and this run has more"}
    weights = model.weights
    if len(positions) * weights.width * (2 * weights.depth(length) + 1) > MOST_NUMBERS:
        if not is_exact(weights):
            raise UsageError(
                f"the residual streams of this run have more than {MOST_NUMBERS:,} values, too many for a page",
                hint="choose a shorter input",
            )
        return {"why": f"the residual streams of this run have more than {MOST_NUMBERS:,} values, too many for a page"}
    if all(head.weighting.hard for head in choosing) and not is_exact(weights):
        return {"own": True, "still": True, "certified": None, "sharpness": 1, "scales": {}}
    unique = next((head.name for head in choosing if head.weighting.unique), None)
    if unique is not None:
        return {
            "why": f"head {unique!r} takes one of the keys that tie, but softmax takes all; the page cannot break ties"
        }
    if not is_exact(model.weights):
        return {"own": True, "certified": model.certified, "sharpness": 1, "scales": {}}
    certified = positions.stop - 1 if length is None else length
    try:
        proof = certify_model(model, certified)
    except (BrokenPromiseError, ConstructionError) as problem:
        return {"own": False, "certified": None, "sharpness": None, "scales": {}, "note": problem.message}
    known = {row.head: row.scale for row in proof.rows if row.scale is not None}
    missing = [head.name for head in choosing if head.name not in known]
    if not proof.holds or missing:
        note = proof.why if not proof.holds else f"the certified model has no head {missing[0]!r}"
        return {"own": False, "certified": None, "sharpness": None, "scales": {}, "note": note}
    return {
        "own": False,
        "certified": certified,
        "sharpness": proof.sharpness,
        "scales": {head.name: _unit(known[head.name], proof.sharpness, positions, length) for head in choosing},
    }


def _unit(scale: Fraction | Feature, sharpness: int, positions: range, length: int | None) -> Json:
    """The scale of a head for sharpness 1, from its scale for this sharpness."""
    found = scales(scale, positions, length)
    return [one / sharpness for one in found] if isinstance(found, list) else found / sharpness
