"""What formulas, programs and counter machines cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from softmachine.languages import counter, crasp, srasp
from tests.theorems.costs.family import SIX, Family, Promised


def nested(pattern: str, depth: int) -> str:
    found = "Q_b"
    for _ in range(depth):
        found = pattern.replace("@", found)
    return found


@dataclass(frozen=True)
class Operator:
    """A temporal operator that is nested: heads and layers for each, and once, and coordinates for each."""

    pattern: str
    heads: int
    layers: int
    width: int
    once: tuple[int, int] = (0, 0)


PREVIOUS, SINCE, COUNT = "prev (@)", "not (Q_a since (@))", "#<[@] >= 2"
OURS = (Operator(PREVIOUS, 2, 2, 5), Operator(SINCE, 1, 2, 3), Operator(COUNT, 2, 3, 4))
UNIQUE = (Operator(PREVIOUS, 1, 2, 3), Operator("next (@)", 1, 1, 2), Operator(SINCE, 1, 3, 4))
COSTS_OF_FORMULAS: dict[str, tuple[tuple[str, ...], tuple[Operator, ...]]] = {
    "temporal-encoder": ((), OURS),
    "temporal-masked": ((), OURS),
    "temporal-encoder-unbounded": ((), OURS),
    "temporal-masked-unbounded": ((), OURS[:2]),
    "temporal-encoder-literal": (
        ("two uniform heads and at most two layers for each of 1/(i+1) and 1/(n-i+1)",),
        (Operator(PREVIOUS, 2, 2, 5, (2, 1)), Operator(SINCE, 1, 2, 3), Operator(COUNT, 2, 3, 4, (2, 0))),
    ),
    "temporal-masked-literal": (
        ("two uniform heads and at most two layers for each of 1/(i+1) and 1/(n-i+1)",),
        (Operator(PREVIOUS, 2, 2, 5, (2, 2)), Operator(SINCE, 1, 2, 3, (2, 1)), Operator(COUNT, 2, 3, 4, (2, 0))),
    ),
    "temporal-encoder-unbounded-literal": (
        (),
        (Operator(PREVIOUS, 2, 2, 5, (2, 1)), Operator(SINCE, 1, 2, 3), Operator(COUNT, 2, 3, 4, (2, 0))),
    ),
    "temporal-masked-unbounded-literal": (
        (),
        (Operator(PREVIOUS, 2, 2, 5, (2, 2)), Operator(SINCE, 1, 2, 3, (2, 1))),
    ),
    "unique-hard": ((), UNIQUE),
    "temporal-layer-norm": (
        ("one for each count and each 1/(i+1), one for each predicate of a count",),
        (*UNIQUE, Operator(COUNT, 1, 2, 3, (1, 0)), Operator("odd(#<[@])", 2, 3, 6, (1, 0))),
    ),
}


OTHERWISE = "two layers for each that is nested, three for counts"
LAYERS = {
    "unique-hard": "for each that is nested one layer (next), two (previous) or three",
    "temporal-layer-norm": "at most three layers for each that is nested",
}


def formulas() -> Iterator[Family]:
    """Operators that are nested once, twice, … six times."""
    for theorem, (words, operators) in COSTS_OF_FORMULAS.items():
        said = (*words, LAYERS.get(theorem, OTHERWISE), "width O(|φ|)")
        yield from (_nested(theorem, said, operator) for operator in operators)


def _nested(theorem: str, words: tuple[str, ...], operator: Operator) -> Family:
    def promised(depth: int, _: object) -> Promised:
        heads, layers = operator.once
        return {"heads": operator.heads * depth + heads, "layers": operator.layers * depth + layers}

    return Family(
        theorem, operator.pattern, words, SIX, lambda depth: (nested(operator.pattern, depth), None), promised
    )


def comparisons(depth: int) -> crasp.Program:
    found = "Q_a"
    for _ in range(depth):
        found = f"#[{found}] > #[Q_b]"
    return crasp.parse(f"alphabet a b\naccept {found}")


def side_by_side(count: int) -> crasp.Program:
    """Comparisons of one depth, which share a head."""
    return crasp.parse("alphabet a b\n" + "accept " + " or ".join(f"#[Q_a] = {k}" for k in range(count)))


def through_relation(count: int) -> crasp.Program:
    pairs = list(zip("abcdefg", "bcdefga", strict=True))[:count]
    wanted = " and ".join(f"#R[Q_{one}] = #[Q_{other}]" for one, other in pairs)
    return crasp.parse(f"alphabet a b c d e f g\naccept {wanted}")


def operators(count: int) -> crasp.Program:
    found = "#[Q_a] > #[Q_b]"
    for k in range(count):
        found = f"({found} {'and' if k % 2 else 'or'} #[Q_a] < {k + 3})"
    return crasp.parse(f"alphabet a b\naccept {found}")


DEPTHS = ("a head for each depth of counts", "a layer a depth and a Boolean operator")


def programs_of_counts() -> Iterator[Family]:
    """C-RASP: nested counts, counts side by side, counts through R, Boolean operators."""
    for name in ("crasp", "crasp-relu-bounded", "crasp-layer-norm"):
        yield Family(
            name, "nested", DEPTHS, SIX, lambda k: (comparisons(k), 64), lambda k, _: {"heads": k, "layers": k}
        )
        yield Family(
            name,
            "operators",
            DEPTHS[1:],
            SIX,
            lambda k: (operators(k), 64),
            lambda k, _: {"heads": 1, "layers": 1 + k},
        )
    for name in ("crasp", "crasp-relu", "crasp-relu-bounded", "crasp-layer-norm"):
        yield Family(name, "side by side", DEPTHS[:1], SIX, lambda k: (side_by_side(k), 64), lambda _k, _: {"heads": 1})
        yield Family(
            name,
            "through R",
            ("two for each comparison through R",),
            SIX,
            lambda k: (through_relation(k), 64),
            lambda k, _: {"heads": 1 + 2 * k, "layers": 1 if k == 1 else 2},
        )


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
    for name in ("counter", "counter-relu", "counter-relu-bounded"):
        yield Family(
            name, "any order", DEPTHS, SIX, lambda k: (dividing(k), 40), lambda _k, _: {"heads": 1, "layers": 2}
        )
    yield Family(
        "counter",
        "in order",
        DEPTHS,
        (2, 3, 4, 5, 6, 7),
        lambda k: (dividing(k, "order"), None),
        lambda k, _: {"heads": 2, "layers": 5 if k == 2 else 6},
    )


def attentions(count: int) -> srasp.Program:
    lines = [
        f"v{k}(i) = rightmost j < i where in(j) = 'a' : {'in(j)' if k == 1 else f'v{k - 1}(j)'} else 'a'"
        for k in range(1, count + 1)
    ]
    return srasp.parse("\n".join(["alphabet a b", *lines, f"output v{count}\n"]), name="attentions")


def prefix_sum(largest: int, least: int) -> srasp.Program:
    text = f"alphabet a b\ns(i) = psum j : ({largest} if in(j) = 'a' else {least})\nf(i) = s(i) = 4\noutput f\n"
    return srasp.parse(text, name="sum")


SUM = "one for the mean of a prefix sum and one for each multiple of n that it can reach"


def vectors() -> Iterator[Family]:
    """S-RASP: attentions and prefix sums."""
    yield Family(
        "srasp",
        "attentions",
        ("one head an attention",),
        SIX,
        lambda k: (attentions(k), None),
        lambda k, _: {"heads": k, "layers": k},
    )
    yield Family("srasp", "sums from 0", (SUM,), SIX, lambda k: (prefix_sum(k, 0), None), lambda k, _: {"heads": 1 + k})
    yield Family("srasp", "sums", (SUM,), SIX, lambda k: (prefix_sum(k, -k), None), lambda k, _: {"heads": 1 + 2 * k})
