"""Random formulas of temporal logic for property tests, determined by the seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import product

from softmachine.languages.temporal import (
    FALSE,
    TRUE,
    Always,
    And,
    Comparison,
    Count,
    Eventually,
    First,
    Formula,
    Historically,
    Iff,
    Implies,
    Last,
    LeftCount,
    Linear,
    Next,
    Not,
    Once,
    Or,
    Position,
    Predicate,
    Previous,
    Reading,
    Relation,
    RightCount,
    Since,
    Symbol,
    Until,
)

UNARY: dict[str, Callable[[Formula], Formula]] = {
    "not": Not,
    "prev": Previous,
    "next": Next,
    "once": Once,
    "historically": Historically,
    "eventually": Eventually,
    "always": Always,
}
BINARY: dict[str, Callable[[Formula, Formula], Formula]] = {
    "->": Implies,
    "<->": Iff,
    "since": Since,
    "until": Until,
    "since!": lambda left, right: Since(left, right, Reading.PAPER),
    "until!": lambda left, right: Until(left, right, Reading.PAPER),
}
SEVERAL: dict[str, Callable[[tuple[Formula, ...]], Formula]] = {"and": And, "or": Or}
COUNTS: dict[str, Callable[[Formula], Count]] = {"#<": LeftCount, "#>": RightCount}
ATOMS: dict[str, Formula] = {"true": TRUE, "false": FALSE, "first": First(), "last": Last()}
POSITION_PREDICATE, COUNT_PREDICATE, COMPARISON, OF_LENGTH = "θ(i)", "θ(#)", "<=", "θ_n"

ALL = (*ATOMS, *UNARY, *BINARY, *SEVERAL, *COUNTS, POSITION_PREDICATE, COUNT_PREDICATE, COMPARISON)
BOOLEAN = ("true", "false", "not", "and", "or", "->", "<->")
PAST = (
    *BOOLEAN, "first", "prev", "once", "historically", "since", "since!",
    "#<", POSITION_PREDICATE, COUNT_PREDICATE, COMPARISON,
)  # fmt: skip
"""Operators whose value at a position is independent of later positions."""


def random_formula(rng: random.Random, depth: int, letters: Sequence[str], operators: Collection[str] = ALL) -> Formula:
    """A formula of bounded nesting depth.

    Args:
        rng: Source of randomness.
        depth: Maximum nesting depth.
        letters: The symbols that may occur.
        operators: The allowed operators: names of `ALL`, and `OF_LENGTH` for predicates that depend on
            the length, too. The names of counts restrict the direction of counts in predicates and comparisons; without
            one of the two there are no comparisons and no predicates of counts.
    """
    counts = [COUNTS[name] for name in COUNTS if name in operators]
    atoms = [name for name in (*ATOMS, POSITION_PREDICATE) if name in operators]
    composed = [name for name in (*UNARY, *BINARY, *SEVERAL) if name in operators]
    composed += [name for name in (COUNT_PREDICATE, COMPARISON) if name in operators and counts]

    def part() -> Formula:
        return random_formula(rng, depth - 1, letters, operators)

    def linear(most: int) -> Linear[Count]:
        terms = tuple((rng.randint(-3, 3), rng.choice(counts)(part())) for _ in range(rng.randint(0, most)))
        return Linear(terms, rng.choice([0, 0, rng.randint(-4, 4)]))

    if depth == 0 or not composed or rng.random() < 0.1:
        name = rng.choice(atoms) if atoms and rng.random() < 0.3 else ""
        if name == POSITION_PREDICATE:
            return _predicate(rng, Position(), OF_LENGTH in operators)
        return ATOMS[name] if name else Symbol(rng.choice(letters))
    name = rng.choice(composed)
    if name in UNARY:
        return UNARY[name](part())
    if name in BINARY:
        return BINARY[name](part(), part())
    if name in SEVERAL:
        return SEVERAL[name](tuple(part() for _ in range(rng.choice([2, 2, 3]))))
    if name == COUNT_PREDICATE:
        return _predicate(rng, rng.choice(counts)(part()), OF_LENGTH in operators)
    return Comparison(linear(2), rng.choice(list(Relation)), linear(1))


def _predicate(rng: random.Random, number: Position | Count, of_length: bool) -> Predicate:
    name = rng.choice(["odd", "prime", "power2", "mod", *(["half", "middle", "divides", "upto"] if of_length else ())])
    if name == "upto":
        share = rng.randint(1, 4)
        return Predicate(name, number, (rng.randint(0, share), share))
    if name != "mod":
        return Predicate(name, number)
    modulus = rng.randint(1, 4)
    return Predicate(name, number, (modulus, rng.randrange(modulus)))


def words(letters: Sequence[str], longest: int) -> Iterator[tuple[str, ...]]:
    """Every word up to a length, the empty one first."""
    for length in range(longest + 1):
        yield from product(letters, repeat=length)
