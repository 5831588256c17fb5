"""Normal form of S-RASP programs, with at most one operation per definition; and the list of operations.

Their attention predicates are decomposed into disjoint products: S(i, j) = Σ_k A_k(i) · B_k(j).

In this form an inner product computes a predicate: the query holds all A_k(i), the key all B_k(j), and their inner
product is 1 where the predicate holds and 0 elsewhere. A product may also require equalities of integers, X(i) = Y(j).

The atoms of a predicate are its maximal parts that depend on one position only. All combinations of their values are
enumerated, and cases at i with equal rows are merged (or cases at j with equal columns, if that gives fewer products).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeAlias, TypeGuard

from softmachine.languages.linear import Relation
from softmachine.languages.srasp import ast as ex
from softmachine.languages.srasp.ast import (
    Attention,
    Compare,
    Expression,
    PrefixSum,
    Value,
    VectorRead,
    children,
    format_expression,
    free_indices,
    map_children,
    move_to_i,
    walk,
)
from softmachine.languages.srasp.inference import IntegerEquality, separate_positions
from softmachine.languages.srasp.interpreter import Denotation, denotation_of
from softmachine.languages.srasp.program import Definition, SraspProgram
from softmachine.support.errors import ConstructionError

MAX_CASES = 1 << 12


@dataclass(frozen=True)
class PositionCases:
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
    def enumerate(cls, program: SraspProgram, atoms: tuple[Expression, ...]) -> PositionCases:
        """Compute the cases of expressions over the vectors of a program, which all depend on the same position.

        Raises:
            ConstructionError: If there are too many cases.
        """
        values = tuple(program.type_of(atom).values for atom in atoms)
        cases = _enumerate_cases(program, atoms)
        if cases is None and prod(map(len, values)) <= MAX_CASES:
            cases = tuple(product(*values))
        if cases is None:
            raise ConstructionError(
                f"{' and '.join(format_expression(atom) for atom in atoms)} together have too many values to enumerate",
                hint="define the relevant information as a separate vector",
            )
        return cls(atoms, values, cases)

    def values_of(self, atom: Expression) -> list[Value]:
        """The value of an atom in each case."""
        number = self.atoms.index(atom)
        return [case[number] for case in self.cases]

    def select_cases(self, indices: list[int]) -> Expression:
        """Build an expression that is true in the cases with these indices and false in the others."""
        chosen = set(indices)
        verdicts = {case: number in chosen for number, case in enumerate(self.cases)}
        return self._decide(tuple(range(len(self.atoms))), verdicts)

    def _decide(self, left: tuple[int, ...], verdicts: dict[tuple[Value, ...], bool]) -> Expression:
        """Build a decision tree for the verdicts of cases from the atoms with these indices."""
        if len(set(verdicts.values())) < 2:
            return ex.BooleanLiteral(any(verdicts.values()))
        # An atom that determines the verdict comes first.
        number = next((number for number in left if _determines_verdict(number, verdicts)), left[0])
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
            test if branch == ex.BooleanLiteral(True) else ex.And((test, branch))
            for branch, values in branches.items()
            if branch != ex.BooleanLiteral(False)
            for test in [_test(self.atoms[number], values, seen)]
        ]
        return parts[0] if len(parts) == 1 else ex.Or(tuple(parts))


def _determines_verdict(number: int, verdicts: dict[tuple[Value, ...], bool]) -> bool:
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
        return ex.Not(_membership_test(atom, others))
    return _membership_test(atom, values)


def _membership_test(atom: Expression, values: list[Value]) -> Expression:
    symbols = tuple(str(value) for value in values)
    if len(symbols) == 1:
        return ex.Compare(Relation.EQUAL, atom, ex.SymbolLiteral(symbols[0]))
    return ex.Member(atom, symbols)


def _enumerate_cases(program: SraspProgram, atoms: tuple[Expression, ...]) -> tuple[tuple[Value, ...], ...] | None:
    """The combinations for all values of the finite vectors in the atoms; None if there are too many.

    Comparisons of integers are treated as independent Boolean variables.
    """
    variables: dict[Expression, tuple[Value, ...]] = {}
    left = list(reversed(atoms))
    while left:
        current = left.pop()
        if isinstance(current, ex.VectorRead) or is_integer_comparison(current, program):
            variables[current] = program.type_of(current).values
        else:
            left.extend(reversed(children(current)))
    if prod(map(len, variables.values())) > MAX_CASES:
        return None
    valuations = list(product(*variables.values()))
    columns = dict(zip(variables, zip(*valuations, strict=True), strict=True))

    def variable(expression: Expression) -> Denotation | None:
        column = columns.get(expression)
        return None if column is None else lambda i, _: column[i]

    meanings = [denotation_of(atom, variable) for atom in atoms]
    return tuple(dict.fromkeys(tuple(meaning(i, i) for meaning in meanings) for i in range(len(valuations))))


def is_integer_comparison(expression: Expression, program: SraspProgram) -> TypeGuard[ex.Compare]:
    """Whether an expression over the vectors of a program is a comparison of integers."""
    return isinstance(expression, ex.Compare) and not program.type_of(expression.left).is_finite


MAX_EQUALITIES = 6
MAX_PAIRS = 1 << 18

TrueCases: TypeAlias = frozenset[tuple[int, int]]
"""The true cases: pairs of the indices of a case at i and a case at j."""


@dataclass(frozen=True)
class PredicateProduct:
    """A product A(i) · B(j), with equalities of integers that must or must not hold.

    Args:
        at_i: A, a Boolean that depends on i only.
        at_j: B, a Boolean that depends on j only.
        required_equalities: The equalities X(i) = Y(j) that must hold.
        excluded_equalities: The equalities that must not hold.
    """

    at_i: Expression
    at_j: Expression
    required_equalities: tuple[IntegerEquality, ...] = ()
    excluded_equalities: tuple[IntegerEquality, ...] = ()

    def __str__(self) -> str:
        factors = [
            *(self.at_i, self.at_j),
            *self.required_equalities,
            *(f"not {equality}" for equality in self.excluded_equalities),
        ]
        return " · ".join(f"[{factor}]" for factor in factors)


def split_predicate(program: SraspProgram, predicate: Expression) -> tuple[PredicateProduct, ...]:
    """Decompose a predicate over the vectors of a program into products that cover each true case exactly once.

    Raises:
        ConstructionError: If there are too many cases.
    """
    return tuple(_Splitter(program, predicate).products())


class _Splitter:
    """Splits a predicate into atoms at i, atoms at j, and equations between integers at i and j."""

    def __init__(self, program: SraspProgram, predicate: Expression) -> None:
        self.program = program
        self.predicate = predicate
        self.at_i: dict[Expression, None] = {}
        self.at_j: dict[Expression, None] = {}
        self.equations: dict[Expression, IntegerEquality] = {}
        self._collect(predicate)
        self.equalities = tuple(dict.fromkeys(self.equations.values()))
        self.here, self.there = (
            PositionCases.enumerate(program, tuple(self.at_i)),
            PositionCases.enumerate(program, tuple(self.at_j)),
        )
        pairs = len(self.here.cases) * len(self.there.cases) * 2 ** len(self.equalities)
        if pairs > MAX_PAIRS or len(self.equalities) > MAX_EQUALITIES:
            raise ConstructionError(
                f"the predicate {format_expression(predicate)} has too many cases",
                place=predicate.place,
                hint="define its parts that depend on i or on j only as separate vectors",
            )

    def _collect(self, expression: Expression) -> None:
        found = free_indices(expression)
        if len(found) == 1:
            (self.at_i if "i" in found else self.at_j)[expression] = None
        elif found and is_integer_comparison(expression, self.program):
            equality = separate_positions(expression)
            assert equality is not None, "checked when the program was constructed"
            self.equations[expression] = equality
        elif found:
            for child in children(expression):
                self._collect(child)

    def products(self) -> Iterator[PredicateProduct]:
        """All products, those without equalities of integers first."""
        tables = {
            holding: self._true_cases(dict(zip(self.equalities, holding, strict=True)))
            for holding in product((False, True), repeat=len(self.equalities))
        }
        yield from self._combine_tables(tables, (), ())

    def _true_cases(self, holding: dict[IntegerEquality, bool]) -> TrueCases:
        """The true cases of the predicate for these truth values of the equalities."""

        def atom(expression: Expression) -> Denotation | None:
            if expression in self.at_i:
                values_at_i = self.here.values_of(expression)
                return lambda i, _: values_at_i[i]
            if expression in self.at_j:
                values_at_j = self.there.values_of(expression)
                return lambda _, j: values_at_j[j]
            if expression in self.equations and isinstance(expression, Compare):
                held = holding[self.equations[expression]]
                truth = held is (expression.relation is Relation.EQUAL)
                return lambda _i, _j: truth
            return None

        meaning = denotation_of(self.predicate, atom)
        pairs = product(range(len(self.here.cases)), range(len(self.there.cases)))
        return frozenset((i, j) for i, j in pairs if meaning(i, j))

    def _combine_tables(
        self,
        tables: dict[tuple[bool, ...], TrueCases],
        equal: tuple[IntegerEquality, ...],
        unequal: tuple[IntegerEquality, ...],
    ) -> Iterator[PredicateProduct]:
        """The products of tables indexed by the truth values of the undecided equalities, the first ones."""
        if not any(tables.values()):
            return
        undecided = len(next(iter(tables)))
        if not undecided:
            yield from self._rectangles(tables[()], equal, unequal)
            return
        equality = self.equalities[undecided - 1]
        shorter = list(product((False, True), repeat=undecided - 1))
        true, false = ({key: tables[(*key, holds)] for key in shorter} for holds in (True, False))
        yield from self._combine_tables({key: true[key] & false[key] for key in shorter}, equal, unequal)
        yield from self._combine_tables({key: true[key] - false[key] for key in shorter}, (equality, *equal), unequal)
        yield from self._combine_tables({key: false[key] - true[key] for key in shorter}, equal, (equality, *unequal))

    def _rectangles(
        self, table: TrueCases, equal: tuple[IntegerEquality, ...], unequal: tuple[IntegerEquality, ...]
    ) -> Iterator[PredicateProduct]:
        """The products of one table: equal rows merged, or equal columns, whichever gives fewer."""
        height, width = len(self.here.cases), len(self.there.cases)
        rows = [[j for j in range(width) if (i, j) in table] for i in range(height)]
        columns = [[i for i in range(height) if (i, j) in table] for j in range(width)]
        by_row, by_column = _group_equal_lines(rows), _group_equal_lines(columns)
        pairs = by_row if len(by_row) <= len(by_column) else [(i, j) for j, i in by_column]
        for at_i, at_j in pairs:
            yield PredicateProduct(self.here.select_cases(at_i), self.there.select_cases(at_j), equal, unequal)


def _group_equal_lines(rows: list[list[int]]) -> list[tuple[list[int], list[int]]]:
    """Group the indices of equal lines, each group with the contents of its lines; empty lines are omitted."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, line in enumerate(rows):
        if line:
            groups.setdefault(tuple(line), []).append(number)
    return [(numbers, list(line)) for line, numbers in groups.items()]


