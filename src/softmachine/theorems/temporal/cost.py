"""Cost parameters of temporal formulas: operator counts and nesting depths of the core form (``core``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from softmachine.languages import temporal as logic
from softmachine.languages.temporal import Formula, core, subformulas
from softmachine.theorems.cost import Expression, parameter

_COUNTING = (logic.Comparison, logic.Predicate)
_TEMPORAL = (logic.Previous, logic.Next, logic.Since, logic.Until)


def _parts(codec: Any) -> tuple[Formula, ...]:
    return subformulas(core(codec.source.formula))


def _number(symbol: str, meaning: str, *kinds: type[Formula]) -> Expression:
    """The number of subformulas of the given kinds."""
    return parameter(symbol, meaning, lambda codec: sum(isinstance(part, kinds) for part in _parts(codec)))


def nesting(parts: Iterable[Formula], *kinds: type[Formula]) -> int:
    """The nesting depth of operators of the given kinds; ``parts`` lists all subformulas, operands first."""
    depth: dict[Formula, int] = {}
    for part in parts:
        own = isinstance(part, kinds) and bool(part.parts)
        depth[part] = max((depth[inner] for inner in part.parts), default=0) + own
    return max(depth.values())


def _depth(symbol: str, meaning: str, *kinds: type[Formula]) -> Expression:
    return parameter(symbol, meaning, lambda codec: nesting(_parts(codec), *kinds))


def _predicates(codec: Any) -> int:
    return sum(isinstance(part, logic.Predicate) and bool(part.parts) for part in _parts(codec))


def _counts(codec: Any) -> int:
    sums = [len(part.difference.terms) for part in _parts(codec) if isinstance(part, logic.Comparison)]
    return sum(sums) + _predicates(codec)


_SIZE = _number("|φ|", "subformulas", Formula)
WITNESSES = _number("S", "operators since and until", logic.Since, logic.Until)
NEIGHBOURS = _number("P", "operators previous and next", logic.Previous, logic.Next)
COUNTS = parameter("C", "counts", _counts)
DEPTH = _depth("D", "nesting depth of temporal operators and counts", *_TEMPORAL, *_COUNTING)
COUNT_DEPTH = _depth("E", "nesting depth of counts", *_COUNTING)
PREDICATES = parameter("M", "predicates of counts", _predicates)
ENDS = _number("F", "number of the atoms first and last that occur (at most 2)", logic.First, logic.Last)
POINTWISE = _depth("B", "nesting depth of and and or", logic.And, logic.Or) + ENDS
WIDTH = 5 * (_SIZE + COUNTS) + parameter("|Σ|", "symbols", lambda codec: len(codec.source.alphabet)) + 5
