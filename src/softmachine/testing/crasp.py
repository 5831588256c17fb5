"""Random C-RASP programs, with a chain of thought or without."""

from __future__ import annotations

import random

from softmachine.languages.crasp import (
    AtomicTerm,
    Conditional,
    Count,
    CraspProgram,
    Definition,
    Maximum,
    Minimum,
    NamedFormula,
    NamedTerm,
    Rule,
    Term,
    TermComparison,
)
from softmachine.languages.linear import LinearExpression, Relation
from softmachine.languages.temporal import FALSE, TRUE, And, Formula, Iff, Implies, Not, Or, Symbol
from softmachine.testing.randomness import Seed, generator


class _Maker:
    """Draws formulas and terms over some tokens and names."""

    def __init__(self, rng: random.Random, tokens: tuple[str, ...]) -> None:
        self.rng = rng
        self.tokens = tokens
        self.formulas: list[str] = []
        self.terms: list[str] = []

    def formula(self, depth: int) -> Formula:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.15:
            atoms: list[Formula] = [Symbol(rng.choice(self.tokens)) for _ in range(6)]
            atoms += [NamedFormula(name) for name in self.formulas[-3:]]
            return rng.choice([*atoms, TRUE, FALSE])
        kind = rng.randrange(10)
        if kind == 0:
            return Not(self.formula(depth - 1))
        if kind in (1, 2):
            operands = tuple(self.formula(depth - 1) for _ in range(rng.randint(2, 3)))
            return And(operands) if kind == 1 else Or(operands)
        if kind == 3:
            return rng.choice([Implies, Iff])(self.formula(depth - 1), self.formula(depth - 1))
        return TermComparison(self.term(depth - 1), rng.choice(list(Relation)), self.term(depth - 2))

    def term(self, depth: int) -> Term:
        rng = self.rng
        numbers = [self.number(depth) for _ in range(rng.randint(0, 2) if depth > 0 else 0)]
        coefficients = [rng.choice([1, 1, 1, -1, 2, -3]) for _ in numbers]
        return LinearExpression(
            tuple(zip(coefficients, numbers, strict=True)), rng.choice([0, 0, 1, rng.randint(-3, 3)])
        )

    def number(self, depth: int) -> AtomicTerm:
        rng = self.rng
        kind = rng.randrange(10)
        if kind == 0 and self.terms:
            return NamedTerm(rng.choice(self.terms))
        if kind == 1:
            return Conditional(self.formula(depth - 2), self.term(depth - 1), self.term(depth - 1))
        if kind == 2:
            kinds = (Minimum, Maximum)
            return kinds[rng.randrange(2)](tuple(self.term(depth - 1) for _ in range(rng.randint(1, 2))))
        return Count(self.formula(depth - 1), rng.choice([None, None, None, "R"]))


def random_program(rng: Seed, *, with_rules: bool = True, depth: int = 4) -> CraspProgram:
    """Draw a program.

    Args:
        rng: The random generator, or a seed.
        with_rules: Whether it has a chain of thought; then some rule always applies. Else it accepts by a formula.
        depth: The maximal nesting of formulas and terms.
    """
    title = f"random {rng}" if isinstance(rng, int) else "random"
    rng = generator(rng)
    alphabet = ("a", "b", "long letter")[: rng.randint(1, 3)]
    heads = tuple(rng.sample(["ACC", "REJ", "t", "u v", "'", "a"], rng.randint(1, 4))) if with_rules else ()
    maker = _Maker(rng, tuple(dict.fromkeys((*alphabet, *heads))))
    definitions = []
    for index in range(rng.randint(0, 4)):
        body: Formula | Term
        if rng.random() < 0.5:
            body = maker.formula(depth)
            maker.formulas.append(f"f{index}")
        else:
            body = maker.term(depth)
            maker.terms.append(f"t{index}")
        name = f"{'t' if isinstance(body, LinearExpression) else 'f'}{index}"
        definitions.append(Definition(name, body))
    rules = tuple(Rule(head, maker.formula(depth)) for head in heads)
    if with_rules:
        rules += (Rule(rng.choice(heads), TRUE),)
    return CraspProgram(
        name=title,
        alphabet=alphabet,
        definitions=tuple(definitions),
        rules=rules,
        accept=None if with_rules else maker.formula(depth),
    )
