"""What formulas, programs and counter machines cost."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from functools import partial

from softmachine.languages import counter, crasp, srasp
from softmachine.languages.temporal import Specification
from softmachine.testing.crasp import random_program
from softmachine.testing.temporal import ALL, COMPARISON, COUNT_PREDICATE, PAST, random_formula
from tests.theorems.costs.family import SIX, Family, Made

COUNTING = (COMPARISON, COUNT_PREDICATE)
RANDOM = tuple(range(12))


def nested(pattern: str, depth: int) -> str:
    found = "Q_b"
    for _ in range(depth):
        found = pattern.replace("@", found)
    return found


PREVIOUS, NEXT, SINCE, COUNT = "prev (@)", "next (@)", "not (Q_a since (@))", "#<[@] >= 2"
PREDICATE = "odd(#<[@])"
OURS = (PREVIOUS, SINCE, COUNT)
OPERATORS: dict[str, tuple[str, ...]] = {
    "temporal-encoder": (*OURS, NEXT),
    "temporal-masked": OURS,
    "temporal-encoder-unbounded-positions": (*OURS, NEXT),
    "temporal-masked-unbounded-positions": OURS[:2],
    "temporal-encoder-paper-positions": (*OURS, NEXT),
    "temporal-masked-paper-positions": OURS,
    "temporal-encoder-unbounded-paper-positions": OURS,
    "temporal-masked-unbounded-paper-positions": OURS[:2],
    "temporal-unique-hard": (PREVIOUS, NEXT, SINCE),
    "temporal-layer-norm": (PREVIOUS, NEXT, SINCE, COUNT, PREDICATE),
}


def formulas() -> Iterator[Family]:
    """Operators that are nested once, twice, … six times, and random formulas."""
    for theorem, operators in OPERATORS.items():
        tight: tuple[str, ...] = ("heads",) if theorem == "temporal-unique-hard" else ("heads", "layers")
        tight = () if theorem.endswith(("paper-positions", "norm")) else tight
        for operator in operators:
            yield Family(theorem, operator, SIX, partial(nested_source, operator), tight)
        kinds = [kind for kind in (PAST if "masked" in theorem else ALL) if kind not in COUNTING or COUNT in operators]
        if theorem == "temporal-layer-norm":  # refuses comparisons of counts in both directions
            kinds.remove("#>")
        yield Family(theorem, "random formulas", RANDOM, partial(sample, kinds))


def nested_source(pattern: str, depth: int) -> Made:
    return nested(pattern, depth), None


def sample(operators: Collection[str], seed: int) -> Made:
    formula = random_formula(random.Random(seed), 1 + seed % 4, "ab", operators)
    return Specification(name="sample", formula=formula, alphabet=("a", "b")), None


def comparisons(depth: int) -> crasp.CraspProgram:
    found = "Q_a"
    for _ in range(depth):
        found = f"#[{found}] > #[Q_b]"
    return crasp.parse(f"alphabet a b\naccept {found}")


def side_by_side(count: int) -> crasp.CraspProgram:
    """Comparisons of one depth, which share a head."""
    return crasp.parse("alphabet a b\n" + "accept " + " or ".join(f"#[Q_a] = {k}" for k in range(count)))


def through_relation(count: int) -> crasp.CraspProgram:
    pairs = list(zip("abcdefg", "bcdefga", strict=True))[:count]
    wanted = " and ".join(f"#R[Q_{one}] = #[Q_{other}]" for one, other in pairs)
    return crasp.parse(f"alphabet a b c d e f g\naccept {wanted}")


def operators(count: int) -> crasp.CraspProgram:
    found = "#[Q_a] > #[Q_b]"
    for k in range(count):
        found = f"({found} {'and' if k % 2 else 'or'} #[Q_a] < {k + 3})"
    return crasp.parse(f"alphabet a b\naccept {found}")


def programs_of_counts() -> Iterator[Family]:
    """C-RASP: nested counts, counts side by side, counts through R, Boolean operators, and random programs."""
    for name in ("crasp", "crasp-relu-max-length", "crasp-layer-norm"):
        yield Family(name, "nested", SIX, lambda k: (comparisons(k), 64), ("heads", "layers"))
        yield Family(name, "operators", SIX, lambda k: (operators(k), 64), ("heads", "layers"))
    for name in ("crasp", "crasp-relu", "crasp-relu-max-length", "crasp-layer-norm"):
        yield Family(name, "side by side", SIX, lambda k: (side_by_side(k), 64), ("heads",))
        yield Family(name, "through R", SIX, lambda k: (through_relation(k), 64), ("heads",))
    seeds = (*range(10), 11, 13)  # programs that the theorem does not refuse
    yield Family("crasp", "random programs", seeds, lambda seed: (random_program(seed, with_rules=seed % 2 == 0), None))


def dividing(counters: int, order: str = "") -> counter.CounterMachine:
    """Is every counter even? Two transitions and a half for each."""
    letters = "abcdefgh"[:counters]
    after = [*(f"q{k}" for k in range(1, counters)), "yes"]
    rules = [
        f"q{k}: {x} >= 2 -> q{k}: {x} -= 2\nq{k}: {x} = 0 -> {after[k]}\nq{k}: {x} = 1 -> no"
        for k, x in enumerate(letters)
    ]
    text = f"input {' '.join(letters)}\n{order}\nstart q0\naccept yes\nreject no\n" + "\n".join(rules)
    return counter.parse(text)


def counter_machines() -> Iterator[Family]:
    """Counter machines: one head whatever the number of counters is; one more for letters in order."""
    for name in ("counter", "counter-relu", "counter-relu-max-length"):
        yield Family(name, "any order", SIX, lambda k: (dividing(k), 40), ("heads",))
    yield Family("counter", "in order", (2, 3, 4, 5, 6, 7), lambda k: (dividing(k, "order"), None), ("heads",))


def attentions(count: int) -> srasp.SraspProgram:
    lines = [
        f"v{k}(i) = rightmost j < i where in(j) = 'a' : {'in(j)' if k == 1 else f'v{k - 1}(j)'} else 'a'"
        for k in range(1, count + 1)
    ]
    return srasp.parse("\n".join(["alphabet a b", *lines, f"output v{count}\n"]), name="attentions")


def prefix_sum(largest: int, least: int) -> srasp.SraspProgram:
    text = f"alphabet a b\ns(i) = psum j : ({largest} if in(j) = 'a' else {least})\nf(i) = s(i) = 4\noutput f\n"
    return srasp.parse(text, name="sum")
