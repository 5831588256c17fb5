"""Rewrite of the layer norm of a single number to two Heaviside units.

The layer norm of (x, -x) is the sign of x: [x ≥ 0] - [-x ≥ 0]. So code that supports Heaviside units need not support
layer norm, unless several numbers are normalised together.

Costs: one more unit for each normalised number.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from softmachine.transformer.weights import AffineMap, FeedForward, Matrix, SparseRow, Transformer


def replace_sign_norm(transformer: Transformer, reason: str) -> Transformer:
    """Rewrite a transformer without layer norm.

    Args:
        transformer: The weights.
        reason: Why layer norms of several numbers are not supported, for the message.

    Raises:
        ConstructionError: If several numbers are normalised together; the message names them.
    """
    if transformer.first_normalised_unit is None:
        return transformer
    transformer.require_single_norms(reason)
    blocks = tuple(
        replace(
            block,
            layers=tuple(replace(layer, feed_forward=_replace_norms(layer.feed_forward)) for layer in block.layers),
        )
        for block in transformer.blocks
    )
    return replace(transformer, blocks=blocks)


def _replace_norms(forward: FeedForward) -> FeedForward:
    """Replace the sign of each x by [x ≥ 0], and append [-x ≥ 0] after all other units."""
    signs = [u for (u,) in forward.norms]
    rows, columns = forward.first.weight.rows, [dict(row) for row in forward.second.weight.transposed.rows]
    negated: tuple[SparseRow, ...] = tuple(tuple((c, -value) for c, value in rows[u]) for u in signs)
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
