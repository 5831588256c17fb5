"""Whether linear constraints have a solution in the natural numbers, decided exactly: the Omega test.

W. Pugh, "The Omega test: a fast and practical integer programming algorithm for dependence analysis" (1991). It is
Fourier and Motzkin's elimination made exact for integers: an equation is solved for one of its unknowns, and an unknown
between lower and upper bounds is eliminated in the real shadow where that is exact, otherwise in the dark shadow
(where the bounds are so far apart that an integer fits) and in finitely many splinters near the lower bounds.

It is sound and complete. Its time is exponential in the worst case, so the caller gives it a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd


class OutOfBudgetError(Exception):
    """The question was too hard for the steps that were allowed."""


@dataclass
class Budget:
    """How many constraints may still be looked at."""

    left: int

    def spend(self, amount: int) -> None:
        """Take this off.

        Raises:
            OutOfBudgetError: If not so much is left.
        """
        self.left -= amount
        if self.left < 0:
            raise OutOfBudgetError


@dataclass(frozen=True)
class Constraint:
    """Σ coefficient · unknown + constant ≥ 0, or = 0. No coefficient is 0."""

    coefficients: Mapping[str, int]
    constant: int
    is_equation: bool = False

    def value(self, assignment: Mapping[str, int]) -> int:
        """The left side; unknowns that are not assigned do not count."""
        known = (factor * assignment.get(name, 0) for name, factor in self.coefficients.items())
        return sum(known) + self.constant

    def tightened(self) -> Constraint | None:
        """The same over the integers with coefficients that have no common divisor; None if it has no solution."""
        divisor = gcd(*self.coefficients.values())
        if divisor == 0:
            solvable = self.constant == 0 if self.is_equation else self.constant >= 0
            return self if solvable else None
        if self.is_equation and self.constant % divisor:
            return None
        coefficients = {name: factor // divisor for name, factor in self.coefficients.items()}
        return Constraint(coefficients, self.constant // divisor, self.is_equation)

    def substituted(self, unknown: str, by: Constraint) -> Constraint:
        """The constraint with an unknown replaced by the left side of another one."""
        factor = self.coefficients.get(unknown, 0)
        rest = {name: value for name, value in self.coefficients.items() if name != unknown}
        return combined([(1, Constraint(rest, self.constant)), (factor, by)], is_equation=self.is_equation)


def combined(parts: Iterable[tuple[int, Constraint]], more: int = 0, *, is_equation: bool = False) -> Constraint:
    """The sum of left sides, each multiplied by a number, and a number, as the left side of a constraint."""
    total: dict[str, int] = {}
    constant = more
    for factor, part in parts:
        constant += factor * part.constant
        for name, value in part.coefficients.items():
            total[name] = total.get(name, 0) + factor * value
    return Constraint({name: value for name, value in total.items() if value}, constant, is_equation)


def natural_solution(constraints: Iterable[Constraint], budget: Budget) -> dict[str, int] | None:
    """Natural numbers that satisfy all constraints, or None if there are none.

    Raises:
        OutOfBudgetError: If the budget does not suffice to find out.
    """
    given = list(constraints)
    unknowns = dict.fromkeys(name for constraint in given for name in constraint.coefficients)
    found = _solution([*given, *(Constraint({name: 1}, 0) for name in unknowns)], budget)
    return None if found is None else {name: found.get(name, 0) for name in unknowns}


def _solution(constraints: list[Constraint], budget: Budget) -> dict[str, int] | None:
    """Integers that satisfy all constraints; unknowns that are left out may be 0."""
    reduced = _reduced(constraints, budget)
    if reduced is None or not reduced:
        return reduced if reduced is None else {}
    equation = next((constraint for constraint in reduced if constraint.is_equation), None)
    if equation is not None:
        return _with_equation(equation, reduced, budget)
    return _without_equations(reduced, budget)


def _reduced(constraints: list[Constraint], budget: Budget) -> list[Constraint] | None:
    """The constraints, tightened, of those with the same coefficients only the strictest; None if they contradict."""
    budget.spend(len(constraints) + 1)
    strictest: dict[frozenset[tuple[str, int]], int] = {}
    equations: list[Constraint] = []
    for constraint in constraints:
        tight = constraint.tightened()
        if tight is None:
            return None
        if tight.is_equation and tight.coefficients:
            equations.append(tight)
        elif tight.coefficients:
            key = frozenset(tight.coefficients.items())
            strictest[key] = min(tight.constant, strictest.get(key, tight.constant))
    # In the order of the constraints, which does not depend on hashes.
    return equations + [Constraint(dict(sorted(key)), constant) for key, constant in strictest.items()]


def _with_equation(equation: Constraint, constraints: list[Constraint], budget: Budget) -> dict[str, int] | None:
    """Solve an equation for the unknown with the smallest coefficient, and go on without it."""
    others = [constraint for constraint in constraints if constraint is not equation]
    unknown = min(equation.coefficients, key=lambda name: abs(equation.coefficients[name]))
    factor = equation.coefficients[unknown]
    if abs(factor) != 1:
        # unknown = fresh - Σ ⌊coefficient / factor⌋ · other: then the equation has smaller coefficients, as in Euclid's
        # algorithm, and the number of such steps is logarithmic.
        fresh = f"{unknown}′"
        while any(fresh in constraint.coefficients for constraint in constraints):
            fresh += "′"
        quotients = {name: -(value // factor) for name, value in equation.coefficients.items() if name != unknown}
        by = combined([(1, Constraint(quotients, 0)), (1, Constraint({fresh: 1}, 0))])
        others.insert(0, equation)  # it stays the first, and so the one to be solved
    else:
        rest = {name: -factor * value for name, value in equation.coefficients.items() if name != unknown}
        by = Constraint(rest, -factor * equation.constant)
    found = _solution([constraint.substituted(unknown, by) for constraint in others], budget)
    return None if found is None else {**found, unknown: by.value(found)}


def _without_equations(constraints: list[Constraint], budget: Budget) -> dict[str, int] | None:
    """Eliminate the unknown that costs the least."""
    unknown = _cheapest(constraints)
    lower = [constraint for constraint in constraints if constraint.coefficients.get(unknown, 0) > 0]
    upper = [constraint for constraint in constraints if constraint.coefficients.get(unknown, 0) < 0]
    others = [constraint for constraint in constraints if unknown not in constraint.coefficients]
    if _is_exact(lower, upper, unknown):
        found = _solution(others + _shadow(lower, upper, unknown, dark=False), budget)
        return None if found is None else {**found, unknown: _between(lower, upper, unknown, found)}
    found = _solution(others + _shadow(lower, upper, unknown, dark=True), budget)
    if found is not None:
        return {**found, unknown: _between(lower, upper, unknown, found)}
    steepest = max(-constraint.coefficients[unknown] for constraint in upper)
    for bound in lower:
        factor = bound.coefficients[unknown]
        for distance in range((steepest * factor - steepest - factor) // steepest + 1):
            budget.spend(len(constraints))
            splinter = Constraint(bound.coefficients, bound.constant - distance, is_equation=True)
            found = _solution([*constraints, splinter], budget)
            if found is not None:
                return found
    return None


def _cheapest(constraints: list[Constraint]) -> str:
    """The unknown whose elimination is exact if there is one, and makes the fewest constraints."""

    def cost(unknown: str) -> tuple[bool, int]:
        lower = [constraint for constraint in constraints if constraint.coefficients.get(unknown, 0) > 0]
        upper = [constraint for constraint in constraints if constraint.coefficients.get(unknown, 0) < 0]
        return not _is_exact(lower, upper, unknown), len(lower) * len(upper) - len(lower) - len(upper)

    return min(dict.fromkeys(name for constraint in constraints for name in constraint.coefficients), key=cost)


def _is_exact(lower: list[Constraint], upper: list[Constraint], unknown: str) -> bool:
    """Whether between a lower and an upper bound that leave room for a real number there is always an integer."""
    return all(bound.coefficients[unknown] == 1 for bound in lower) or all(
        bound.coefficients[unknown] == -1 for bound in upper
    )


def _shadow(lower: list[Constraint], upper: list[Constraint], unknown: str, *, dark: bool) -> list[Constraint]:
    """What is left of the bounds without the unknown: room for a real number, or (dark) surely for an integer."""
    shadow = []
    for below in lower:
        for above in upper:
            low, high = below.coefficients[unknown], -above.coefficients[unknown]
            slack = (low - 1) * (high - 1) if dark else 0
            shadow.append(combined([(high, below), (low, above)], -slack))
    return shadow


def _between(lower: list[Constraint], upper: list[Constraint], unknown: str, found: Mapping[str, int]) -> int:
    """The integer next to 0 that is between the bounds, for values of the other unknowns for which there is one."""
    known = {name: value for name, value in found.items() if name != unknown}
    lows = [-(bound.value(known) // bound.coefficients[unknown]) for bound in lower]
    highs = [bound.value(known) // -bound.coefficients[unknown] for bound in upper]
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and low > 0:
        return low
    return high if high is not None and high < 0 else 0
