"""Piecewise affine forms: an affine form with ReLU units, enumerated box by box.

The units of a form read variables: *finite* ones, whose values are enumerated; and one *line*, a form z of which the
infinite part of every pre-activation is a multiple. On each box (a choice of the finite variables, and a piece of the
line on which no unit changes its sign) the form is affine. So its range is exact, and an error of the variables comes
through a box only by the gradient there: where a gadget is flat, as rounding gadgets are (Lemma 9 of "Simulating Hard
Attention Using Soft Attention"), it disappears.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.ir.facts import ZERO, Fact, Step, common_step, join_steps
from softmachine.ir.function_tables import MAX_INTEGER, Column, Table, distinct_rows
from softmachine.ir.signal import Affine, Atom

MAX_BOXES = 100_000
"""Maximal number of boxes."""
MAX_UNSORTED = 500
"""Maximal number of choices of which equal ones are kept."""
ROUND_UP = 1 + 2.0**-40
"""Error bounds are computed in floats; this makes up for their rounding."""
Numbers = NDArray[Any]


@dataclass(frozen=True)
class Guard:
    """A bound of a sum of finite variables: low ≤ Σ variables + offset ≤ high.

    The offset, if there is one, is a number in each row of the table that is enumerated.
    """

    variables: frozenset[Atom]
    low: Fraction
    high: Fraction
    offset: Column | None = None


class TooManyBoxesError(Exception):
    """There are more boxes than are enumerated."""


@dataclass(frozen=True)
class PiecewiseForm:
    """F = rest + Σ weight · ReLU(pre-activation), on all boxes.

    Args:
        forms: The rest, and the pre-activations.
        weights: The weights of the units.
        points: Values of the rest and of the pre-activations at the corners of all boxes, without ``other``.
        slopes: For each form, how it grows along the line.
        line: What is known of the line; None if there is none.
        on_line: For each corner, whether the line has a point between here and the next corner, in the same box.
        places: For each corner, its place on the line.
        other: Infinite terms of the rest that are no multiple of the line.
    """

    forms: tuple[Affine, ...]
    weights: tuple[Fraction, ...]
    points: Numbers
    scale: int
    slopes: tuple[Fraction, ...]
    line: Fact | None
    on_line: NDArray[np.bool_]
    places: list[Fraction]
    other: Affine

    def values(self) -> Numbers:
        """The value of the form at each corner, times ``scale`` and the common denominator of the weights."""
        growth = (1 + sum(map(abs, self.weights))) * self.weight_scale
        large = int(np.abs(self.points).max(initial=0)) * growth >= 2**62
        rest, *pre = np.moveaxis(self.points.astype(object) if large else self.points, 1, 0)
        total = rest * self.weight_scale
        for weight, column in zip(self.weights, pre, strict=True):
            total = total + int(weight * self.weight_scale) * np.maximum(column, 0)
        return total

    @property
    def weight_scale(self) -> int:
        """The common denominator of the weights."""
        return lcm(*(weight.denominator for weight in self.weights))

    def fact(self) -> Fact:
        """What is known of the form, without ``other``."""
        over = self.scale * self.weight_scale
        values = self.values().tolist()
        boxes = np.flatnonzero(self.on_line).tolist()
        slopes = self.slopes_of_boxes()
        if not any(slopes):
            return Fact.of(Fraction(value) / over for value in set(values))
        step = None
        if self.line is not None and self.line.step is not None:
            # On a box the form is constant + slope · line; a corner without a box is a point.
            found = {(values[k], self.places[k], slope) for k, slope in zip(boxes, slopes, strict=True)}
            constants = {Fraction(value) / over - slope * place for value, place, slope in found}
            inside = {*boxes, *(k + 1 for k in boxes)}
            constants |= {Fraction(value) / over for k, value in enumerate(values) if k not in inside}
            lines = (self.line.step.scale(slope) for slope in set(slopes))
            step = join_steps([Step(common_step(constants)), *lines])
        return Fact(Fraction(min(values)) / over, Fraction(max(values)) / over, step, step)

    def slopes_of_boxes(self) -> list[Fraction]:
        """How the form grows along the line, in each box that extends along it."""
        rest, *own = self.slopes
        parts = [weight * slope for weight, slope in zip(self.weights, own, strict=True)]
        patterns, index = np.unique(self.active_between(), axis=0, return_inverse=True)
        slopes = [
            rest + sum((part for part, on in zip(parts, row, strict=True) if on), ZERO) for row in patterns.tolist()
        ]
        return [slopes[k] for k in index.ravel().tolist()]

    def active_between(self) -> NDArray[np.bool_]:
        """Which units are active inside the boxes that extend along the line."""
        first = np.flatnonzero(self.on_line)
        pre = self.points[:, 1:]
        return np.asarray((pre[first] > 0) | (pre[first + 1] > 0), dtype=bool)

    def bound_error(self, errors: Mapping[Atom, float], tolerance: float = 1.0) -> float:
        """How far the form is from its value without errors, given bounds of the errors of all variables.

        With a ``tolerance`` below 1, a unit keeps its sign only if its error is at most this part of its distance to 0.
        """
        variables = [atom for atom in dict.fromkeys(a for f in self.forms for a in f.terms) if errors.get(atom)]
        beside = sum(abs(float(factor)) * errors.get(atom, 0.0) for atom, factor in self.other.terms.items())
        if not variables:
            return beside * ROUND_UP
        sizes = np.array([errors[atom] for atom in variables])
        factors = np.array([[float(form.terms.get(atom, 0)) for atom in variables] for form in self.forms])
        weights = np.array(list(map(float, self.weights)))
        doubts = np.abs(factors[1:]) @ sizes * ROUND_UP
        pre = self.points[:, 1:].astype(float) / self.scale
        uncertain = np.abs(pre) * tolerance <= doubts * ROUND_UP
        active = pre > 0
        first = np.flatnonzero(self.on_line)
        if len(first):  # inside a box, a unit is uncertain only if it is so at one of its ends
            active = np.vstack([active, active[first] | active[first + 1]])
            uncertain = np.vstack([uncertain, uncertain[first] | uncertain[first + 1]])
        certain = (active & ~uncertain) * weights
        gradients = factors[0] + certain @ factors[1:]
        other = [a for a in variables if a in self.other.terms]
        for atom in other:
            gradients[:, variables.index(atom)] -= float(self.other.terms[atom])
        bounds = np.abs(gradients) @ sizes + uncertain @ (np.abs(weights) * doubts)
        return (float(bounds.max(initial=0.0)) + beside) * ROUND_UP


def enumerate_boxes(
    forms: Sequence[Affine],
    weights: Sequence[Fraction],
    table: Table,
    finite: Mapping[Atom, tuple[Fraction, ...]],
    guards: Sequence[Guard],
    line: tuple[Fact, Sequence[Fraction]] | None,
    other: Affine,
) -> PiecewiseForm:
    """Enumerate the boxes of a form.

    Args:
        forms: The rest, and the pre-activations.
        weights: The weights of the units.
        table: What the token and the position decide of each form, without constants, and the offset of each guard.
        finite: The finite variables, with their values.
        guards: What is known of sums of them.
        line: What is known of the line, and the multiple of it in each form.
        other: Infinite terms of the rest that are no multiple of the line.

    Raises:
        TooManyBoxesError: If there are too many.
    """
    scale, rows = _finite_choices(forms, table, finite, guards)
    slopes = tuple(line[1]) if line else (ZERO,) * len(forms)
    points, on_line, places = rows, np.zeros(len(rows), dtype=bool), [ZERO] * len(rows)
    if line is not None:
        cut = _cut_reciprocals if line[0].is_reciprocal and len(rows) <= MAX_UNSORTED else _cut_line
        scale, points, on_line, places = cut(rows, scale, line[0], slopes)
    known = line[0] if line else None
    return PiecewiseForm(tuple(forms), tuple(weights), points, scale, slopes, known, on_line, places, other)


def _finite_choices(
    forms: Sequence[Affine], table: Table, finite: Mapping[Atom, tuple[Fraction, ...]], guards: Sequence[Guard]
) -> tuple[int, Numbers]:
    """The values of the forms for each choice of the finite variables, times a common denominator."""
    width, (rows, least) = len(forms), table
    constants = [*(form.constant for form in forms), *[ZERO] * len(guards)]
    factors = {
        a: [*(f.terms.get(a, ZERO) for f in forms), *(Fraction(a in g.variables) for g in guards)] for a in finite
    }
    over = lcm(*(x.denominator for row in factors.values() for x in row))
    fine = lcm(*(value.denominator for values in finite.values() for value in values))
    bounds = (bound for guard in guards for bound in (guard.low, guard.high))
    scale = lcm(over * fine, least, *(x.denominator for x in (*constants, *bounds)))
    choices = {
        atom: [
            [int(value * fine) * (scale // (over * fine)) * int(x * over) for x in factors[atom]] for value in values
        ]
        for atom, values in finite.items()
    }
    start = [int(x * scale) for x in constants]
    size = int(np.abs(rows).max(initial=0)) * (scale // least) + max(map(abs, start))
    large = size + sum(max(abs(x) for row in own for x in row) for own in choices.values()) >= MAX_INTEGER
    kind: Any = object if large else np.int64
    rows = rows.astype(kind) * (scale // least) + np.array(start, dtype=kind)
    left = [[atom for atom in finite if atom in guard.variables] for guard in guards]
    for atom, own in choices.items():
        if len(rows) * len(own) > MAX_BOXES:
            raise TooManyBoxesError
        rows = (rows[:, None, :] + np.array(own, dtype=kind)[None, :, :]).reshape(-1, rows.shape[1])
        for column, guard, variables in zip(range(width, rows.shape[1]), guards, left, strict=True):
            if atom in variables:
                variables.remove(atom)
                most = sum((max(finite[a]) for a in variables), ZERO)
                fewest = sum((min(finite[a]) for a in variables), ZERO)
                total = rows[:, column]
                high, low = floor((guard.high - fewest) * scale), ceil((guard.low - most) * scale)
                rows = rows[(total <= high) & (total >= low)]
                if not variables:
                    rows[:, column] = 0
        if not large and len(rows) > MAX_UNSORTED:
            rows = distinct_rows(rows)
    return scale, rows[:, :width]


Corners = tuple[int, Numbers, NDArray[np.bool_], list[Fraction]]
"""A common denominator, the values of the forms at all corners, and for each ``on_line`` and ``places``."""


def _cut_reciprocals(rows: Numbers, scale: int, line: Fact, slopes: Sequence[Fraction]) -> Corners:
    """The corners of all boxes along a line of numbers 1/k: its ends, and the points next to a zero of a unit."""
    points: list[list[Fraction]] = []
    on_line: list[bool] = []
    places: list[Fraction] = []
    first, last = ceil(1 / line.high), floor(1 / line.low)
    for row in rows.tolist():
        marks = {first, last}
        for value, slope in zip(row[1:], slopes[1:], strict=True):
            zero = -Fraction(value, scale) / slope if slope else ZERO
            if zero > 0:
                marks.update(mark for mark in (floor(1 / zero), ceil(1 / zero)) if first < mark < last)
        corners = sorted(marks)
        points += [[Fraction(x, scale) + slope / k for x, slope in zip(row, slopes, strict=True)] for k in corners]
        on_line += [*(after - before > 1 for before, after in pairwise(corners)), False]
        places += [Fraction(1, k) for k in corners]
    over = lcm(*(x.denominator for point in points for x in point))
    scaled = [[int(x * over) for x in point] for point in points]
    large = max((abs(x) for point in scaled for x in point), default=0) >= 2**61
    kind: Any = object if large else np.int64
    return over, np.array(scaled, dtype=kind).reshape(len(scaled), len(slopes)), np.array(on_line, dtype=bool), places


def _cut_line(rows: Numbers, scale: int, line: Fact, slopes: Sequence[Fraction]) -> Corners:
    """The corners of all boxes along the line: its ends, and the points next to where a unit changes its sign."""
    grid = line.step.factor if line.step is not None and line.step.is_constant else ZERO
    if grid:
        more = lcm(*((slope * grid * scale).denominator for slope in slopes))
        first, last = ceil(line.low / grid), floor(line.high / grid)
    else:  # so fine that the ends and all zeros are on it
        more = lcm(*((slope * scale).denominator for slope in slopes))
        fine = lcm(*(abs(int(slope * scale * more)) or 1 for slope in slopes))
        fine = lcm(fine, line.low.denominator, line.high.denominator)
        grid, first, last = Fraction(1, fine), int(line.low * fine), int(line.high * fine)
        more *= fine
    scale *= more
    growth = [int(slope * grid * scale) for slope in slopes]
    largest = int(abs(rows).max(initial=0)) * more + max(map(abs, growth)) * max(abs(first), abs(last))
    kind: Any = object if largest >= 2**61 else np.int64
    rows = rows.astype(kind) * more
    zeros = [
        np.clip(near, first, last)
        for column, slope in zip(rows.T[1:], growth[1:], strict=True)
        if slope
        for near in (-column // slope, -(column // slope))
    ]
    if len(rows) * (len(zeros) + 2) > MAX_BOXES:
        raise TooManyBoxesError
    ends = [np.full(len(rows), end, dtype=kind) for end in (first, last)]
    corners = np.sort(np.stack([*ends, *zeros], axis=1), axis=1)
    new = np.ones(corners.shape, dtype=bool)
    new[:, 1:] = corners[:, 1:] != corners[:, :-1]
    points = rows[:, None, :] + corners[:, :, None] * np.array(growth, dtype=kind)
    places = corners[new]
    same_row = np.repeat(np.arange(len(rows)), new.sum(axis=1))
    on_line = np.zeros(len(places), dtype=bool)
    gap = 1 if line.step is not None and line.step.is_constant and line.step.factor else 0
    on_line[:-1] = (same_row[1:] == same_row[:-1]) & (places[1:] - places[:-1] > gap)
    return scale, points[new], on_line, [int(place) * grid for place in places.tolist()]