@dataclass(frozen=True)
class PrefixSumStep:
    """A prefix sum.

    Args:
        name: The vector that it defines.
        term: The summand as a vector: an expression at i.
    """

    name: str
    term: Expression


@dataclass(frozen=True)
class AttentionStep:
    """An attention operation.

    Args:
        name: The vector that it defines.
        attention: The operation.
        products: Its predicate as a sum of products.
        read_vectors: The vectors that its value reads at the selected j.
    """

    name: str
    attention: Attention
    products: tuple[PredicateProduct, ...]
    read_vectors: tuple[VectorRead, ...]


Step: TypeAlias = PrefixSumStep | AttentionStep


def list_operations(program: SraspProgram) -> tuple[Step, ...]:
    """The operations of the normal form of a program (see ``normalise``), in order.

    Raises:
        ConstructionError: If a predicate has too many cases to be split.
    """
    flat = normalise(program)
    return tuple(
        PrefixSumStep(definition.name, move_to_i(body.term))
        if isinstance(body, PrefixSum)
        else AttentionStep(definition.name, body, split_predicate(flat, body.predicate), _find_reads_at_j(body.value))
        for definition in flat.definitions
        if isinstance(body := definition.body, PrefixSum | Attention)
    )


def normalise(program: SraspProgram) -> SraspProgram:
    """Convert a program to normal form: each definition is either position-wise or a single operation.

    Operations inside expressions become separate vectors, defined before the one that contains them.
    """
    hoisting = _Hoister({definition.name for definition in program.definitions})
    definitions = tuple(entry for definition in program.definitions for entry in hoisting.flatten(definition))
    return program if definitions == program.definitions else replace(program, definitions=definitions)


class _Hoister:
    """Moves operations out of expressions into definitions with new names."""

    def __init__(self, used: set[str]) -> None:
        self.taken = used
        self.hoisted: list[Definition] = []

    def flatten(self, definition: Definition) -> Iterator[Definition]:
        """The definitions that replace a definition; it comes last itself."""
        self.hoisted = []
        body = map_children(definition.body, lambda part: self._hoist(part, definition))
        yield from self.hoisted
        yield replace(definition, body=body)

    def _hoist(self, expression: Expression, definition: Definition) -> Expression:
        inner = map_children(expression, lambda part: self._hoist(part, definition))
        if not isinstance(inner, PrefixSum | Attention):
            return inner
        name = self._unused_name(definition.name)
        self.hoisted.append(Definition(name, inner, definition.place))
        return VectorRead(name, "i", place=expression.place)

    def _unused_name(self, name: str) -> str:
        number = 1
        while f"{name}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"


def _find_reads_at_j(value: Expression) -> tuple[VectorRead, ...]:
    reads = (part for part in walk(value) if isinstance(part, VectorRead) and part.at == "j")
    return tuple(dict.fromkeys(reads))
