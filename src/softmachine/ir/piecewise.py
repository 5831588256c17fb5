"""Piecewise affine forms: an affine form with ReLU units, enumerated box by box.

The units of a form read variables: *finite* ones, whose values are enumerated; and one *line*, a form z of which the
infinite part of every pre-activation is a multiple. On each box (a choice of the finite variables, and a piece of the
line on which no unit changes its sign) the form is affine. So its range is exact, and an error of the variables comes
through a box only by the gradient there: where a gadget is flat, as rounding gadgets are (Lemma 9 of "Simulating Hard
Attention Using Soft Attention"), it disappears.

*Guards* are what is known of finite variables together, or in a row of a table, besides the values of each. Only sums
of which something is likely to be known are tried: of bits that one head retrieves, of components of one named vector,
of units that read the same variables, of two opposite lookups.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, floor, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softmachine.ir.facts import INFINITY, ONE, ZERO, Fact, Step, common_step, join_steps
from softmachine.ir.function_tables import MAX_INTEGER, Column, FunctionTables, Table, distinct_rows, sum_columns
from softmachine.ir.primitives import Attention, Named, Token, Unit
from softmachine.ir.signal import Affine, Atom, Node, topological_order
from softmachine.transformer.attention import Mask

if TYPE_CHECKING:
    from softmachine.ir.analysis import Analysis

MAX_BOXES = 100_000
"""Maximal number of boxes."""
MAX_NUMBERS = 4_000_000
"""Maximal number of values of units in all boxes."""
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


@dataclass(frozen=True)
class Corners:
    """The corners of all boxes.

    Args:
        scale: A common denominator.
        points: For each corner, the values of the rest and of the pre-activations, without ``other``.
        on_line: For each corner, whether the line has a point between here and the next corner, in the same box.
        places: For each corner, its place on the line.
    """

    scale: int
    points: Numbers
    on_line: NDArray[np.bool_]
    places: Sequence[Fraction]

    @cached_property
    def pre(self) -> Numbers:
        """The pre-activations."""
        exact = self.points.dtype == object or self.scale >= MAX_INTEGER
        points = self.points[:, 1:].astype(object) if exact else self.points[:, 1:]
        return np.asarray(points / self.scale, dtype=float)

    @cached_property
    def reach(self) -> Numbers:
        """The largest absolute value of each pre-activation; where all are in doubt, all corners are alike."""
        return np.asarray(np.abs(self.pre).max(axis=0, initial=0.0))

    def active_between(self) -> NDArray[np.bool_]:
        """Which units are active inside the boxes that extend along the line."""
        first, pre = np.flatnonzero(self.on_line), self.points[:, 1:]
        return np.asarray((pre[first] > 0) | (pre[first + 1] > 0), dtype=bool)


@dataclass(frozen=True)
class PiecewiseForm:
    """F = rest + other + Σ weight · ReLU(pre-activation), on all boxes.

    Args:
        forms: The rest, and the pre-activations.
        weights: The weights of the units.
        table: What the token and the position decide of each form, without constants, and the offset of each guard.
        finite: The finite variables, with their values.
        guards: What is known of sums of them.
        line: What is known of the line; None if there is none.
        slopes: The multiple of the line in each form.
        other: Infinite terms of the rest that are no multiple of the line.
    """

    forms: Sequence[Affine]
    weights: Sequence[Fraction]
    table: Table
    finite: Mapping[Atom, tuple[Fraction, ...]]
    guards: Sequence[Guard]
    line: Fact | None
    slopes: Sequence[Fraction]
    other: Affine

    @cached_property
    def corners(self) -> Corners | None:
        """The corners of all boxes; None if there are too many."""
        found = self.choices(eliminate=False)
        if found is None or self.line is None:
            return found and Corners(*found, np.zeros(len(found[1]), dtype=bool), [ZERO] * len(found[1]))
        return _cut_line(*found, self.line, self.slopes)

    @property
    def weight_scale(self) -> int:
        """The common denominator of the weights."""
        return lcm(*(weight.denominator for weight in self.weights))

    def choices(self, *, eliminate: bool) -> tuple[int, Numbers] | None:
        """A common denominator, and the values of the forms for each choice of the finite variables; None if too many.

        Args:
            eliminate: Whether only the value of F is needed. It is then in the first column, and the choices are fewer:
                as soon as no choice of further variables makes a pre-activation positive, it is set to such a value.
        """
        width, weight_scale = len(self.forms), self.weight_scale if eliminate else 1
        scale, rows, choices = self.scaled(weight_scale)
        weights = np.array([int(weight * weight_scale) for weight in self.weights], dtype=rows.dtype)
        pending = [[atom for atom in choices if atom in guard.variables] for guard in self.guards]
        most = sum((own.max(axis=0) for own in choices.values()), np.zeros(rows.shape[1], dtype=rows.dtype))[1:width]
        for atom, own in choices.items():
            if len(rows) * len(own) > MAX_BOXES or rows.size * len(own) > MAX_NUMBERS:
                return None
            rows = (rows[:, None, :] + own[None, :, :]).reshape(-1, rows.shape[1])
            for column, guard, left in zip(range(width, rows.shape[1]), self.guards, pending, strict=True):
                if atom in left:
                    left.remove(atom)
                    rows = self.prune(rows, column, guard, left, scale)
            if eliminate:
                most = most - own.max(axis=0)[1:width]
                np.maximum(rows[:, 1:width], -most, out=rows[:, 1:width])
            if len(rows) > MAX_UNSORTED:
                rows = distinct_rows(rows)
        if eliminate:
            return scale * weight_scale, rows[:, 0] + np.maximum(rows[:, 1:width], 0) @ weights
        return scale, rows[:, :width]

    def prune(self, rows: Numbers, column: int, guard: Guard, left: Sequence[Atom], scale: int) -> Numbers:
        """The rows in which the variables that are left can satisfy a guard; without the sum, if none are left."""
        fewest = sum((min(self.finite[atom]) for atom in left), ZERO)
        most = sum((max(self.finite[atom]) for atom in left), ZERO)
        total = rows[:, column]
        rows = rows[(total <= floor((guard.high - fewest) * scale)) & (total >= ceil((guard.low - most) * scale))]
        if not left:
            rows[:, column] = 0
        return rows

    def scaled(self, weight_scale: int) -> tuple[int, Numbers, dict[Atom, Numbers]]:
        """A common denominator, the table, and what each value of each variable adds to a row.

        The first column is multiplied by ``weight_scale``.
        """
        rows, least = self.table
        constants = [*(form.constant for form in self.forms), *[ZERO] * len(self.guards)]
        sums = [*(f.terms for f in self.forms), *(dict.fromkeys(guard.variables, ONE) for guard in self.guards)]
        terms = [(atom, column, x) for column, own in enumerate(sums) for atom, x in own.items() if atom in self.finite]
        over = lcm(*(x.denominator for _, _, x in terms))
        fine = lcm(*(value.denominator for values in self.finite.values() for value in values))
        bounds = (bound for guard in self.guards for bound in (guard.low, guard.high))
        scale = lcm(over * fine, least, *(x.denominator for x in (*constants, *bounds)))
        own = [weight_scale, *[1] * (len(constants) - 1)]
        start = [x.numerator * (scale // x.denominator) * more for x, more in zip(constants, own, strict=True)]
        steps = {atom: [0] * len(own) for atom in self.finite}
        for atom, column, x in terms:
            steps[atom][column] = x.numerator * (scale // (x.denominator * fine)) * own[column]
        values = {atom: [x.numerator * (fine // x.denominator) for x in self.finite[atom]] for atom in self.finite}
        size = int(np.abs(rows).max(initial=0)) * (scale // least) * weight_scale + max(map(abs, start))
        size += sum(max(map(abs, values[atom])) * max(map(abs, steps[atom])) for atom in self.finite)
        large = size * (1 + ceil(sum(map(abs, self.weights))) * weight_scale) >= MAX_INTEGER
        kind: Any = object if large else np.int64
        first = rows.astype(kind) * (scale // least) * np.array(own, dtype=kind) + np.array(start, dtype=kind)
        return scale, first, {a: np.outer(np.array(values[a], kind), np.array(steps[a], kind)) for a in self.finite}

    def fact(self) -> Fact | None:
        """What is known of the form, without ``other``; None if there are too many boxes, or none."""
        if self.line is None:
            found = self.choices(eliminate=True)
            values = set(found[1].tolist()) if found else ()
            return Fact.of(Fraction(value, found[0]) for value in values) if found and values else None
        return self.fact_on_line(self.corners, self.line) if self.corners and len(self.corners.points) else None

    def fact_on_line(self, corners: Corners, line: Fact) -> Fact:
        """What is known of the form if it has a line."""
        over, values = corners.scale * self.weight_scale, self.values(corners).tolist()
        boxes = np.flatnonzero(corners.on_line).tolist()
        slopes = self.slopes_of_boxes(corners)
        if not any(slopes):
            return Fact.of_quotients(values, over)
        step = None
        if line.step is not None:
            # On a box the form is constant + slope · line; a corner without a box is a point.
            found = {(values[k], corners.places[k], slope) for k, slope in zip(boxes, slopes, strict=True)}
            constants = {Fraction(value, over) - slope * place for value, place, slope in found}
            inside = {*boxes, *(k + 1 for k in boxes)}
            constants |= {Fraction(value, over) for k, value in enumerate(values) if k not in inside}
            lines = (line.step.scale(slope) for slope in set(slopes))
            step = join_steps([Step(common_step(constants)), *lines])
        return Fact(Fraction(min(values), over), Fraction(max(values), over), step, step)

    def values(self, corners: Corners) -> Numbers:
        """The value of the form at each corner, times ``scale`` and the common denominator of the weights."""
        points, weight_scale = corners.points, self.weight_scale
        large = int(np.abs(points).max(initial=0)) * (1 + sum(map(abs, self.weights))) * weight_scale >= MAX_INTEGER
        points = points.astype(object) if large else points
        weights = np.array([int(weight * weight_scale) for weight in self.weights], dtype=points.dtype)
        return np.asarray(points[:, 0] * weight_scale + np.maximum(points[:, 1:], 0) @ weights)

    def slopes_of_boxes(self, corners: Corners) -> list[Fraction]:
        """How the form grows along the line, in each box that extends along it."""
        rest, *own = self.slopes
        parts = [weight * slope for weight, slope in zip(self.weights, own, strict=True)]
        patterns, index = np.unique(corners.active_between(), axis=0, return_inverse=True)
        slopes = [
            rest + sum((part for part, on in zip(parts, row, strict=True) if on), ZERO) for row in patterns.tolist()
        ]
        return [slopes[k] for k in index.ravel().tolist()]

    @cached_property
    def coefficients(self) -> tuple[list[Atom], Numbers]:
        """The variables, and their coefficients in each form; tokens have no errors."""
        variables = dict.fromkeys(atom for form in self.forms for atom in form.terms if not isinstance(atom[0], Token))
        rows = [[float(form.terms.get(atom, 0)) for atom in variables] for form in self.forms]
        return list(variables), np.array(rows).reshape(len(rows), -1)

    def bound_error(self, errors: Mapping[Atom, float], tolerance: float = 1.0) -> float:
        """How far the form is from its value without errors, given bounds of the errors of all variables.

        With a ``tolerance`` below 1, a unit keeps its sign only if its error is at most this part of its distance to 0.
        """
        variables, factors = self.coefficients
        sizes = np.array([errors[atom] for atom in variables])
        beside = sum(abs(float(factor)) * errors[atom] for atom, factor in self.other.terms.items())
        if not sizes.any():
            return beside * ROUND_UP
        if self.corners is None:
            return math.inf
        weights = np.array(list(map(float, self.weights)))
        doubts = np.abs(factors[1:]) @ sizes * ROUND_UP
        pre, first = self.corners.pre, np.flatnonzero(self.corners.on_line)
        pre = pre[:1] if (self.corners.reach * tolerance <= doubts * ROUND_UP).all() else pre
        active, uncertain = pre > 0, np.abs(pre) * tolerance <= doubts * ROUND_UP
        if len(first) and len(pre) > 1:  # inside a box, a unit is uncertain only if it is so at one of its ends
            active = np.vstack([active, self.corners.active_between()])
            uncertain = np.vstack([uncertain, uncertain[first] | uncertain[first + 1]])
        others = np.array([float(self.other.terms.get(atom, 0)) for atom in variables])
        gradients = factors[0] - others + ((active & ~uncertain) * weights) @ factors[1:]
        bounds = np.abs(gradients) @ sizes + uncertain @ (np.abs(weights) * doubts)
        return (float(bounds.max(initial=0.0)) + beside) * ROUND_UP


def _cut_line(scale: int, rows: Numbers, line: Fact, slopes: Sequence[Fraction]) -> Corners | None:
    """The corners of all boxes along the line: its ends, and the points next to where a unit changes its sign.

    None if there are too many.
    """
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
        return None
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
    return Corners(scale, points[new], on_line, [int(place) * grid for place in places.tolist()])


Bounds = tuple[Column, Column]
"""The smallest and the largest value of a variable in each row of a table."""


def find_guards(analysis: Analysis, variables: Sequence[Atom], tables: FunctionTables) -> list[Guard]:
    """Return bounds of sums of some variables, and of variables in the rows of a table."""
    found = []
    bits = [atom for atom in variables if analysis.facts[atom].is_bit]
    for atoms in _group(bits):
        fact = _fact_of_sum(analysis, atoms)
        if fact.high < len(atoms) or fact.low > 0:
            found.append(Guard(frozenset(atoms), fact.low, fact.high))
    lookups = [atom for atom in bits if isinstance(atom[0], Attention) and analysis.heads[atom[0]].index is not None]
    pairs = (pair for pair in combinations(lookups, 2) if _are_exclusive(analysis, *pair))
    found += [Guard(frozenset(pair), ZERO, ONE) for pair in pairs]
    for atom in variables:
        fact, bounds = analysis.facts[atom], bounds_in_rows(analysis, tables, atom)
        for column, end, sign in zip(bounds or (), (fact.low, fact.high), (1, -1), strict=False):
            if (column.numerators * end.denominator != end.numerator * column.denominator).any():
                reach, offset = 2 * sign * fact.size, Column(-column.numerators, column.denominator)
                found.append(Guard(frozenset([atom]), min(ZERO, reach), max(ZERO, reach), offset))
    return found


def _group(bits: Iterable[Atom]) -> list[list[Atom]]:
    """Groups of bits of whose sum something may be known."""
    groups: defaultdict[object, list[Atom]] = defaultdict(list)
    for node, k in bits:
        match node:
            case Attention():
                groups[node].append((node, k))
            case Named() if "[" in node.name:
                groups[node.name.rpartition("[")[0]].append((node, k))
            case Unit():
                groups[frozenset(a for a in node.forms[k].terms if not isinstance(a[0], Token))].append((node, k))
    return [atoms for atoms in groups.values() if len(atoms) > 1]


def _fact_of_sum(analysis: Analysis, atoms: Sequence[Atom]) -> Fact:
    """What is known of a sum: for a head, of that of its values; for named numbers, of that of their forms."""
    node = atoms[0][0]
    if isinstance(node, Attention):
        fact = analysis.of(Affine.sum(node.value[k] for _, k in atoms))
        return fact.join(Fact.of([ZERO])) if node.mask in (Mask.PAST, Mask.FUTURE) else fact
    if isinstance(node, Named):
        named = [node for node, _ in atoms if isinstance(node, Named)]
        form = Affine.sum(node.forms[k] for node, (_, k) in zip(named, atoms, strict=True))
        return analysis.of(form, min(named, key=analysis.order.__getitem__))
    return analysis.of(Affine(dict.fromkeys(atoms, ONE)))


def _are_exclusive(analysis: Analysis, one: Atom, other: Atom) -> bool:
    """Whether the lemma of opposite lookups shows that at most one of two bits is 1.

    **Lemma (opposite lookups).** Let two lookups ask for the positions X and -cX, with c > 0. One of these is at most
    0, so that the lookup retrieves the value of position 0. If that is 0 for both, at most one value is not 0.
    """
    (first, k), (second, m) = one, other
    if not isinstance(first, Attention) or not isinstance(second, Attention):
        return False
    index, opposite = analysis.heads[first].index, analysis.heads[second].index
    if index is None or opposite is None or not index.terms:
        return False
    atom = next(iter(index.terms))
    factor = opposite.terms.get(atom, ZERO) / index.terms[atom]
    starts = all(
        node.mask in (Mask.CAUSAL, Mask.ALL, Mask.PAST) and analysis.first.value(value) == ZERO
        for node, value in ((first, first.value[k]), (second, second.value[m]))
    )
    return starts and factor < 0 and index * factor == opposite


def bounds_in_rows(analysis: Analysis, tables: FunctionTables, atom: Atom) -> Bounds | None:
    """Return the bounds of an atom in each row of a table; None if these are the same in all rows."""
    known = analysis.bounds_by_place if tables.has_positions else analysis.bounds_by_token

    def forms_of(node: Node) -> tuple[Affine, ...]:
        is_affine = isinstance(node, Named) or (isinstance(node, Unit) and node.activation == "relu")
        return tuple(node.inputs()) if is_affine and not tables.has(node) else ()

    for node in topological_order([Affine({atom: ONE})], forms_of, known):
        known[node] = [_bounds_of_form(analysis, tables, known, (node, k), f) for k, f in enumerate(forms_of(node))]
    return known[atom[0]][atom[1]] if known[atom[0]] else None


def _bounds_of_form(
    analysis: Analysis, tables: FunctionTables, known: Mapping[Node, Sequence[Bounds | None]], own: Atom, form: Affine
) -> Bounds | None:
    """The bounds of an atom that has the value of a form, or its positive part."""
    facts, (local, rest) = analysis.facts, tables.split(form)
    inner = {(node, k): known[node][k] if known[node] else None for node, k in rest.terms}
    fixed = [facts[own], *(facts[atom] for atom, bounds in inner.items() if bounds is None)]
    if not (local.terms or any(inner.values())) or INFINITY in (fact.size for fact in fixed):
        return None
    parts = [(ONE, (tables.column(local),) * 2)]
    parts += [(f, inner[a] or (Column.of([facts[a].low]), Column.of([facts[a].high]))) for a, f in rest.terms.items()]
    rows, fact = len(tables.rows), facts[own]
    least = sum_columns([(factor, ends[factor < 0]) for factor, ends in parts], rest.constant, rows)
    most = sum_columns([(factor, ends[factor > 0]) for factor, ends in parts], rest.constant, rows)
    return least.clip(fact), most.clip(fact)
