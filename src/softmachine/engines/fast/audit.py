"""Audits: random steps of a long run, done again with every score computed, in exact rational arithmetic.

For a step at position p, every head looks at every key again (no index, no closed form), every unit and every logit is
recomputed from the weights in rationals, and the token has to come out. Of the positions before p, what keys and values
are made of is taken from the run; these positions are other steps, which may be drawn as well.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast.analysis.flow import FlowHead, Position, Unit
from softmachine.engines.fast.analysis.forms import Form
from softmachine.engines.fast.analysis.grids import SAFE
from softmachine.engines.fast.tables.interpreted import Interpreted
from softmachine.errors import AmbiguousTokenError
from softmachine.transformer.attention import Choice, Mask
from softmachine.transformer.features import I_SQUARED, I

if TYPE_CHECKING:
    from softmachine.engines.fast.engine import FastPass

MOST_BYTES = 1 << 30
"""So much of a run is written down for an audit; steps beyond that are not drawn."""
MOST_DENSE = 1_000
"""Of large models, the dense engine does so many steps of a context in an audit; steps beyond that are not drawn."""


@dataclass(frozen=True)
class Difference:
    """A step that comes out differently: its position, the run's token, and the right one (None for a tie)."""

    position: int
    found: str
    right: str | None


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Args:
        steps: The positions of the steps that were done again.
        scores: How many scores were computed.
        differences: Those that came out differently.
    """

    steps: tuple[int, ...]
    scores: int
    differences: tuple[Difference, ...]

    @property
    def holds(self) -> bool:
        """Whether all steps were right."""
        return not self.differences

    def __str__(self) -> str:
        what = f"{len(self.steps)} steps done again in exact arithmetic, {self.scores:,} scores"
        return f"{what}: {f'{len(self.differences)} are wrong' if self.differences else 'all right'}"


def audit(run: FastPass, count: int, seed: int | None = None) -> Audit:
    """Do random steps of a run again."""
    made = range(run.prompt - 1, run.read)
    table = isinstance(run.engine.code, Interpreted)
    reach = min(made.stop, MOST_DENSE if table else _Auditor(run).capacity)
    return audit_of(run, audited(range(made.start, max(reach, made.start)), count, seed))


def audited(candidates: range, count: int, seed: int | None = None) -> list[int]:
    """Which of some steps to do again."""
    return sorted(random.Random(seed).sample(candidates, min(count, len(candidates))))


def audit_of(run: FastPass, steps: Sequence[int]) -> Audit:
    """Do the steps at some positions again, in rising order."""
    if isinstance(run.engine.code, Interpreted):
        return _dense_audit(run, steps)
    auditor = _Auditor(run)
    auditor.replay(steps[-1] if steps else 0)
    differences = []
    for position in steps:
        right, found = auditor.answer(position), run.said_at(position)
        if right != found:
            differences.append(Difference(position, found, right))
    return Audit(tuple(steps), auditor.scores, tuple(differences))


def _dense_audit(run: FastPass, steps: Sequence[int]) -> Audit:
    """Let the dense engine do the steps of a large model, from the first position on."""
    transformer = run.engine.transformer
    again = DenseEngine(transformer, "exact").start()
    differences, begin, heads = [], 0, len(transformer.heads)
    for position in steps:
        tokens = [run.names[code] for code in run.tokens[begin : position + 1].tolist()]
        stream = again.extend([tokens])
        try:
            right = transformer.outputs[int(again.decisions(stream[:, -1:])[0, 0])]
        except AmbiguousTokenError:
            right = None
        if right != run.said_at(position):
            differences.append(Difference(position, run.said_at(position), right))
        begin = position + 1
    return Audit(tuple(steps), heads * begin * (begin + 1) // 2, tuple(differences))


class _Auditor:
    """The run's numbers, as far as keys and values are made of them, and exact steps on top of that."""

    def __init__(self, run: FastPass) -> None:
        self.run = run
        self.flow = run.engine.flow
        self.scores = 0
        heads = [item for item in self.flow.order if isinstance(item, FlowHead)]
        used = {number for head in heads for form in (*head.key, *head.value) for number in form.terms}
        self.recorded = sorted(number for number in used if not isinstance(self.flow.atoms[number], Position))
        self.capacity = MOST_BYTES // (16 * max(len(self.recorded), 1))
        self.record: NDArray[np.int64] = np.zeros((1, 2 * max(len(self.recorded), 1)), dtype=np.int64)

    def replay(self, positions: int) -> None:
        """Write down what keys and values are made of, up to a position."""
        if self.recorded and positions:
            self.record = np.zeros((positions + 1, 2 * len(self.recorded)), dtype=np.int64)
            self.run.engine.reread(self.run.tokens[: positions + 1], self.recorded, self.record)

    def answer(self, position: int) -> str | None:
        """What the model says after a position; None if logits are equal."""
        atoms: dict[int, Fraction] = {}
        token = int(self.run.tokens[position])
        for item in self.flow.order:
            if isinstance(item, FlowHead):
                self._retrieve(item, position, token, atoms)
            elif isinstance(place := self.flow.atoms[item], Position):
                atoms[item] = place.feature.at(position)
            elif isinstance(unit := self.flow.atoms[item], Unit):
                value = _value(unit.form, token, atoms)
                atoms[item] = Fraction(int(value >= 0)) if unit.step else max(value, Fraction(0))
        logits = [_value(form, token, atoms) for form in self.flow.logits]
        best = [k for k, logit in enumerate(logits) if logit == max(logits)]
        return self.run.engine.transformer.outputs[best[0]] if len(best) == 1 else None

    def _retrieve(self, head: FlowHead, position: int, token: int, atoms: dict[int, Fraction]) -> None:
        """What a head retrieves, by computing every score."""
        results = self.flow.retrieved(head)
        query = [_value(form, token, atoms) for form in head.query]
        scores, over = self._weighted(list(zip(query, head.key, strict=True)), position)
        own = sum((q * _value(key, token, atoms) for q, key in zip(query, head.key, strict=True)), Fraction(0))
        if head.bias is not None:
            biases = [head.bias.at(j, position) for j in range(position)]
            common = lcm(over, *(bias.denominator for bias in biases))
            scores = scores.astype(object) * (common // over)
            scores, over = scores + np.array([int(bias * common) for bias in biases], dtype=object), common
            own += head.bias.at(position, position)
        self.scores += position + 1
        best = Fraction(int(scores.max()), over) if position else None
        sees_itself = head.mask is Mask.CAUSAL and (best is None or own >= best)
        chosen = np.flatnonzero(scores == scores.max()) if position else np.zeros(0, dtype=np.intp)
        if head.mask is Mask.CAUSAL and best is not None and own > best:
            chosen = chosen[:0]
        if head.weighting.choice is Choice.LEFTMOST and len(chosen):
            chosen, sees_itself = chosen[:1], False
        elif head.weighting.choice is Choice.RIGHTMOST:
            chosen = chosen[:0] if sees_itself else chosen[-1:]
        count = len(chosen) + sees_itself
        for number, component in results:
            form = head.value[component]
            total = self._total(form, chosen) + (_value(form, token, atoms) if sees_itself else 0)
            atoms[number] = total / count if count else Fraction(0)

    def _weighted(self, parts: Sequence[tuple[Fraction, Form]], positions: int) -> tuple[NDArray[Any], int]:
        """Σ weight · form at all positions before one, as integers over a common denominator."""
        columns = [(weight, *self._column(form, slice(0, positions))) for weight, form in parts]
        over = lcm(*((weight / d).denominator for weight, _, d in columns)) if columns else 1
        total: NDArray[Any] = np.zeros(positions, dtype=np.int64)
        for weight, values, d in columns:
            total = _plus(total, values, int(weight / d * over))
        return total, over

    def _total(self, form: Form, chosen: NDArray[np.intp]) -> Fraction:
        if not len(chosen):
            return Fraction(0)
        values, over = self._column(form, chosen)
        return Fraction(int(values.astype(object).sum()), over)

    def _column(self, form: Form, where: Any) -> tuple[NDArray[Any], int]:
        """The numbers of a form at some positions, as integers over a common denominator."""
        tokens = self.run.tokens[: self.run.known][where]
        table = [form.at_token(token) for token in range(self.flow.vocabulary)]
        parts: list[tuple[Fraction, NDArray[Any], int]] = []
        for number, weight in form.terms.items():
            parts.append((weight, *self._atom(number, where)))
        over = lcm(*(entry.denominator for entry in table), *((weight / d).denominator for weight, _, d in parts))
        entries = [int(entry * over) for entry in table]
        small = max(map(abs, entries)) < SAFE
        total: NDArray[Any] = np.array(entries, dtype=np.int64 if small else object)[tokens]
        for weight, values, d in parts:
            total = _plus(total, values, int(weight / d * over))
        return total, over

    def _atom(self, number: int, where: Any) -> tuple[NDArray[Any], int]:
        """The numbers of an atom at some positions, as integers over a common denominator."""
        item = self.flow.atoms[number]
        if isinstance(item, Position):
            places = np.arange(self.run.known)[where]
            if item.feature in (I, I_SQUARED):
                return (places if item.feature == I else places * places), 1
            values = [item.feature.at(int(j)) for j in places]
        else:
            k = self.recorded.index(number)
            numerators, denominators = self.record[where, 2 * k], self.record[where, 2 * k + 1]
            if not len(numerators) or (denominators == denominators[0]).all():
                return numerators, int(denominators[0]) if len(numerators) else 1
            values = [Fraction(int(n), int(d)) for n, d in zip(numerators, denominators, strict=True)]
        over = lcm(*(value.denominator for value in values))
        return np.array([int(value * over) for value in values], dtype=object), over


def _value(form: Form, token: int, atoms: dict[int, Fraction]) -> Fraction:
    return form.at_token(token) + sum((weight * atoms[n] for n, weight in form.terms.items()), Fraction(0))


def _plus(total: NDArray[Any], values: NDArray[Any], factor: int) -> NDArray[Any]:
    """The sum total + values · factor; in Python's integers if 64 bits might not do."""
    if not len(total):
        return total
    if object not in (total.dtype, values.dtype):
        size = float(np.abs(total.astype(float)).max()) + float(np.abs(values.astype(float)).max()) * abs(factor)
        if size < SAFE:
            small: NDArray[Any] = total + values * factor
            return small
    result: NDArray[Any] = total.astype(object) + values.astype(object) * factor
    return result
