"""Random formulas of temporal logic with counting, over chosen operators."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence

from softmachine.languages.temporal import (
    FALSE,
    TRUE,
    Always,
    And,
    Count,
    CountComparison,
    Eventually,
    First,
    Formula,
    Historically,
    Iff,
    Implies,
    Last,
    LeftCount,
    LinearExpression,
    Next,
    Not,
    NumericalPredicate,
    Once,
    Or,
    Position,
    Previous,
    Relation,
    RightCount,
    Since,
    Specification,
    Symbol,
    Until,
    WitnessSemantics,
    find_symbols,
)
from softmachine.testing.randomness import Seed, generator

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
    "since!": lambda left, right: Since(left, right, WitnessSemantics.PAPER),
    "until!": lambda left, right: Until(left, right, WitnessSemantics.PAPER),
}
SEVERAL: dict[str, Callable[[tuple[Formula, ...]], Formula]] = {"and": And, "or": Or}
COUNTS: dict[str, Callable[[Formula], Count]] = {"#<": LeftCount, "#>": RightCount}
ATOMS: dict[str, Formula] = {"true": TRUE, "false": FALSE, "first": First(), "last": Last()}
POSITION_PREDICATE, COUNT_PREDICATE, COMPARISON, OF_LENGTH = "θ(i)", "θ(#)", "<=", "θ_n"

ALL = (*ATOMS, *UNARY, *BINARY, *SEVERAL, *COUNTS, POSITION_PREDICATE, COUNT_PREDICATE, COMPARISON)
"""All operators, and all kinds of atoms but symbols and predicates that depend on the length."""
BOOLEAN = ("true", "false", "not", "and", "or", "->", "<->")
"""The operators of propositional logic."""
PAST = (
    *BOOLEAN, "first", "prev", "once", "historically", "since", "since!",
    "#<", POSITION_PREDICATE, COUNT_PREDICATE, COMPARISON,
)  # fmt: skip
"""Operators whose value at a position does not depend on later positions."""


def random_formula(rng: Seed, depth: int, letters: Sequence[str], operators: Collection[str] = ALL) -> Formula:
    """Draw a formula.

    Args:
        rng: The random generator, or a seed.
        depth: The maximal nesting of operators.
        letters: The symbols that it may mention.
        operators: The operators that it may use besides symbols: names of `WHOLE_WORD`, and `OF_LENGTH` for predicates
            that depend on the length. The names of counts (``"#<"``, ``"#>"``) are the directions in which comparisons
            and predicates may count; without both there are none.
    """
    rng = generator(rng)
    counts = [COUNTS[name] for name in COUNTS if name in operators]
    atoms = [name for name in (*ATOMS, POSITION_PREDICATE) if name in operators]
    composed = [name for name in (*UNARY, *BINARY, *SEVERAL) if name in operators]
    composed += [name for name in (COUNT_PREDICATE, COMPARISON) if name in operators and counts]

    def part() -> Formula:
        return random_formula(rng, depth - 1, letters, operators)

    def linear(max_terms: int) -> LinearExpression[Count]:
        terms = tuple((rng.randint(-3, 3), rng.choice(counts)(part())) for _ in range(rng.randint(0, max_terms)))
        return LinearExpression(terms, rng.choice([0, 0, rng.randint(-4, 4)]))

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
    return CountComparison(linear(2), rng.choice(list(Relation)), linear(1))


def random_specification(rng: Seed, *, depth: int = 4, operators: Collection[str] = ALL) -> Specification:
    """Draw a formula with one to three letters and at most this nesting, together with its alphabet.

    Args:
        rng: The random generator, or a seed.
        depth: The maximal nesting of operators.
        operators: The operators, as for :func:`random_formula`.
    """
    rng = generator(rng)
    letters = ("a", "b", "c")[: rng.randint(1, 3)]
    formula = random_formula(rng, rng.randint(1, depth), letters, operators)
    alphabet = tuple(dict.fromkeys((*find_symbols(formula), *letters)))
    return Specification(name="formula", formula=formula, alphabet=alphabet)


def _predicate(rng: random.Random, number: Position | Count, of_length: bool) -> NumericalPredicate:
    name = rng.choice(["odd", "prime", "power2", "mod", *(["half", "middle", "divides", "upto"] if of_length else ())])
    if name == "upto":
        share = rng.randint(1, 4)
        return NumericalPredicate(name, number, (rng.randint(0, share), share))
    if name != "mod":
        return NumericalPredicate(name, number)
    modulus = rng.randint(1, 4)
    return NumericalPredicate(name, number, (modulus, rng.randrange(modulus)))
