"""Case analysis at one position: the possible combinations of values of expressions with finitely many values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeGuard

from softmachine.languages.linear import Relation
from softmachine.languages.srasp import expressions as ex
from softmachine.languages.srasp.evaluate import Meaning, meaning_of
from softmachine.languages.srasp.expressions import Expression, Value, children, show
from softmachine.languages.srasp.program import Program
from softmachine.support.errors import ConstructionError

MOST_CASES = 1 << 12


@dataclass(frozen=True)
class Side:
    """Expressions with finitely many values at one position, and their possible combinations of values.

    Args:
        atoms: The expressions.
        values: All values of each atom.
        cases: A superset of the possible combinations, with one value per atom.
    """

    atoms: tuple[Expression, ...]
    values: tuple[tuple[Value, ...], ...]
    cases: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(cls, program: Program, atoms: tuple[Expression, ...]) -> Side:
        """Compute the cases of expressions over the vectors of a program, which all depend on the same position.

        Raises:
            ConstructionError: If there are too many cases.
        """
        values = tuple(program.type_of(atom).values for atom in atoms)
        cases = _possible(program, atoms)
        if cases is None and prod(map(len, values)) <= MOST_CASES:
            cases = tuple(product(*values))
        if cases is None:
            raise ConstructionError(
                f"{' and '.join(show(atom) for atom in atoms)} together have too many values to enumerate",
                hint="define the relevant information as a separate vector",
            )
        return cls(atoms, values, cases)

    def values_of(self, atom: Expression) -> list[Value]:
        """The value of an atom in each case."""
        number = self.atoms.index(atom)
        return [case[number] for case in self.cases]

    def condition(self, numbers: list[int]) -> Expression:
        """Build an expression that is true in the cases with these indices and false in the others."""
        chosen = set(numbers)
        verdicts = {case: number in chosen for number, case in enumerate(self.cases)}
        return self._decide(tuple(range(len(self.atoms))), verdicts)

    def _decide(self, left: tuple[int, ...], verdicts: dict[tuple[Value, ...], bool]) -> Expression:
        """Build a decision tree for the verdicts of cases from the atoms with these indices."""
        if len(set(verdicts.values())) < 2:
            return ex.Truth(any(verdicts.values()))
        # An atom that determines the verdict comes first.
        number = next((number for number in left if _settles(number, verdicts)), left[0])
        others = tuple(other for other in left if other != number)
        branches: dict[Expression, list[Value]] = {}
        for value in self.values[number]:
            remaining = {case: verdict for case, verdict in verdicts.items() if case[number] == value}
            if remaining:
                branches.setdefault(self._decide(others, remaining), []).append(value)
        if len(branches) == 1:
            return next(iter(branches))
        seen = [value for values in branches.values() for value in values]
        parts = [
            test if branch == ex.Truth(True) else ex.And((test, branch))
            for branch, values in branches.items()
            if branch != ex.Truth(False)
            for test in [_test(self.atoms[number], values, seen)]
        ]
        return parts[0] if len(parts) == 1 else ex.Or(tuple(parts))


def _settles(number: int, verdicts: dict[tuple[Value, ...], bool]) -> bool:
    """Whether the value of the atom with this index determines the verdict."""
    return len({(case[number], verdict) for case, verdict in verdicts.items()}) == len(
        {case[number] for case in verdicts}
    )


def _test(atom: Expression, values: list[Value], seen: list[Value]) -> Expression:
    """Build the test whether an atom has one of these values, given that it has one of ``seen``."""
    if isinstance(values[0], bool):
        return atom if values[0] else ex.Not(atom)
    others = [value for value in seen if value not in values]
    if len(others) < len(values):
        return ex.Not(_one_of(atom, others))
    return _one_of(atom, values)


def _one_of(atom: Expression, values: list[Value]) -> Expression:
    symbols = tuple(str(value) for value in values)
    if len(symbols) == 1:
        return ex.Compare(Relation.EQUAL, atom, ex.Symbol(symbols[0]))
    return ex.Member(atom, symbols)


def _possible(program: Program, atoms: tuple[Expression, ...]) -> tuple[tuple[Value, ...], ...] | None:
    """The combinations for all values of the finite vectors in the atoms; None if there are too many.

    Comparisons of integers are treated as independent Boolean variables.
    """
    variables: dict[Expression, tuple[Value, ...]] = {}
    left = list(reversed(atoms))
    while left:
        current = left.pop()
        if isinstance(current, ex.Vector) or compares_integers(current, program):
            variables[current] = program.type_of(current).values
        else:
            left.extend(reversed(children(current)))
    if prod(map(len, variables.values())) > MOST_CASES:
        return None
    valuations = list(product(*variables.values()))
    columns = dict(zip(variables, zip(*valuations, strict=True), strict=True))

    def variable(expression: Expression) -> Meaning | None:
        column = columns.get(expression)
        return None if column is None else lambda i, _: column[i]

    meanings = [meaning_of(atom, variable) for atom in atoms]
    return tuple(dict.fromkeys(tuple(meaning(i, i) for meaning in meanings) for i in range(len(valuations))))


def compares_integers(expression: Expression, program: Program) -> TypeGuard[ex.Compare]:
    """Whether an expression over the vectors of a program is a comparison of integers."""
    return isinstance(expression, ex.Compare) and not program.type_of(expression.left).finite
