"""Linear combinations of counts in C-RASP comparisons, and names of sums and formulas in the residual stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from softmachine.languages.crasp import Count, DesugaredProgram, TermComparison, linear_counts
from softmachine.languages.linear import LinearExpression, Relation
from softmachine.languages.temporal import And, Formula, Not, Or
from softmachine.theorems.shared.recogniser_codec import unused_token


@dataclass(frozen=True)
class CountSum:
    """The linear combination of counts in a comparison, without its constant, in canonical order."""

    terms: tuple[tuple[int, Count], ...]

    @staticmethod
    @lru_cache(maxsize=1024)
    def of_comparison(comparison: TermComparison) -> CountSum:
        """The sum on the left side of a comparison with 0."""
        return CountSum(tuple(sorted(linear_counts(comparison)[0], key=lambda term: str(term[1].formula))))

    @property
    def sign(self) -> int:
        """The sign of the first coefficient."""
        return 1 if self.terms[0][0] > 0 else -1

    @property
    def with_positive_sign(self) -> CountSum:
        """The sum or its negative, whichever has a positive first coefficient."""
        return CountSum(tuple((self.sign * factor, count) for factor, count in self.terms))

    @property
    def max_contribution(self) -> int:
        """The largest absolute value that one position can contribute."""
        return sum(abs(factor) for factor, _ in self.terms)

    def __str__(self) -> str:
        return str(TermComparison(LinearExpression(self.terms), Relation.EQUAL, LinearExpression())).removesuffix(
            " = 0"
        )


EMPTY_SUM = CountSum(())
"""The empty sum; stands for the start token's bit, whose mean is 1/(i+1)."""


@dataclass(frozen=True)
class CraspNames:
    """Names of formulas and sums: the program's own, or their source text."""

    formulas: Mapping[Formula, str]
    sums: Mapping[CountSum, str]

    @staticmethod
    def of_program(plain: DesugaredProgram) -> CraspNames:
        """The names of a program."""
        formulas = {body: name for name, body in reversed(list(plain.formulas.items()))}
        formulas |= {body: f"rule {k} ({head})" for k, (head, body) in enumerate(plain.rules, start=1)}
        sums = {EMPTY_SUM: unused_token("start", plain.terms)}
        for name, term in plain.terms.items():
            if term.terms and not term.constant:
                sums.setdefault(CountSum.of_comparison(TermComparison(term, Relation.EQUAL, LinearExpression())), name)
        return CraspNames(formulas, sums)

    def __getitem__(self, formula: Formula) -> str:
        if formula in self.formulas:
            return self.formulas[formula]
        match formula:
            case Not(of):
                return f"not ({self[of]})"
            case And(operands):
                return " and ".join(self[part] if not isinstance(part, Or) else f"({self[part]})" for part in operands)
            case Or(operands):
                return " or ".join(self[part] for part in operands)
            case TermComparison(relation=Relation.AT_LEAST):
                return self.names_of_comparison(formula)[0]
            case TermComparison(relation=Relation.AT_MOST):
                return self.names_of_comparison(formula)[1]
            case TermComparison(relation=Relation.EQUAL):
                return self.names_of_comparison(formula)[0].replace("≥", "=").replace("≤", "=")
        return str(formula)

    def name_of_sum(self, of: CountSum) -> str:
        """The name of a sum."""
        return self.sums.get(of) or str(of)

    def names_of_comparison(self, comparison: TermComparison) -> tuple[str, str]:
        """The names of T ≥ 0 and T ≤ 0, as comparisons of the positive sum in T with a constant."""
        of, constant_ = CountSum.of_comparison(comparison), linear_counts(comparison)[1]
        text, bound = self.name_of_sum(of.with_positive_sign), -of.sign * constant_
        above, below = f"{text} ≥ {bound}", f"{text} ≤ {bound}"
        return (above, below) if of.sign > 0 else (below, above)
