"""Lowering of Python predicates of key and query to selectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from softmachine.languages.rasp.ir import COMPARISONS, Combine, Operator, Select, SelectAll, SelectPairs, Table, Value
from softmachine.languages.rasp.python.function_lowering import called, failed, named, term_cases
from softmachine.languages.rasp.python.symbolic_terms import (
    Literal,
    Operation,
    Term,
    arguments_of,
    choice,
    condition,
    literal,
    negation,
    operation,
    rebuilt,
)
from softmachine.languages.rasp.python.typed_builder import Column, Draft
from softmachine.languages.rasp.validation import MOST_ROWS
from softmachine.support.errors import ConstructionError, InvalidError, Place

KEY: Final = frozenset({0})
QUERY: Final = frozenset({1})
MIRRORED: Final[Mapping[Operator, Operator]] = {
    Operator.EQUAL: Operator.EQUAL,
    Operator.UNEQUAL: Operator.UNEQUAL,
    Operator.LESS: Operator.GREATER,
    Operator.GREATER: Operator.LESS,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.AT_MOST,
}
"""The comparison with its operands exchanged."""


def selected(builder: Draft, predicate: Callable[..., Any], keys: Column, queries: Column) -> str:
    """Lower a Python predicate of key and query to a selector.

    Over finite domains the predicate is called on every pair. Otherwise it is traced and decomposed into comparisons of
    a function of the key with a function of the query.

    Raises:
        InvalidError: If the predicate raises an error.
        ConstructionError: If it cannot be traced or decomposed.
    """
    domains = [builder.finite(column.reference) for column in (keys, queries)]
    if domains[0] is not None and domains[1] is not None:
        return _pairs(builder, predicate, (keys.reference, queries.reference), domains[0], domains[1])
    references = [builder.defined(column) for column in (keys, queries)]
    try:
        cases = term_cases(builder, predicate, references)
    except InvalidError:
        if not any(None in domain for domain in domains if domain is not None):
            raise
        references = [_without_none(builder, reference) for reference in references]
        cases = term_cases(builder, predicate, references)
    maker = _Maker(builder, predicate, references)
    return maker.by_cases([(test, condition(term)) for test, term in cases], of_key=domains[0] is not None)


def _without_none(builder: Draft, reference: str) -> str:
    """A key or query with None, which is not comparable, turned into undefined."""
    domain = builder.finite(reference)
    if domain is None or None not in domain:
        return reference
    return _restricted(builder, reference, [value for value in domain if value is not None])


def _restricted(builder: Draft, reference: str, values: Sequence[Value]) -> str:
    return builder.add(Table((reference,), tuple(((value,), value) for value in values)))


def _pairs(
    builder: Draft,
    predicate: Callable[..., Any],
    references: tuple[str, str],
    keys: Sequence[Value],
    queries: Sequence[Value],
) -> str:
    if len(keys) * len(queries) > MOST_ROWS:
        raise ConstructionError(
            f"{named(predicate, builder.place)} would be called on {len(keys) * len(queries):,} pairs of key and "
            f"query; at most {MOST_ROWS:,} are allowed",
            place=builder.place,
            hint="use a Comparison, or smaller domains",
        )
    pairs = []
    for key, query in product(keys, queries):
        try:
            chosen = _decided(predicate, key, query, builder.place)
        except InvalidError:
            if key is not None and query is not None:
                raise
            # A comparison with None is undefined: None on this side is undefined for every value of the other.
            left = _without_none(builder, references[0]) if key is None else references[0]
            right = _without_none(builder, references[1]) if query is None else references[1]
            return _pairs(builder, predicate, (left, right), builder.finite(left) or (), builder.finite(right) or ())
        if chosen:
            pairs.append((key, query))
    partial = any(builder.type(reference).partial for reference in references)
    if len(pairs) in (0, len(keys) * len(queries)) and not partial:
        return builder.add(SelectAll(bool(pairs)))
    return builder.add(SelectPairs(*references, tuple(pairs)))


def _decided(predicate: Callable[..., Any], key: Value, query: Value, place: Place | None) -> bool:
    try:
        return bool(called(predicate, (key, query), place, bool))
    except ZeroDivisionError as error:
        raise failed(predicate, f"called with {key!r}, {query!r}, it raises {type(error).__name__}", place) from error


class _Maker:
    """Lowers Boolean terms over a key and a query to selectors.

    Args:
        builder: The program under construction.
        predicate: The predicate, for messages.
        references: The key and the query.
    """

    def __init__(self, builder: Draft, predicate: Callable[..., Any], references: Sequence[str]) -> None:
        self.builder = builder
        self.predicate = predicate
        self.references = references

    def selector(self, term: Term) -> str:
        """The selector of a condition."""
        if isinstance(term, Literal):
            return self.builder.add(SelectAll(bool(term.value)))
        if arguments_of(term) in (KEY, QUERY):
            return self.one_sided(self.builder.emit(term, self.references), of_key=arguments_of(term) == KEY)
        match term:
            case Operation(operator=Operator.AND | Operator.OR | Operator.NOT):
                return self.combined(term.operator, *(self.selector(condition(part)) for part in term.operands))
            case Operation(operator=Operator.CHOOSE, operands=(then, test, otherwise)):
                either = [(condition(test), condition(then)), (negation(condition(test)), condition(otherwise))]
                return self.combined(
                    Operator.OR, *(self.combined(Operator.AND, *map(self.selector, parts)) for parts in either)
                )
            case Operation(operands=(left, right)) if term.operator in COMPARISONS:
                return self.compared(term.operator, left, right)
            case _:
                raise self.refusal()

    def by_cases(self, cases: Sequence[tuple[str | None, Term]], *, of_key: bool) -> str:
        """The selector of a case distinction on the key alone, or on the query alone."""
        result = self.selector(cases[-1][1])
        for test, term in reversed(cases):
            if test is not None:
                here = self.one_sided(test, of_key=of_key)
                elsewhere = self.combined(Operator.AND, self.combined(Operator.NOT, here), result)
                result = self.combined(Operator.OR, self.combined(Operator.AND, here, self.selector(term)), elsewhere)
        return result

    def one_sided(self, test: str, *, of_key: bool) -> str:
        """The selector of a condition on the key alone, or on the query alone."""
        true = self.builder.constant(True)
        return self.builder.add(Select(*((test, true) if of_key else (true, test)), Operator.EQUAL))

    def combined(self, operator: Operator, *selectors: str) -> str:
        """Combine selectors, or negate one."""
        different = tuple(dict.fromkeys(selectors))
        if operator is not Operator.NOT and len(different) == 1:
            return different[0]
        return self.builder.add(Combine(operator, different))

    def compared(self, comparison: Operator, left: Term, right: Term) -> str:
        """The selector of a comparison, after moving all terms of the key to one side."""
        sides = arguments_of(left), arguments_of(right)
        if sides == (KEY, QUERY):
            return self.select(left, right, comparison)
        if sides == (QUERY, KEY):
            return self.select(right, left, MIRRORED[comparison])
        cases = _taken_apart(operation(comparison, left, right))
        if cases:
            return self.selector(cases)
        one, other = _separated(left), _separated(right)
        if one is None or other is None:
            raise self.refusal()
        return self.select(_difference(one[0], other[0]), _difference(other[1], one[1]), comparison)

    def select(self, key: Term, query: Term, comparison: Operator) -> str:
        """The selector that compares a term of the key with one of the query."""
        sides = [self.builder.emit(term, self.references) for term in (key, query)]
        return self.builder.add(Select(sides[0], sides[1], comparison))

    def refusal(self) -> ConstructionError:
        """The error for a predicate that cannot be decomposed."""
        return ConstructionError(
            f"{named(self.predicate, self.builder.place)} mixes key and query in a way that is not a comparison of "
            "a function of the key with a function of the query",
            place=self.builder.place,
            hint="write for example key % 2 == query % 2, or key - query <= 3; products of the two have no selector",
        )


def _is_mixed(term: Term) -> bool:
    return len(arguments_of(term)) == 2


def _taken_apart(comparison: Operation) -> Term | None:
    """Expand an absolute value, minimum, maximum or choice that mixes key and query into a choice of comparisons."""
    found = next(_branching(comparison), None)
    if found is None:
        return None

    def instead(new: Term) -> Term:
        return rebuilt(comparison, lambda part: new if part == found else None)

    match found.operator, found.operands:
        case Operator.ABSOLUTE, (inner,):
            positive = operation(Operator.AT_LEAST, inner, literal(0))
            return choice(instead(inner), positive, instead(operation(Operator.NEGATE, inner)))
        case Operator.CHOOSE, (then, test, otherwise):
            return choice(instead(then), condition(test), instead(otherwise))
        case extreme, (one, other):
            order = Operator.AT_MOST if extreme is Operator.MINIMUM else Operator.AT_LEAST
            return choice(instead(one), operation(order, one, other), instead(other))
    return None


def _branching(term: Term) -> Iterator[Operation]:
    if not isinstance(term, Operation) or not _is_mixed(term):
        return
    if term.operator in (Operator.ABSOLUTE, Operator.CHOOSE, Operator.MINIMUM, Operator.MAXIMUM):
        yield term
    for operand in term.operands:
        yield from _branching(operand)


def _separated(term: Term) -> tuple[Term, Term] | None:
    """Split a term into a sum of a term of the key and a term of the query; None if that is impossible."""
    if not _is_mixed(term):
        return (literal(0), term) if arguments_of(term) == QUERY else (term, literal(0))
    assert isinstance(term, Operation)
    match term.operator, term.operands:
        case ((Operator.ADD | Operator.SUBTRACT), (left, right)):
            one, other = _separated(left), _separated(right)
            if one is None or other is None:
                return None
            join = _sum if term.operator is Operator.ADD else _difference
            return join(one[0], other[0]), join(one[1], other[1])
        case Operator.NEGATE, (inner,):
            parts = _separated(inner)
            return parts and (_difference(literal(0), parts[0]), _difference(literal(0), parts[1]))
        case Operator.MULTIPLY, (Literal() as factor, inner):
            parts = _separated(inner)
            return parts and (operation(term.operator, factor, parts[0]), operation(term.operator, factor, parts[1]))
        case ((Operator.MULTIPLY | Operator.DIVIDE), (inner, Literal() as factor)):
            parts = _separated(inner)
            return parts and (operation(term.operator, parts[0], factor), operation(term.operator, parts[1], factor))
        case _:
            return None


def _sum(left: Term, right: Term) -> Term:
    zero = literal(0)
    return right if left == zero else left if right == zero else operation(Operator.ADD, left, right)


def _difference(left: Term, right: Term) -> Term:
    zero = literal(0)
    if right == zero:
        return left
    return operation(Operator.NEGATE, right) if left == zero else operation(Operator.SUBTRACT, left, right)
