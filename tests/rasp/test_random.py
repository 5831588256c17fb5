"""Random programs of the tracr dialect, compared with an independent interpreter."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from softmachine import rasp
from softmachine.support.errors import ConstructionError, InputError, InvalidError
from tests.rasp.oracle import Wrong, called_with_none, evaluate

OF_SYMBOL: list[Callable[[Any], Any]] = [
    lambda t: t == "a",
    lambda t: {"a": 1, "b": 2}.get(t, 0),
    lambda t: None if t == "b" else len(t),
    ord,
]
OF_NUMBER: list[Callable[[Any], Any]] = [
    lambda x: x + 1,
    lambda x: 2 * x - 3,
    lambda x: -x,
    lambda x: abs(x - 2),
    lambda x: x if x > 1 else 0,
    lambda x: min(x, 3),
    lambda x: max(1, x) - 1,
    lambda x: x // 2,
    lambda x: x % 3,
    lambda x: x > 1,
    lambda x: not x,
    lambda x: int(x / 2),
    lambda x: round(x / 2),
    lambda x: None if x == 1 else x,
    lambda x: 0 < x <= 2,
    lambda x: x in (1, 3),
    lambda x: divmod(x, 2)[0],
]
TO_SYMBOL: list[Callable[[Any], Any]] = [
    lambda x: "a" if x > 1 else "b",
    lambda x: "c" if x == 0 else None,
    lambda x: "abc"[0] if x else "c",
]
OF_TWO: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - 2 * y,
    lambda x, y: x < y,
    lambda x, y: x == y,
    lambda x, y: x if y > 1 else -x,
    lambda x, y: x and y,
    max,
    lambda x, y: x > 0 and y > 0,
]
OF_BOTH: list[Callable[[Any, Any], Any]] = [
    lambda t, x: x if t == "a" else -1,
    lambda t, x: {"a": 2}.get(t, 0) + x,
    lambda t, x: t in "ab" and x > 1,
]
PREDICATES: list[Any] = [
    *(comparison for comparison in rasp.Comparison),
    lambda k, q: k + 1 == q,
    lambda k, q: abs(k - q) <= 1,
    lambda k, q: k < q and k > 0,
    lambda k, q: k == q or q == 0,
    lambda k, q: min(k, q) == 0,
    lambda k, q: k % 2 == q % 2,
]
OF_SYMBOLS: list[Any] = [
    rasp.Comparison.EQ,
    rasp.Comparison.LEQ,
    rasp.Comparison.NEQ,
    lambda k, q: k == "a" and q != "a",
    lambda k, q: k < q,
]
OF_MIXED: list[Any] = [
    lambda k, q: k == "a" or q > 2,
    lambda k, q: (q > 1) if k == "b" else (q == 0),
]


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def number(self, depth: int) -> rasp.SOp:
        choose = self.random.choice
        if depth == 0:
            return choose([rasp.indices, rasp.length, rasp.Full(choose([0, 1, 2, -1, True])), self.counted(1)])
        less = depth - 1
        match self.random.randrange(9):
            case 0:
                return rasp.Map(choose(OF_SYMBOL), self.symbol(less))
            case 1 | 2:
                return rasp.Map(choose(OF_NUMBER), self.number(less))
            case 3:
                return rasp.SequenceMap(choose(OF_TWO), self.number(less), self.number(less))
            case 4:
                return rasp.SequenceMap(choose(OF_BOTH), self.symbol(less), self.number(less))
            case 5:
                return rasp.LinearSequenceMap(self.number(less), self.number(less), choose([1, 2]), choose([-1, 3]))
            case 6:
                return self.counted(less)
            case 7:
                left, right = self.number(less), choose([self.number(less), 2])
                return choose([left + right, left - right, left * 2, 1 - left, left < right, left == right, ~left])
            case _:
                return rasp.Aggregate(self.selector(less), self.number(less), choose([None, 0, 1]))

    def counted(self, depth: int) -> rasp.SOp:
        return rasp.SelectorWidth(self.selector(max(depth - 1, 0)))

    def symbol(self, depth: int) -> rasp.SOp:
        choose = self.random.choice
        if depth == 0 or self.random.random() < 0.3:
            return choose([rasp.tokens, rasp.tokens, rasp.Full("b")])
        if self.random.random() < 0.5:
            return rasp.Map(choose(TO_SYMBOL), self.number(depth - 1))
        return rasp.Aggregate(self.selector(depth - 1), self.symbol(depth - 1), choose([None, "c"]))

    def selector(self, depth: int) -> rasp.Selector:
        choose = self.random.choice
        if depth == 0:
            return choose([
                rasp.Select(rasp.indices, rasp.indices, choose(PREDICATES)),
                rasp.Select(rasp.tokens, rasp.tokens, choose(OF_SYMBOLS)),
            ])  # fmt: skip
        less = depth - 1
        match self.random.randrange(6):
            case 0:
                return self.selector(less) & self.selector(less)
            case 1:
                return self.selector(less) | self.selector(less)
            case 2:
                return ~self.selector(less)
            case 3:
                return rasp.Select(self.number(less), self.number(less), choose(PREDICATES))
            case 4:
                return rasp.Select(self.symbol(less), self.number(less), choose(OF_MIXED))
            case _:
                return rasp.Select(self.symbol(less), self.symbol(less), choose(OF_SYMBOLS))


def judged(seed: int) -> str:
    """The outcome of one random program on some words: it agrees, is undefined, or is rejected."""
    generator = Generator(seed)
    sop, causal = generator.number(3), seed % 3 == 0
    verdict = "agrees"
    for length in (1, 3, 6):
        word = [generator.random.choice("abc") for _ in range(length)]
        called_with_none.clear()
        try:
            expected = evaluate(sop, word, causal=causal)
        except Wrong:
            return "undefined"
        try:
            found = rasp.evaluate(sop, word, causal=causal)
        except (InvalidError, ConstructionError):
            return "refused"
        except InputError as error:
            if called_with_none:
                return "undefined"
            raise AssertionError(f"seed {seed}: {word} has values {expected}, but {error}") from error
        plain = [float(x) if isinstance(x, Fraction) else x for x in expected]
        assert found == plain, f"seed {seed}, {word}"
    return verdict


@pytest.mark.parametrize("block", range(8))
def test_random_programs_agree_with_the_rules_of_the_dialect(block: int) -> None:
    verdicts = [judged(seed) for seed in range(100 * block, 100 * block + 25)]
    assert verdicts.count("agrees") >= 10


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_random_programs_agree(block: int) -> None:
    verdicts = [judged(seed) for seed in range(10_000 + 200 * block, 10_000 + 200 * block + 200)]
    assert verdicts.count("agrees") >= 80
