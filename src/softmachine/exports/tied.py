"""One matrix for the embedding and the unembedding, as many architectures have it.

What the unembedding reads is copied, multiplied by a gain, to coordinates of its own. A token's row then holds both its
embedding and its unembedding; what each does where it is not wanted is small against the gain.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from softmachine.exports.lowered import Affine, Lowered, LoweredLayer
from softmachine.exports.placed import SAMPLING_GAIN


def tied(model: Lowered) -> tuple[Lowered, float]:
    """The model with embedding and unembedding in one matrix, which is its embedding; and the gain of its logits."""
    logits = model.unembedding
    read = np.flatnonzero(np.any(logits.weight != 0, axis=0))
    rows = np.hstack([logits.weight[:, read], logits.bias[:, None]])
    noise = float(np.abs(model.embedding).sum(axis=1).max() + np.abs(rows @ rows.T).max())
    gain = 2.0 ** math.ceil(math.log2(SAMPLING_GAIN + 4 * noise))
    *before, last = model.layers or (_empty(model.width),)
    wide = [layer.widened(len(read) + 1) for layer in (*before, last)]
    whole = model.width + len(read) + 1
    names = (*(f"for the logits: {model.coordinates[c]}" for c in read), "for the logits: 1")
    tied_model = replace(
        model,
        coordinates=(*model.coordinates, *names),
        scales=np.concatenate([model.scales, model.scales[read] * gain, [gain]]),
        embedding=np.hstack([model.embedding, rows]),
        positions=np.pad(model.positions, ((0, 0), (0, len(read) + 1))),
        layers=(*wide[:-1], _copying(wide[-1], last, read, gain)),
        unembedding=Affine(np.zeros((len(model.vocabulary), whole)), np.zeros(len(model.vocabulary))),
    )
    return tied_model, gain


def _empty(width: int) -> LoweredLayer:
    none = Affine(np.zeros((0, width)), np.zeros(0))
    return LoweredLayer((), none, Affine(np.zeros((width, 0)), np.zeros(width)), ())


def _copying(layer: LoweredLayer, narrow: LoweredLayer, read: NDArray[np.intp], gain: float) -> LoweredLayer:
    """The last layer, which also writes what the unembedding reads: what was there, and what its own units add."""
    width, count = narrow.second.weight.shape[0], len(read)
    copies = np.zeros((2 * count, width + count + 1))
    writes = np.zeros((width + count + 1, 2 * count))
    for k, coordinate in enumerate(read):
        for side, sign in enumerate((1.0, -1.0)):  # x = ReLU(x) - ReLU(-x)
            copies[2 * k + side, coordinate] = sign
            writes[width + k, 2 * k + side] = sign * gain
    weight, bias = layer.second.weight.copy(), layer.second.bias.copy()
    weight[width : width + count] = gain * narrow.second.weight[read]
    bias[width : width + count] = gain * narrow.second.bias[read]
    bias[-1] = gain
    first = Affine(np.vstack([layer.first.weight, copies]), np.concatenate([layer.first.bias, np.zeros(2 * count)]))
    names = tuple(f"copy coordinate {c} {sign}" for c in read for sign in "+-")
    return LoweredLayer(layer.heads, first, Affine(np.hstack([weight, writes]), bias), (*layer.units, *names))
