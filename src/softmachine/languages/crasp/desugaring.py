"""Desugaring of C-RASP: no names, no conditional terms, only not, and, or and comparisons of counts with 0.

A comparison with a conditional term is split by the condition::

    (p ? s : t) + u >= 0    is    p and s + u >= 0 or not p and t + u >= 0

min(s, t) is s <= t ? s : t, and max(s, t) is s >= t ? s : t. So the number of cases is the product over the
conditional terms of a comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TypeAlias

from softmachine.languages.crasp.program import CraspProgram, NamedFormula, TermComparison
from softmachine.languages.crasp.terms import AtomicTerm, Conditional, Count, Maximum, Minimum, NamedTerm, Term
from softmachine.languages.linear import LinearExpression, Relation
from softmachine.languages.temporal.formula import (
    FALSE,
    TRUE,
    And,
    BooleanConstant,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    subformulas,
)
from softmachine.languages.temporal.structure import conjunction, disjunction
from softmachine.support.errors import ConstructionError

MAX_OPERANDS = 256
"""Nested conjunctions (or disjunctions) are flattened as long as the result has at most this number of operands."""
MAX_CASES = 1024
"""Maximum number of cases of a term."""

Case: TypeAlias = tuple[tuple[Formula, ...], LinearExpression[AtomicTerm]]
"""Conditions, and the linear combination of counts that a term equals under them. At every position exactly one case of
a term applies."""


@dataclass(frozen=True)
class DesugaredProgram:
    """A desugared program.

    Its formulas consist of `Symbol`, `BooleanConstant`, `Not`, `AigerAnd`, `Or` and `Comparison`; the left side of a
    comparison is a linear combination of different counts (at least one) plus a constant, the right side is 0.

    Args:
        rules: Tokens and bodies.
        accept: The acceptance formula, which is true at the last position of accepted words; None if there are rules.
        formulas: Desugared formulas by name.
        terms: Desugared terms by name, if they have a single case.
    """

    rules: tuple[tuple[str, Formula], ...]
    accept: Formula | None
    formulas: Mapping[str, Formula]
    terms: Mapping[str, LinearExpression[AtomicTerm]]


def desugar(program: CraspProgram) -> DesugaredProgram:
    """Desugar a program.

    Raises:
        ConstructionError: If a term has too many cases.
    """
    expansion = _Desugarer()
    for definition in program.definitions:
        if isinstance(definition.body, LinearExpression):
            expansion.terms[definition.name] = expansion.cases(definition.body)
        else:
            expansion.formulas[definition.name] = expansion.formula(definition.body)
    return DesugaredProgram(
        tuple((rule.token, expansion.formula(rule.body)) for rule in program.rules),
        None if program.accept is None else expansion.formula(program.accept),
        expansion.formulas,
        {name: cases[0][1].collect_terms() for name, cases in expansion.terms.items() if len(cases) == 1},
    )


class _Desugarer:
    """Environment of desugared definitions, with a memo of desugared formulas."""

    def __init__(self) -> None:
        self.formulas: dict[str, Formula] = {}
        self.terms: dict[str, list[Case]] = {}
        self._done: dict[Formula, Formula] = {}

    def formula(self, formula: Formula) -> Formula:
        """Desugar a formula."""
        for part in subformulas(formula):
            if part not in self._done:
                self._done[part] = self._desugar(part)
        return self._done[formula]

    def _desugar(self, formula: Formula) -> Formula:
        done = self._done
        match formula:
            case NamedFormula(name):
                return self.formulas[name]
            case Not(of):
                return negate(done[of])
            case And(operands):
                return conjoin(done[operand] for operand in operands)
            case Or(operands):
                return disjoin(done[operand] for operand in operands)
            case Implies(left, right):
                return disjoin([negate(done[left]), done[right]])
            case Iff(left, right):
                one, two = done[left], done[right]
                return disjoin([conjoin([one, two]), conjoin([negate(one), negate(two)])])
            case TermComparison(left, relation, right):
                cases = _sum_cases([(1, self.cases(left)), (-1, self.cases(right))])
                return disjoin(conjoin([*conditions, _compare_with_zero(case, relation)]) for conditions, case in cases)
            case _:
                return formula

    def cases(self, term: Term) -> list[Case]:
        """The cases of a term."""
        numbers = [(coefficient, self._number(number)) for coefficient, number in term.collect_terms().terms]
        return _sum_cases([*numbers, (1, [((), LinearExpression((), term.constant))])])

    def _number(self, number: AtomicTerm) -> list[Case]:
        match number:
            case Count(of, relation):
                return [((), LinearExpression(((1, Count(self.formula(of), relation)),)))]
            case NamedTerm(name):
                return self.terms[name]
            case Conditional(condition, then, otherwise):
                return _conditional_cases(self.formula(condition), self.cases(then), self.cases(otherwise))
            case Minimum(of):
                return reduce(lambda one, two: _extremum_cases(one, Relation.AT_MOST, two), map(self.cases, of))
            case Maximum(of):
                return reduce(lambda one, two: _extremum_cases(one, Relation.AT_LEAST, two), map(self.cases, of))


def linear_counts(comparison: TermComparison) -> tuple[tuple[tuple[int, Count], ...], int]:
    """The left side of a desugared comparison: coefficients with counts, and the constant."""
    terms = tuple((coefficient, number) for coefficient, number in comparison.left.terms if isinstance(number, Count))
    if len(terms) < len(comparison.left.terms) or comparison.right != LinearExpression():
        raise TypeError(f"{comparison} is not a desugared comparison")
    return terms, comparison.left.constant


def negate(formula: Formula) -> Formula:
    """Negate a formula, without double negation."""
    match formula:
        case BooleanConstant(value):
            return FALSE if value else TRUE
        case Not(of):
            return of
        case _:
            return Not(formula)


def conjoin(formulas: Iterable[Formula]) -> Formula:
    """The conjunction of formulas, simplified: without constants and duplicates, and flattened."""
    operands = _distinct_operands(formulas, And, TRUE, FALSE)
    return FALSE if FALSE in operands else conjunction(operands)


def disjoin(formulas: Iterable[Formula]) -> Formula:
    """The disjunction of formulas, simplified: without constants and duplicates, and flattened."""
    operands = _distinct_operands(formulas, Or, FALSE, TRUE)
    return TRUE if TRUE in operands else disjunction(operands)


def _distinct_operands(
    formulas: Iterable[Formula], connective: type[And | Or], neutral: Formula, decisive: Formula
) -> dict[Formula, None]:
    """The distinct operands of a conjunction or disjunction; the absorbing one alone, if it is among them."""
    operands: dict[Formula, None] = {}
    for formula in formulas:
        if formula == decisive:
            return {decisive: None}
        # Nested definitions could make the lists grow without bound; beyond a length, nesting is kept.
        inner = formula.operands if isinstance(formula, connective) else ()
        if inner and len(operands) + len(inner) <= MAX_OPERANDS:
            operands.update(dict.fromkeys(inner))
        elif formula != neutral:
            operands[formula] = None
    return operands


def _compare_with_zero(total: LinearExpression[AtomicTerm], relation: Relation) -> Formula:
    """The comparison of a linear expression with 0; a constant if it has no counts."""
    merged = total.collect_terms()
    if not merged.terms:
        return TRUE if relation.holds(merged.constant, 0) else FALSE
    return TermComparison(merged, relation, LinearExpression())


def _sum_cases(summands: list[tuple[int, list[Case]]]) -> list[Case]:
    """The cases of a sum: all combinations of cases of the summands that are not contradictory."""
    results: list[Case] = [((), LinearExpression())]
    for coefficient, cases in summands:
        joined = (
            (tuple(dict.fromkeys(before + conditions)), total + coefficient * summand)
            for (before, total), (conditions, summand) in product(results, cases)
        )
        results = _check_case_count([case for case in joined if _is_consistent(case[0])])
    return results


def _is_consistent(conditions: tuple[Formula, ...]) -> bool:
    """Whether conditions are free of syntactic contradictions."""
    known = set(conditions)
    return FALSE not in known and not any(negate(condition) in known for condition in conditions)


def _check_case_count(cases: list[Case]) -> list[Case]:
    """Check the number of cases."""
    if len(cases) > MAX_CASES:
        raise ConstructionError(
            f"a term with conditions, minima or maxima has more than {MAX_CASES:,} cases",
            hint="use fewer such terms in one comparison",
        )
    return cases


def _conditional_cases(condition: Formula, then: list[Case], otherwise: list[Case]) -> list[Case]:
    """The cases of a conditional term."""
    if isinstance(condition, BooleanConstant):
        return then if condition.value else otherwise
    opposite = negate(condition)
    chosen = [((condition, *conditions), total) for conditions, total in then]
    chosen += [((opposite, *conditions), total) for conditions, total in otherwise]
    return _check_case_count([case for case in chosen if _is_consistent(case[0])])


def _extremum_cases(one: list[Case], relation: Relation, two: list[Case]) -> list[Case]:
    """The cases of the minimum (``<=``) or the maximum (``>=``) of two terms."""
    results: list[Case] = []
    for (first, left), (second, right) in product(one, two):
        results += [
            ((*first, *second, *conditions), total)
            for conditions, total in _conditional_cases(
                _compare_with_zero(left - right, relation), [((), left)], [((), right)]
            )
        ]
    return _check_case_count([case for case in results if _is_consistent(case[0])])
