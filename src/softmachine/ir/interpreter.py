"""Exact interpreter of signal graphs on a token sequence: the oracle of the compiler.

Written for readability, not speed. It checks every range, score gap and tie that the author declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from softmachine.ir.primitives import (
    Attention,
    Carried,
    Loop,
    Named,
    Norm,
    Position,
    ScoreDecay,
    Token,
    Unit,
    inputs_outside_loops,
)
from softmachine.ir.signal import Affine, Node, Signal, topological_order
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import AttentionKind
from softmachine.transformer.features import Feature

Vector = tuple[Fraction, ...]
Column = list[Vector]
"""A vector at every position."""


def evaluate(signal: Signal, tokens: Sequence[str], length: int | None = None) -> Column:
    """Return the signal's value at every position of the sequence.

    Args:
        signal: The signal to evaluate.
        tokens: The sequence.
        length: n, the length of the input word, if the signal uses it.

    Raises:
        ConstructionError: If a declaration (a range, a gap, a tie) does not hold, or a softmax has no rational value.
    """
    return _Evaluator(tokens, length, {}).evaluate(signal.forms)


class _Evaluator:
    """Values of all nodes on one sequence, each computed once."""

    def __init__(self, tokens: Sequence[str], length: int | None, known: dict[Node, Column]) -> None:
        self.tokens = tokens
        self.length = length
        self.values = known

    def evaluate(self, forms: Sequence[Affine]) -> Column:
        for node in topological_order(forms, inputs_outside_loops, self.values):
            column = self.compute(node)
            self.check_ranges(node, column)
            self.values[node] = column
        return self.forms(forms)

    def forms(self, forms: Sequence[Affine]) -> Column:
        return [tuple(self.form(form, i) for form in forms) for i in range(len(self.tokens))]

    def form(self, form: Affine, i: int) -> Fraction:
        return form.constant + sum(factor * self.values[node][i][k] for (node, k), factor in form.terms.items())

    def compute(self, node: Node) -> Column:
        match node:
            case Token():
                return list(map(node.row, self.tokens))
            case Position():
                return [(node.feature.at(i, self.length),) for i in range(len(self.tokens))]
            case Unit(activation="relu"):
                return [tuple(max(x, Fraction(0)) for x in row) for row in self.forms(node.forms)]
            case Unit(activation="step"):
                return [tuple(Fraction(x >= 0) for x in row) for row in self.forms(node.forms)]
            case Norm():
                return [_normalise(node, row) for row in self.forms(node.forms)]
            case Named():
                return self.forms(node.forms)
            case Attention():
                return self.attention(node)
            case Loop():
                return self.loop(node)
            case Carried():
                raise ConstructionError(f"{node.name!r} is read outside the loop that carries it")
        raise ConstructionError(f"unknown kind of signal node: {node!r}")

    def loop(self, node: Loop) -> Column:
        column = self.forms(node.initial)
        times = node.iterations.at(0, self.length) if isinstance(node.iterations, Feature) else node.iterations
        for _ in range(int(times)):
            self.check_ranges(node.carried, column)
            inner = _Evaluator(self.tokens, self.length, {**self.values, node.carried: column})
            column = inner.evaluate(node.body)
        return column

    def attention(self, node: Attention) -> Column:
        queries, keys, values = self.forms(node.query), self.forms(node.key), self.forms(node.value)
        zero = (Fraction(0),) * len(node.ranges)
        result: Column = []
        for i, query in enumerate(queries):
            scores = {
                j: sum((q * k for q, k in zip(query, keys[j], strict=True)), Fraction(0))
                + (node.bias.at(j, i) if node.bias else 0)
                for j in range(len(self.tokens))
                if node.mask.is_visible(j, i)
            }
            chosen = self.attended_positions(node, i, scores)
            rows = [values[j] for j in chosen]
            if node.single_key and any(row != rows[0] for row in rows):
                raise ConstructionError(f"head {node.name!r} at position {i}: tied positions {chosen} differ in value")
            mean = (sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True))
            result.append(tuple(mean) if rows else zero)
        return result

    def attended_positions(self, node: Attention, i: int, scores: dict[int, Fraction]) -> list[int]:
        """Return the positions with nonzero attention weight; all have the same weight."""
        if not scores:
            return []
        best = max(scores.values())
        winners = [j for j, score in scores.items() if score == best]
        others = [score for score in scores.values() if score != best]
        gap = node.gap.at(i, self.length) if isinstance(node.gap, Feature) else node.gap
        if gap is not None and others and best - max(others) < gap:
            raise ConstructionError(
                f"head {node.name!r} at position {i}: the gap is {best - max(others)}, less than the declared {gap}"
            )
        self.check_decay(node, i, scores, winners, gap)
        match node.weighting.kind:
            case AttentionKind.LEFTMOST:
                return winners[:1]
            case AttentionKind.RIGHTMOST:
                return winners[-1:]
            case AttentionKind.SOFTMAX if others:
                raise ConstructionError(f"head {node.name!r}: softmax of different scores has no rational value")
        return winners

    def check_decay(
        self, node: Attention, i: int, scores: dict[int, Fraction], winners: list[int], gap: Fraction | None
    ) -> None:
        """Check that the other scores decay as declared; for a flat decay the check of the gap suffices."""
        if gap is None or node.decay is ScoreDecay.FLAT:
            return
        best = scores[winners[0]]
        below = sorted(best - score for j, score in scores.items() if j not in winners)
        holds = {k: distance >= k * gap for k, distance in enumerate(below, 1)}
        if node.decay is ScoreDecay.QUADRATIC:
            away = {j: min(abs(j - winner) for winner in winners) for j in scores}
            holds = {j: best - scores[j] >= away[j] ** 2 * gap for j in scores}
        if not all(holds.values()):
            raise ConstructionError(f"head {node.name!r} at position {i}: the scores do not decay as declared")

    def check_ranges(self, node: Node, column: Column) -> None:
        for i, row in enumerate(column):
            for k, (value, kind) in enumerate(zip(row, node.ranges, strict=True)):
                if not kind.contains(value, i, len(self.tokens)):
                    raise ConstructionError(
                        f"{node.label(k)} is {value} at position {i}, outside its declared range: {kind}"
                    )


def _normalise(node: Norm, row: Vector) -> Vector:
    """Divide a row by its root mean square; a zero row stays zero."""
    square = sum((x * x for x in row), Fraction(0)) / len(row)
    if not square:
        return row
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root * root != square:
        raise ConstructionError(
            f"the layer norm {node.name!r} has no rational value: it divides by the root of {square}"
        )
    return tuple(x / root for x in row)
