"""Type inference for S-RASP expressions.

Integers at two positions can be compared in one way, in predicates of attention: an integer at i equals an integer at
j, as in ``depth(j) = depth(i) + 1``. In general, it is an equation between sums and differences in which every term
depends on one position only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from softmachine.languages.linear import Relation
from softmachine.languages.source import find_name_problems, is_symbol
from softmachine.languages.srasp import ast as ex
from softmachine.languages.srasp.ast import (
    BOOLEAN,
    INTEGER,
    Add,
    Compare,
    Expression,
    Index,
    IntegerLiteral,
    Subtract,
    Type,
    ValueKind,
    format_expression,
    free_indices,
)
from softmachine.languages.text.diagnostics import Problem
from softmachine.languages.text.statements import quote


@dataclass(frozen=True)
class IntegerEquality:
    """X(i) = Y(j).

    Args:
        at_i: X, an integer that depends on i alone.
        at_j: Y, an integer that depends on j alone.
    """

    at_i: Expression
    at_j: Expression

    def __str__(self) -> str:
        return f"{self.at_i} = {self.at_j}"


def separate_positions(comparison: Compare) -> IntegerEquality | None:
    """Separate the positions of an equation or inequation: one side at i, the other at j.

    Constants are moved to the side of i. Returns None if the comparison is not = or !=, or a term depends on both
    positions.
    """
    if comparison.relation not in (Relation.EQUAL, Relation.NOT_EQUAL):
        return None
    here: list[tuple[int, Expression]] = []
    there: list[tuple[int, Expression]] = []
    constant = 0
    for sign, term in _signed_terms(Subtract(comparison.left, comparison.right)):
        found = free_indices(term)
        if isinstance(term, IntegerLiteral):
            constant += sign * term.value
        elif len(found) > 1:
            return None
        else:
            (there if "j" in found else here).append((sign, term))
    if not here or not there:
        return None
    # here + there + constant = 0, so ±there = ∓(here + constant); choose the signs with fewer minuses, first at j.
    both = [
        ([(flip * sign, term) for sign, term in there], [(-flip * sign, term) for sign, term in here], -flip * constant)
        for flip in (1, -1)
    ]
    at_j, at_i, shift = max(both, key=lambda sides: (_count_plus_signs(sides[0]), _count_plus_signs(sides[1])))
    return IntegerEquality(_format_sum(at_i, shift), _format_sum(at_j, 0))


def _count_plus_signs(terms: list[tuple[int, Expression]]) -> int:
    return sum(sign > 0 for sign, _ in terms)


def _signed_terms(expression: Expression) -> Iterator[tuple[int, Expression]]:
    """The terms of a sum with their signs."""
    left = [(1, expression)]
    while left:
        sign, current = left.pop()
        if isinstance(current, Add):
            left += [(sign, current.right), (sign, current.left)]
        elif isinstance(current, Subtract):
            left += [(-sign, current.right), (sign, current.left)]
        else:
            yield sign, current


def _format_sum(terms: list[tuple[int, Expression]], constant: int) -> Expression:
    first, *others = sorted(terms, key=lambda entry: -entry[0])
    total = first[1] if first[0] > 0 else Subtract(IntegerLiteral(0), first[1])
    for sign, term in others:
        total = Add(total, term) if sign > 0 else Subtract(total, term)
    if constant:
        total = Add(total, IntegerLiteral(constant)) if constant > 0 else Subtract(total, IntegerLiteral(-constant))
    return total


MAX_INTEGER = 10**9
MAX_SHOWN_LENGTH = 60
MAX_COMPARED_NAMES = 200
UNBOUND_J_MESSAGE = "j is not defined here: only psum, leftmost and rightmost bind it"
ONLY_J_MESSAGE = "a prefix sum is over j, and its term must not depend on i"


class IndexScope(Enum):
    """Context of an expression, which determines the positions that it may depend on."""

    BODY = "i"
    TERM = "j"
    VALUE = "ij"
    PREDICATE = "ij, compared by equality only"


class SraspTypeInference:
    """Infers the types of expressions and collects type errors.

    Args:
        alphabet: The input alphabet.
        types: The types of the vectors so far; None for a vector with an error that has been reported already.
        names: The names of all vectors, including those defined later.
    """

    def __init__(self, alphabet: tuple[str, ...], types: Mapping[str, Type | None], names: frozenset[str]) -> None:
        self.given = {"in": Type(ValueKind.SYMBOL, tuple(dict.fromkeys(alphabet))), "pos": INTEGER}
        self.types = types
        self.names = names
        self.problems: list[Problem] = []

    def infer(self, expression: Expression, scope: IndexScope = IndexScope.BODY) -> Type | None:
        """Infer the type of an expression; None, with a problem, if it has none."""
        match expression:
            case ex.VectorRead(name=name, at=at):
                known = self._is_known(expression)
                in_scope = self._is_in_scope(expression, at, scope)
                return self.given.get(name) or self.types[name] if in_scope and known else None
            case ex.SymbolLiteral(value=symbol):
                return Type(ValueKind.SYMBOL, (symbol,)) if self._is_symbol(symbol, expression) else None
            case ex.IntegerLiteral(value=number):
                return INTEGER if self._check_magnitude(number, expression) else None
            case ex.BooleanLiteral():
                return BOOLEAN
            case ex.Not(operand=operand):
                self._require(operand, scope, ValueKind.BOOLEAN, "'not' requires a Boolean")
                return BOOLEAN
            case ex.And(parts=parts) | ex.Or(parts=parts):
                word = "and" if isinstance(expression, ex.And) else "or"
                if len(parts) < 2:
                    self._report(f"{word!r} requires at least two operands, not {len(parts)}", expression)
                for part in parts:
                    self._require(part, scope, ValueKind.BOOLEAN, f"{word!r} requires Booleans")
                return BOOLEAN
            case ex.Add(left=left, right=right) | ex.Subtract(left=left, right=right):
                sign = "+" if isinstance(expression, ex.Add) else "-"
                for operand in (left, right):
                    self._require(operand, scope, ValueKind.INTEGER, f"{sign!r} requires integers")
                return INTEGER
            case ex.Compare():
                return self._compare(expression, scope)
            case ex.Member():
                return self._member(expression, scope)
            case ex.Conditional(condition=condition, then=then, otherwise=otherwise):
                self._require(condition, scope, ValueKind.BOOLEAN, "a condition must be Boolean")
                return self._require_same_type(then, scope, otherwise, scope, "both branches of a conditional")
            case ex.PrefixSum(term=term):
                self._is_outermost(expression, scope)
                demand = "a prefix sum requires integers; write (1 if … else 0) to count"
                self._require(term, IndexScope.TERM, ValueKind.INTEGER, demand)
                return INTEGER
            case ex.Attention():
                self._is_outermost(expression, scope)
                self._require(
                    expression.predicate, IndexScope.PREDICATE, ValueKind.BOOLEAN, "a predicate must be Boolean"
                )
                what = "the value and the default of an attention"
                return self._require_same_type(
                    expression.value, IndexScope.VALUE, expression.default, IndexScope.BODY, what
                )

    def _require(self, expression: Expression, scope: IndexScope, kind: ValueKind, why: str) -> None:
        found = self.infer(expression, scope)
        if found and found.kind is not kind:
            self._report(f"{_abbreviate(expression)} is {_with_article(found)}, but {why}", expression)

    def _require_same_type(
        self, one: Expression, scope: IndexScope, other: Expression, other_scope: IndexScope, what: str
    ) -> Type | None:
        first, second = self.infer(one, scope), self.infer(other, other_scope)
        if first and second and first.kind is not second.kind:
            pair = f"{_abbreviate(one)} is {_with_article(first)} and {_abbreviate(other)} is {_with_article(second)}"
            self._report(f"{what} must have the same type, but {pair}", other)
            return None
        return first.union(second) if first and second else first or second

    def _compare(self, expression: ex.Compare, scope: IndexScope) -> Type:
        left, right = self.infer(expression.left, scope), self.infer(expression.right, scope)
        if not left or not right:
            return BOOLEAN
        ordered = expression.relation not in (Relation.EQUAL, Relation.NOT_EQUAL)

        def pair() -> str:
            sides = (expression.left, left), (expression.right, right)
            return " and ".join(f"{_abbreviate(side)} is {_with_article(kind)}" for side, kind in sides)

        if left.kind is not right.kind:
            self._report(f"only values of the same type can be compared, but {pair()}", expression)
        elif ordered and left.kind is not ValueKind.INTEGER:
            self._report(f"{expression.relation.value!r} requires integers, but {pair()}", expression)
        elif left.kind is ValueKind.SYMBOL and not set(left.symbols) & set(right.symbols):
            if isinstance(expression.right, ex.SymbolLiteral):
                self._report_never_true(expression.left, left, expression.right.value)
            else:
                self._report(f"{_abbreviate(expression)} is never true: {pair()}", expression)
        elif left.kind is ValueKind.INTEGER and scope is IndexScope.PREDICATE and len(free_indices(expression)) > 1:
            if ordered:
                self._report(
                    f"{_abbreviate(expression)}: in the predicate of an attention, an integer at i and one at j can "
                    f"only be "
                    "compared by '=' and '!='; other comparisons are allowed in its value",
                    expression,
                )
            elif separate_positions(expression) is None:
                self._report(
                    f"{_abbreviate(expression)}: a term depends on both i and j; "
                    "rewrite it as an integer at i = an integer at j",
                    expression,
                )
        return BOOLEAN

    def _member(self, expression: ex.Member, scope: IndexScope) -> Type:
        found = self.infer(expression.operand, scope)
        if not expression.symbols:
            self._report(f"{_abbreviate(expression)}: the set is empty; add at least one symbol", expression)
        if found and found.kind is not ValueKind.SYMBOL:
            self._report(
                f"{_abbreviate(expression.operand)} is {_with_article(found)}, but 'in' requires a symbol",
                expression.operand,
            )
        elif found:
            possible = set(found.symbols)
            for symbol in expression.symbols:
                if symbol not in possible:
                    self._report_never_true(expression.operand, found, symbol)
        return BOOLEAN

    def _report_never_true(self, expression: Expression, found: Type, symbol: str) -> None:
        self._report(f"{_abbreviate(expression)} is never {quote(symbol)}: it is {_with_article(found)}", expression)

    def _is_in_scope(self, read: Expression, at: Index, scope: IndexScope) -> bool:
        # Checked at run time, for programs built in Python.
        if at not in ("i", "j"):
            self._report(f"{_abbreviate(read)}: the positions are i and j", read)
            return False
        if scope is IndexScope.BODY and at == "j":
            self._report(f"{_abbreviate(read)}: {UNBOUND_J_MESSAGE}; write i", read)
        elif scope is IndexScope.TERM and at == "i":
            self._report(f"{_abbreviate(read)}: {ONLY_J_MESSAGE}; write j", read)
        return True

    def _is_known(self, read: ex.VectorRead) -> bool:
        if read.name in self.given or read.name in self.types:
            return True
        if read.name in self.names:
            self._report(f"{read.name!r} is used before its definition; vectors are computed from top to bottom", read)
        else:
            # Long lists of problems are truncated anyway, and the search for similar names is slow.
            known = sorted(self.names) if max(len(self.problems), len(self.names)) < MAX_COMPARED_NAMES else []
            similar = get_close_matches(read.name, known, n=1)
            hint = f"did you mean {similar[0]!r}?" if similar else "define it in an earlier line"
            self._report(f"unknown vector {read.name!r}; {hint}", read)
        return False

    def _is_symbol(self, symbol: str, expression: Expression) -> bool:
        problem = symbol_problem(symbol)
        if problem:
            self._report(problem, expression)
        return not problem

    def _check_magnitude(self, number: int, expression: Expression) -> bool:
        if abs(number) > MAX_INTEGER:
            self._report(f"the absolute value of an integer in a program is at most {MAX_INTEGER:,}", expression)
            return False
        return True

    def _is_outermost(self, operation: Expression, scope: IndexScope) -> None:
        if scope is not IndexScope.BODY:
            message = "an operation inside another is not allowed, because both bind j; define it as a separate vector"
            self._report(f"{_abbreviate(operation)}: {message}", operation)

    def _report(self, message: str, expression: Expression) -> None:
        self.problems.append(Problem(message, expression.place))


def symbol_problem(symbol: str) -> str | None:
    """The problem of a symbol; None if it is valid."""
    if not is_symbol(symbol):
        return f"symbol {quote(symbol)} is empty or contains whitespace"
    return next(iter(find_name_problems((symbol,))), None)


def _with_article(found: Type) -> str:
    return f"an {found}" if found.kind is ValueKind.INTEGER else f"a {found}"


def _abbreviate(expression: Expression) -> str:
    text = format_expression(expression)
    return text if len(text) <= MAX_SHOWN_LENGTH else text[: MAX_SHOWN_LENGTH - 2].rstrip() + " …"
