"""The layer norm of one number and its negative without layer norm: two Heaviside units.

That norm is the sign: [x ≥ 0] - [-x ≥ 0], which is 1, 0 or -1. So who knows Heaviside units needs to know nothing of
layer norm, as long as no two numbers are normalised together: the root of a sum of squares is no step.

Costs: one unit more for each number that is normalised.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from softmachine.transformer.weights import AffineMap, FeedForward, Matrix, Row, Transformer


def signs_as_steps(transformer: Transformer, what: str) -> Transformer:
    """The same transformer, without layer norm.

    Args:
        transformer: The weights.
        what: Why layer norms of several numbers cannot be there, for the message.

    Raises:
        ConstructionError: If several numbers are normalised together; it says which.
    """
    if transformer.normalised is None:
        return transformer
    transformer.require_no_root(what)
    blocks = tuple(
        replace(
            block,
            layers=tuple(replace(layer, feed_forward=_stepped(layer.feed_forward)) for layer in block.layers),
        )
        for block in transformer.blocks
    )
    return replace(transformer, blocks=blocks)


def _stepped(forward: FeedForward) -> FeedForward:
    """The network with [x ≥ 0] in the place of each sign of x, and [-x ≥ 0] behind all other units."""
    signs = [u for (u,) in forward.norms]
    rows, columns = forward.first.weight.rows, [dict(row) for row in forward.second.weight.transposed.rows]
    negated: tuple[Row, ...] = tuple(tuple((c, -value) for c, value in rows[u]) for u in signs)
    taken: list[dict[int, Fraction]] = [{c: -value for c, value in columns[u].items()} for u in signs]
    width = len(forward.second.weight.rows)
    return FeedForward(
        first=AffineMap(
            Matrix((*rows, *negated), forward.first.weight.columns),
            (*forward.first.bias, *(-forward.first.bias[u] for u in signs)),
        ),
        activations=(*("step" if kind == "norm" else kind for kind in forward.activations), *["step"] * len(signs)),
        second=replace(forward.second, weight=Matrix.of([*columns, *taken], width).transposed),
        units=(*forward.units, *(f"{forward.units[u]}: not above 0" for u in signs)),
    )
