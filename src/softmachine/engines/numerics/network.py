"""Feed-forward networks in floats: how the errors of what is read cancel among the units.

A loop takes the old value from its coordinate and adds the new one; a bit is rounded as 2 ReLU(x - 1/4) minus
2 ReLU(x - 3/4). Bounding each unit by itself, both would double the error again and again, although it is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics.base import Flags, Floats, Tensor
from softmachine.engines.numerics.operator import SLACK, FloatOperator, floored


@dataclass(frozen=True)
class Place:
    """What a network does at some positions, from its input to its result, at the coordinates that it writes."""

    x: Tensor
    before: Tensor
    hidden: Tensor
    added: Tensor
    result: Tensor


@dataclass(frozen=True)
class FloatNetwork:
    """A feed-forward network, and where errors can cancel in it.

    Args:
        first: The map to the units.
        steps: Which units are steps.
        second: The map from the units.
        written: The coordinates that this map writes.
        there: The weights from the coordinates that are read to the units that are, without steps.
        back: The weights from these units to the coordinates that gain.
        cancelling: The coordinates that come back along two ways of opposite signs, as x in x - ReLU(x) + ReLU(-x).
        gaining: Those to which they come back so, by their places among those that are written.
        stays: 1 where a coordinate that is read is one of these.
        plus: The first units of pairs ReLU(y) - ReLU(-y), which are y whatever its sign.
        minus: The second ones.
    """

    first: FloatOperator
    steps: Flags
    second: FloatOperator
    written: NDArray[np.intp]
    there: Floats
    back: Floats
    cancelling: NDArray[np.intp]
    gaining: NDArray[np.intp]
    stays: Floats
    plus: Flags
    minus: Flags

    @staticmethod
    def of(first: FloatOperator, steps: Flags, second: FloatOperator, written: NDArray[np.intp]) -> FloatNetwork:
        """The network of two maps, the second of which writes these coordinates."""
        there = np.where(steps, 0, first.weight).astype(np.float64)[:, second.columns]
        back = second.weight.astype(np.float64)
        stays = (first.columns[:, None] == written).astype(np.float64)
        same = np.maximum(there, 0) @ np.maximum(back, 0) + np.minimum(there, 0) @ np.minimum(back, 0) + stays
        opposite = np.maximum(there, 0) @ np.minimum(back, 0) + np.minimum(there, 0) @ np.maximum(back, 0)
        ways = (same > 0) & (opposite < 0)
        gaining = np.flatnonzero(ways.any(axis=0))
        return FloatNetwork(
            first,
            steps,
            second,
            written,
            there,
            back[:, gaining],
            first.columns[ways.any(axis=1)],
            gaining,
            stays[:, gaining],
            *_pairs(first, steps, second),
        )

    def correlated(self, at: Place) -> Floats:
        """How far what gains can be off, if what the errors of x do in several units is added up first.

        Where the signs of the units are certain or do not matter, the network is a linear map, and the error of x goes
        through the sum of this map and the identity. What rounding adds on the way is what the bounds of each part have
        more than they inherited.
        """
        first, second, gaining = self.first, self.second, self.gaining
        read, there = _error(at.x)[:, first.columns], _error(at.x)[:, self.written[gaining]]
        paired, doubt = self.plus | self.minus, _error(at.before) * SLACK
        on = np.where(paired, self.plus, (at.before.value - doubt > 0) & ~self.steps)
        off = ~paired & ((at.before.value + doubt <= 0) | self.steps)
        rounding = _more(_error(at.before), first.inherited(read))
        units = np.where(off, 0, np.where(on | paired, rounding, _error(at.before)))
        added, result = _error(at.added)[:, gaining], _error(at.result)[:, gaining]
        passed = second.inherited(_error(at.hidden)[:, second.columns])[:, gaining]
        total = np.where(self.stays.any(axis=0), 0, there) + self._through(read, on[:, second.columns])
        total += units[:, second.columns] @ second.absolute[:, gaining]
        total += _more(added, passed) + _more(result, there + added)
        return np.asarray(total + (len(second.columns) + 8) * 2.0**-52 * result)

    def _through(self, read: Floats, on: Flags) -> Floats:
        """What comes of the errors of what is read: of all places where the same units are on, by one linear map."""
        wrong = np.flatnonzero(read.any(axis=0))
        there, stays, read = self.there[wrong], self.stays[wrong], floored(read[:, wrong])
        through = np.empty((len(read), len(self.gaining)))
        patterns: dict[bytes, list[int]] = {}
        for place, pattern in enumerate(np.packbits(on, axis=1)):
            patterns.setdefault(pattern.tobytes(), []).append(place)
        for places in patterns.values():
            through[places] = read[places] @ np.abs((there * on[places[0]]) @ self.back + stays)
        return through


def _pairs(first: FloatOperator, steps: Flags, second: FloatOperator) -> tuple[Flags, Flags]:
    """The first and the second units of pairs that are opposite in all their weights."""
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


def _more(bound: Floats, inherited: Floats) -> Floats:
    """What a bound has more than was inherited, and a little, since both are rounded."""
    return np.maximum(bound - inherited, 0) + 2.0**-36 * bound
