"""Feed-forward networks in floats, with error bounds that account for cancellation among hidden units.

A loop subtracts the old value of a coordinate and adds the new one; a bit is rounded as 2 ReLU(x - 1/4) minus
2 ReLU(x - 3/4). Bounds for each unit alone would double the error in every iteration, although it cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics.base import Flags, Floats, Tensor
from softmachine.engines.numerics.float_affine import ROUNDING_SLACK, FloatAffine, raise_to_min_error


@dataclass(frozen=True)
class MlpActivations:
    """Activations of a network at some positions, from its input to the coordinates that it writes."""

    x: Tensor
    before: Tensor
    hidden: Tensor
    added: Tensor
    result: Tensor


@dataclass(frozen=True)
class FloatMlp:
    """A feed-forward network, with the coordinates in which errors can cancel.

    Args:
        first: The map to the hidden units.
        steps: Which units are steps.
        second: The map from the hidden units.
        written: The coordinates that the second map writes.
        input_weight: The weights from the coordinates that are read to the units that the second map reads; 0 for
            steps.
        output_weight: The weights from these units to the ``gaining`` coordinates.
        cancelling: Inputs that reach an output along paths of opposite signs, as x in x - ReLU(x) + ReLU(-x).
        gaining: The outputs of such paths, as indices into ``written``.
        residual: 1 where an input coordinate is the gaining coordinate itself (the residual connection).
        plus: The first units of pairs ReLU(y) - ReLU(-y), whose sum is y for either sign.
        minus: The second units of these pairs.
    """

    first: FloatAffine
    steps: Flags
    second: FloatAffine
    written: NDArray[np.intp]
    input_weight: Floats
    output_weight: Floats
    cancelling: NDArray[np.intp]
    gaining: NDArray[np.intp]
    residual: Floats
    plus: Flags
    minus: Flags

    @staticmethod
    def prepare(first: FloatAffine, steps: Flags, second: FloatAffine, written: NDArray[np.intp]) -> FloatMlp:
        """Prepare the network of two maps, the second of which writes the given coordinates."""
        there = np.where(steps, 0, first.weight).astype(np.float64)[:, second.columns]
        back = second.weight.astype(np.float64)
        stays = (first.columns[:, None] == written).astype(np.float64)
        same = np.maximum(there, 0) @ np.maximum(back, 0) + np.minimum(there, 0) @ np.minimum(back, 0) + stays
        opposite = np.maximum(there, 0) @ np.minimum(back, 0) + np.minimum(there, 0) @ np.maximum(back, 0)
        ways = (same > 0) & (opposite < 0)
        gaining = np.flatnonzero(ways.any(axis=0))
        return FloatMlp(
            first,
            steps,
            second,
            written,
            there,
            back[:, gaining],
            first.columns[ways.any(axis=1)],
            gaining,
            stays[:, gaining],
            *_opposite_pairs(first, steps, second),
        )

    def bound_correlated_error(self, at: MlpActivations) -> Floats:
        """Bound the errors of the gaining coordinates, with the contributions of an input error summed over the units.

        Where the signs of the units are certain or irrelevant, the network is linear, and the error of x passes through
        the sum of this linear map and the identity. The rounding error of each part is its bound minus the error that
        it inherits.
        """
        first, second, gaining = self.first, self.second, self.gaining
        read, there = _error(at.x)[:, first.columns], _error(at.x)[:, self.written[gaining]]
        paired, doubt = self.plus | self.minus, _error(at.before) * ROUNDING_SLACK
        on = np.where(paired, self.plus, (at.before.value - doubt > 0) & ~self.steps)
        off = ~paired & ((at.before.value + doubt <= 0) | self.steps)
        rounding = _excess(_error(at.before), first.propagate_error(read))
        units = np.where(off, 0, np.where(on | paired, rounding, _error(at.before)))
        added, result = _error(at.added)[:, gaining], _error(at.result)[:, gaining]
        passed = second.propagate_error(_error(at.hidden)[:, second.columns])[:, gaining]
        total = np.where(self.residual.any(axis=0), 0, there) + self._through(read, on[:, second.columns])
        total += units[:, second.columns] @ second.absolute[:, gaining]
        total += _excess(added, passed) + _excess(result, there + added)
        return np.asarray(total + (len(second.columns) + 8) * 2.0**-52 * result)

    def _through(self, read: Floats, on: Flags) -> Floats:
        """Propagate input errors; positions with the same active units share one linear map."""
        wrong = np.flatnonzero(read.any(axis=0))
        there, stays, read = self.input_weight[wrong], self.residual[wrong], raise_to_min_error(read[:, wrong])
        through = np.empty((len(read), len(self.gaining)))
        patterns: dict[bytes, list[int]] = {}
        for place, pattern in enumerate(np.packbits(on, axis=1)):
            patterns.setdefault(pattern.tobytes(), []).append(place)
        for places in patterns.values():
            through[places] = read[places] @ np.abs((there * on[places[0]]) @ self.output_weight + stays)
        return through


def _opposite_pairs(first: FloatAffine, steps: Flags, second: FloatAffine) -> tuple[Flags, Flags]:
    """Return the first and the second units of pairs whose weights are all opposite."""
    back = np.zeros((len(steps), second.weight.shape[1]))
    back[second.columns] = second.weight
    weights = np.hstack([first.weight.T, first.bias[:, None], back]) + 0.0
    opposite = -weights + 0.0
    plus, minus = np.zeros(len(steps), dtype=bool), np.zeros(len(steps), dtype=bool)
    waiting: dict[bytes, int] = {}
    for unit in np.flatnonzero(~steps):
        mate = waiting.pop(opposite[unit].tobytes(), None)
        if mate is None:
            waiting[weights[unit].tobytes()] = int(unit)
        else:
            plus[mate], minus[unit] = True, True
    return plus, minus


def _error(x: Tensor) -> Floats:
    return np.zeros(x.shape) if x.error is None else x.error


def _excess(bound: Floats, inherited: Floats) -> Floats:
    """Return the excess of a bound over the inherited error, with a margin for the rounding of both."""
    return np.maximum(bound - inherited, 0) + 2.0**-36 * bound
