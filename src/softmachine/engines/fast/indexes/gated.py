"""Tables for a few kinds of keys: a parabola in an integer, and a part of the score that only the key's token decides.

"The latest token of this kind that wrote to this cell": the kind is a component of the key that the token decides, and
for every kind there is a table indexed by the cell. The best of each table are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from softmachine.engines.fast.analysis.flow import FlowHead
from softmachine.engines.fast.analysis.forms import Form, combination
from softmachine.engines.fast.analysis.grids import Grid, Linear, Number
from softmachine.engines.fast.analysis.plans import Plan
from softmachine.transformer.attention import Mask

if TYPE_CHECKING:
    from softmachine.engines.fast.analysis.planner import Planner

MOST_KINDS = 4
"""Keys of more kinds are left to the general index."""
Pair = tuple[Form, Form]


@dataclass(frozen=True, eq=False)
class Gated(Plan):
    """The score is a parabola in an integer x, plus a number for each kind of token, plus a smaller part for recency.

    Args:
        x: The key's integer, and
        square: its square, both over constants.
        vertex: Where the parabola is largest.
        curve: The coefficient of the square, below 0.
        kinds: For each token, of which kind its key is.
        extra: For each kind, what it adds to the score, over the same denominator as the curve.
        later: Of equal scores, whether the last is chosen (or else the first).
    """

    x: Linear
    square: Linear
    vertex: Linear
    curve: int
    kinds: tuple[int, ...]
    extra: tuple[Linear, ...]
    later: bool

    kind = "tables indexed by an integer"


def gated(
    planner: Planner,
    head: FlowHead,
    results: tuple[tuple[int, int], ...],
    values: tuple[Number, ...],
    pairs: tuple[Pair, ...],
    slope: Form,
) -> Gated | None:
    """A plan with a table for each kind of key; None if that cannot be proved."""
    if head.mask is not Mask.CAUSAL or not all(value.steady for value in values):
        return None
    recency = planner.numbers.linear([slope])
    if recency is None:
        return None
    for gates, first, second in _choices(pairs):
        kinds, extra = _kinds(gates, planner.flow.vocabulary)
        if len(extra) > MOST_KINDS:
            continue
        keys = [planner.numbers.linear([key]) for _, key in (first, second)]
        queries = planner.numbers.linear([*extra, first[0], second[0]])
        if not (keys[0] and keys[1] and queries):
            continue
        x, square, curve = keys[0][0], keys[1][0], queries[-1].fixed
        if x.grid != Grid() or square.grid != Grid() or not x.terms or not square.terms or curve is None or curve >= 0:
            continue
        vertex = queries[-2].divided(-2 * curve)
        later = planner.breaks_ties(head, recency[0], queries[-2].grid)
        if vertex is None or later is None or vertex.grid.power:
            continue
        numbers = tuple(Number(value.grid, min(value.low, 0), max(value.high, 0)) for value in values)
        why = (
            f"the score is {curve}·(x - q)² for integers x, and a number for each of {len(extra)} kinds of tokens; of "
            f"equal keys the {'later' if later else 'earlier'} is better by less than a step; checked for every key: "
            "its second component is x²"
        )
        return Gated(head, results, values, numbers, why, x, square, vertex, curve, kinds, tuple(queries[:-2]), later)
    return None


def _choices(pairs: tuple[Pair, ...]) -> Iterator[tuple[list[Pair], Pair, Pair]]:
    """The components that the token decides, and the two others, in both orders."""
    gates = [pair for pair in pairs if pair[1].of_token]
    rest = [pair for pair in pairs if not pair[1].of_token]
    if gates and len(rest) == 2:
        yield gates, rest[0], rest[1]
        yield gates, rest[1], rest[0]


def _kinds(gates: list[Pair], vocabulary: int) -> tuple[tuple[int, ...], list[Form]]:
    """The kind of each token, and what each kind adds to the score."""
    found: dict[tuple[Fraction, ...], int] = {}
    kinds = tuple(
        found.setdefault(tuple(key.at_token(token) for _, key in gates), len(found)) for token in range(vocabulary)
    )
    queries = [query for query, _ in gates]
    return kinds, [combination(zip(entry, queries, strict=True)) for entry in found]
