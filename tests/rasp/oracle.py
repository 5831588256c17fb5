"""Independent interpreter of the tracr dialect in plain Python, with lists and fractions only."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from softmachine import rasp

called_with_none: list[object] = []
"""Predicates that were called with None: softmachine assumes that they raise an error for every None if for some."""


class Wrong(Exception):  # noqa: N818
    """The dialect defines no value here."""


def evaluate(expression: rasp.Expression, xs: Sequence[Any], *, causal: bool = False) -> list[Any]:
    """The values of a sequence operator, or the rows of a selector."""
    n = len(xs)

    def of(part: rasp.Expression) -> list[Any]:
        return evaluate(part, xs, causal=causal)

    def row(test: Any) -> list[list[bool]]:
        return [[bool((j <= i or not causal) and test(i, j)) for j in range(n)] for i in range(n)]

    match expression:
        case rasp.TokensType():
            return list(xs)
        case rasp.IndicesType():
            return list(range(n))
        case rasp.LengthType():
            return [i + 1 if causal else n for i in range(n)]
        case rasp.Full():
            return [expression.fill] * n
        case rasp.Map():
            return [None if x is None else tried(expression.f, x) for x in of(expression.inner)]
        case rasp.LinearSequenceMap():
            first, second = Fraction(expression.fst_fac), Fraction(expression.snd_fac)
            pairs = zip(of(expression.fst), of(expression.snd), strict=True)
            return [None if x is None or y is None else first * x + second * y for x, y in pairs]
        case rasp.SequenceMap():
            pairs = zip(of(expression.fst), of(expression.snd), strict=True)
            return [None if x is None or y is None else tried(expression.f, x, y) for x, y in pairs]
        case rasp.Select():
            keys, queries = of(expression.keys), of(expression.queries)
            return row(lambda i, j: compared(expression.predicate, keys[j], queries[i]))
        case rasp.SelectorAnd() | rasp.SelectorOr():
            one, other = of(expression.fst), of(expression.snd)
            both = isinstance(expression, rasp.SelectorAnd)
            return row(lambda i, j: one[i][j] and other[i][j] if both else one[i][j] or other[i][j])
        case rasp.SelectorNot():
            inner = of(expression.inner)
            return row(lambda i, j: not inner[i][j])
        case rasp.ConstantSelector():
            return row(lambda i, j: expression.value)
        case rasp.SelectorWidth():
            return [sum(chosen) for chosen in of(expression.selector)]
        case rasp.Aggregate():
            rows, values = of(expression.selector), of(expression.sop)
            selected = [[value for value, wanted in zip(values, chosen, strict=True) if wanted] for chosen in rows]
            return [aggregated(items, expression.default) for items in selected]
    raise AssertionError(expression)


def tried(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (ZeroDivisionError, TypeError):
        raise Wrong from None


def compared(predicate: Any, key: Any, query: Any) -> bool:
    if key is None or query is None:
        called_with_none.append(predicate)
    try:
        return bool(predicate(key, query))
    except TypeError:
        raise Wrong from None


def aggregated(items: list[Any], default: Any) -> Any:
    if not items:
        return default
    if all(item == items[0] for item in items) and (len(items) == 1 or items[0] is not None):
        return items[0]
    if any(isinstance(item, str) or item is None for item in items):
        raise Wrong
    return Fraction(sum(items)) / len(items)
