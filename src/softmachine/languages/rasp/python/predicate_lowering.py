"""Lowering of Python predicates of key and query to selectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from softmachine.languages.rasp.ir import COMPARISONS, Combine, Operator, Select, SelectAll, SelectPairs, Table, Value
from softmachine.languages.rasp.python.function_lowering import (
    call_function,
    describe_function,
    function_error,
    trace_cases,
)
from softmachine.languages.rasp.python.symbolic_terms import (
    LiteralTerm,
    OperationTerm,
    Term,
    find_arguments,
    make_choice,
    make_literal,
    make_operation,
    negate,
    substitute,
    truth_term,
)
from softmachine.languages.rasp.python.typed_builder import NullableSequence, TypedBuilder
from softmachine.languages.rasp.validation import MAX_ROWS
from softmachine.support.errors import ConstructionError, InvalidError, SourceLocation

KEY: Final = frozenset({0})
QUERY: Final = frozenset({1})
MIRRORED_COMPARISON: Final[Mapping[Operator, Operator]] = {
    Operator.EQUAL: Operator.EQUAL,
    Operator.UNEQUAL: Operator.UNEQUAL,
    Operator.LESS: Operator.GREATER,
    Operator.GREATER: Operator.LESS,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.AT_MOST,
}
"""The comparison with its operands exchanged."""


def lower_predicate(
    builder: TypedBuilder, predicate: Callable[..., Any], keys: NullableSequence, queries: NullableSequence
) -> str:
    """Lower a Python predicate of key and query to a selector.

    Over finite domains the predicate is called on every pair. Otherwise it is traced and decomposed into comparisons of
    a function of the key with a function of the query.

    Raises:
        InvalidError: If the predicate raises an error.
        ConstructionError: If it cannot be traced or decomposed.
    """
    domains = [builder.finite_domain(column.reference) for column in (keys, queries)]
    if domains[0] is not None and domains[1] is not None:
        return _lower_pairs(builder, predicate, (keys.reference, queries.reference), domains[0], domains[1])
    references = [builder.none_as_undefined(column) for column in (keys, queries)]
    try:
        cases = trace_cases(builder, predicate, references)
    except InvalidError:
        if not any(None in domain for domain in domains if domain is not None):
            raise
        references = [_without_none(builder, reference) for reference in references]
        cases = trace_cases(builder, predicate, references)
    maker = _SelectorLowering(builder, predicate, references)
    return maker.lower_cases([(test, truth_term(term)) for test, term in cases], of_key=domains[0] is not None)


def _without_none(builder: TypedBuilder, reference: str) -> str:
    """A key or query with None, which is not comparable, turned into undefined."""
    domain = builder.finite_domain(reference)
    if domain is None or None not in domain:
        return reference
    return _restrict(builder, reference, [value for value in domain if value is not None])


def _restrict(builder: TypedBuilder, reference: str, values: Sequence[Value]) -> str:
    return builder.add(Table((reference,), tuple(((value,), value) for value in values)))


def _lower_pairs(
    builder: TypedBuilder,
    predicate: Callable[..., Any],
    references: tuple[str, str],
    keys: Sequence[Value],
    queries: Sequence[Value],
) -> str:
    if len(keys) * len(queries) > MAX_ROWS:
        raise ConstructionError(
            f"{describe_function(predicate, builder.place)} would be called on {len(keys) * len(queries):,} pairs of "
            f"key and "
            f"query; at most {MAX_ROWS:,} are allowed",
            place=builder.place,
            hint="use a Comparison, or smaller domains",
        )
    pairs = []
    for key, query in product(keys, queries):
        try:
            chosen = _call_predicate(predicate, key, query, builder.place)
        except InvalidError:
            if key is not None and query is not None:
                raise
            # A comparison with None is undefined: None on this side is undefined for every value of the other.
            left = _without_none(builder, references[0]) if key is None else references[0]
            right = _without_none(builder, references[1]) if query is None else references[1]
            return _lower_pairs(
                builder, predicate, (left, right), builder.finite_domain(left) or (), builder.finite_domain(right) or ()
            )
        if chosen:
            pairs.append((key, query))
    partial = any(builder.type_of(reference).partial for reference in references)
    if len(pairs) in (0, len(keys) * len(queries)) and not partial:
        return builder.add(SelectAll(bool(pairs)))
    return builder.add(SelectPairs(*references, tuple(pairs)))


def _call_predicate(predicate: Callable[..., Any], key: Value, query: Value, place: SourceLocation | None) -> bool:
    try:
        return bool(call_function(predicate, (key, query), place, bool))
    except ZeroDivisionError as error:
        raise function_error(
            predicate, f"called with {key!r}, {query!r}, it raises {type(error).__name__}", place
        ) from error


class _SelectorLowering:
    """Lowers Boolean terms over a key and a query to selectors.

    Args:
        builder: The program under construction.
        predicate: The predicate, for messages.
        references: The key and the query.
    """

    def __init__(self, builder: TypedBuilder, predicate: Callable[..., Any], references: Sequence[str]) -> None:
        self.builder = builder
        self.predicate = predicate
        self.references = references

    def lower_condition(self, term: Term) -> str:
        """The selector of a condition."""
        if isinstance(term, LiteralTerm):
            return self.builder.add(SelectAll(bool(term.value)))
        if find_arguments(term) in (KEY, QUERY):
            return self.lower_one_sided(self.builder.emit(term, self.references), of_key=find_arguments(term) == KEY)
        match term:
            case OperationTerm(operator=Operator.AND | Operator.OR | Operator.NOT):
                return self.combine(term.operator, *(self.lower_condition(truth_term(part)) for part in term.operands))
            case OperationTerm(operator=Operator.CHOOSE, operands=(then, test, otherwise)):
                either = [(truth_term(test), truth_term(then)), (negate(truth_term(test)), truth_term(otherwise))]
                return self.combine(
                    Operator.OR, *(self.combine(Operator.AND, *map(self.lower_condition, parts)) for parts in either)
                )
            case OperationTerm(operands=(left, right)) if term.operator in COMPARISONS:
                return self.lower_comparison(term.operator, left, right)
            case _:
                raise self.decomposition_error()

    def lower_cases(self, cases: Sequence[tuple[str | None, Term]], *, of_key: bool) -> str:
        """The selector of a case distinction on the key alone, or on the query alone."""
        result = self.lower_condition(cases[-1][1])
        for test, term in reversed(cases):
            if test is not None:
                here = self.lower_one_sided(test, of_key=of_key)
                elsewhere = self.combine(Operator.AND, self.combine(Operator.NOT, here), result)
                result = self.combine(
                    Operator.OR, self.combine(Operator.AND, here, self.lower_condition(term)), elsewhere
                )
        return result

    def lower_one_sided(self, test: str, *, of_key: bool) -> str:
        """The selector of a condition on the key alone, or on the query alone."""
        true = self.builder.constant(True)
        return self.builder.add(Select(*((test, true) if of_key else (true, test)), Operator.EQUAL))

    def combine(self, operator: Operator, *selectors: str) -> str:
        """Combine selectors, or negate one."""
        different = tuple(dict.fromkeys(selectors))
        if operator is not Operator.NOT and len(different) == 1:
            return different[0]
        return self.builder.add(Combine(operator, different))

    def lower_comparison(self, comparison: Operator, left: Term, right: Term) -> str:
        """The selector of a comparison, after moving all terms of the key to one side."""
        sides = find_arguments(left), find_arguments(right)
        if sides == (KEY, QUERY):
            return self.emit_select(left, right, comparison)
        if sides == (QUERY, KEY):
            return self.emit_select(right, left, MIRRORED_COMPARISON[comparison])
        cases = _expand_comparison(make_operation(comparison, left, right))
        if cases:
            return self.lower_condition(cases)
        one, other = _separate(left), _separate(right)
        if one is None or other is None:
            raise self.decomposition_error()
        return self.emit_select(_difference(one[0], other[0]), _difference(other[1], one[1]), comparison)

    def emit_select(self, key: Term, query: Term, comparison: Operator) -> str:
        """The selector that compares a term of the key with one of the query."""
        sides = [self.builder.emit(term, self.references) for term in (key, query)]
        return self.builder.add(Select(sides[0], sides[1], comparison))

    def decomposition_error(self) -> ConstructionError:
        """The error for a predicate that cannot be decomposed."""
        return ConstructionError(
            f"{describe_function(self.predicate, self.builder.place)} mixes key and query in a way that is not a "
            f"comparison of "
            "a function of the key with a function of the query",
            place=self.builder.place,
            hint="write for example key % 2 == query % 2, or key - query <= 3; products of the two have no selector",
        )


def _is_mixed(term: Term) -> bool:
    return len(find_arguments(term)) == 2


def _expand_comparison(comparison: OperationTerm) -> Term | None:
    """Expand an absolute value, minimum, maximum or choice that mixes key and query into a choice of comparisons."""
    found = next(_find_branching(comparison), None)
    if found is None:
        return None

    def instead(new: Term) -> Term:
        return substitute(comparison, lambda part: new if part == found else None)

    match found.operator, found.operands:
        case Operator.ABSOLUTE, (inner,):
            positive = make_operation(Operator.AT_LEAST, inner, make_literal(0))
            return make_choice(instead(inner), positive, instead(make_operation(Operator.NEGATE, inner)))
        case Operator.CHOOSE, (then, test, otherwise):
            return make_choice(instead(then), truth_term(test), instead(otherwise))
        case extreme, (one, other):
            order = Operator.AT_MOST if extreme is Operator.MINIMUM else Operator.AT_LEAST
            return make_choice(instead(one), make_operation(order, one, other), instead(other))
    return None


def _find_branching(term: Term) -> Iterator[OperationTerm]:
    if not isinstance(term, OperationTerm) or not _is_mixed(term):
        return
    if term.operator in (Operator.ABSOLUTE, Operator.CHOOSE, Operator.MINIMUM, Operator.MAXIMUM):
        yield term
    for operand in term.operands:
        yield from _find_branching(operand)


def _separate(term: Term) -> tuple[Term, Term] | None:
    """Split a term into a sum of a term of the key and a term of the query; None if that is impossible."""
    if not _is_mixed(term):
        return (make_literal(0), term) if find_arguments(term) == QUERY else (term, make_literal(0))
    assert isinstance(term, OperationTerm)
    match term.operator, term.operands:
        case ((Operator.ADD | Operator.SUBTRACT), (left, right)):
            one, other = _separate(left), _separate(right)
            if one is None or other is None:
                return None
            join = _sum if term.operator is Operator.ADD else _difference
            return join(one[0], other[0]), join(one[1], other[1])
        case Operator.NEGATE, (inner,):
            parts = _separate(inner)
            return parts and (_difference(make_literal(0), parts[0]), _difference(make_literal(0), parts[1]))
        case Operator.MULTIPLY, (LiteralTerm() as factor, inner):
            parts = _separate(inner)
            return parts and (
                make_operation(term.operator, factor, parts[0]),
                make_operation(term.operator, factor, parts[1]),
            )
        case ((Operator.MULTIPLY | Operator.DIVIDE), (inner, LiteralTerm() as factor)):
            parts = _separate(inner)
            return parts and (
                make_operation(term.operator, parts[0], factor),
                make_operation(term.operator, parts[1], factor),
            )
        case _:
            return None


def _sum(left: Term, right: Term) -> Term:
    zero = make_literal(0)
    return right if left == zero else left if right == zero else make_operation(Operator.ADD, left, right)


def _difference(left: Term, right: Term) -> Term:
    zero = make_literal(0)
    if right == zero:
        return left
    return make_operation(Operator.NEGATE, right) if left == zero else make_operation(Operator.SUBTRACT, left, right)
