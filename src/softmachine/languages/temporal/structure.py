"""Structure of formulas: symbols, operators, fragments, and the translation to core operators.

Specifications: a formula with the alphabet of its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

from softmachine.languages.linear import LinearExpression
from softmachine.languages.source import WordSource, find_name_problems, find_repetitions
from softmachine.languages.temporal import formula as tl
from softmachine.languages.temporal.formula import (
    Count,
    CountComparison,
    Formula,
    LeftCount,
    NumericalPredicate,
    Position,
    RightCount,
    format_formula,
    subformulas,
)
from softmachine.support.errors import InvalidError, SourceLocation
from softmachine.support.notebook_html import html_table


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """The conjunction of any number of formulas; true if there are none."""
    operands = tuple(formulas)
    return tl.And(operands) if len(operands) > 1 else operands[0] if operands else tl.TRUE


def disjunction(formulas: Iterable[Formula]) -> Formula:
    """The disjunction of any number of formulas; false if there are none."""
    operands = tuple(formulas)
    return tl.Or(operands) if len(operands) > 1 else operands[0] if operands else tl.FALSE


def find_symbols(formula: Formula) -> tuple[str, ...]:
    """The symbols of a formula, in the order of first occurrence."""
    return tuple(part.symbol for part in subformulas(formula) if isinstance(part, tl.Symbol))


class TemporalOperator(StrEnum):
    """Operators other than symbols and Boolean connectives, with the names of the literature."""

    PREVIOUS = "⊖"
    NEXT = "⊕"
    SINCE = "since"
    UNTIL = "until"
    FIRST = "first"
    LAST = "last"
    LEFT_COUNT = "#←"
    RIGHT_COUNT = "#→"
    COMPARISON = "+"
    POSITION_PREDICATE = "Mon(i)"
    COUNT_PREDICATE = "Mon(#)"
    LENGTH = "θ_n"


FUTURE = frozenset(
    {
        TemporalOperator.NEXT,
        TemporalOperator.UNTIL,
        TemporalOperator.LAST,
        TemporalOperator.RIGHT_COUNT,
        TemporalOperator.LENGTH,
    }
)
"""The operators that depend on later positions, or on the length of the word."""
OPERATOR_OF_TYPE: dict[type[Formula], TemporalOperator] = {
    tl.Previous: TemporalOperator.PREVIOUS,
    tl.Next: TemporalOperator.NEXT,
    tl.First: TemporalOperator.FIRST,
    tl.Last: TemporalOperator.LAST,
    tl.Since: TemporalOperator.SINCE,
    tl.Once: TemporalOperator.SINCE,
    tl.Historically: TemporalOperator.SINCE,
    tl.Until: TemporalOperator.UNTIL,
    tl.Eventually: TemporalOperator.UNTIL,
    tl.Always: TemporalOperator.UNTIL,
}
"""The operator of every node type; derived operators map to the one that they abbreviate."""


@dataclass(frozen=True)
class Fragment:
    """A fragment of the logic: formulas with these operators only. Derived operators count as what they abbreviate."""

    operators: frozenset[TemporalOperator]

    @property
    def is_past_only(self) -> bool:
        """Whether the value at a position is independent of later positions, as in a future-masked transformer."""
        return not self.operators & FUTURE

    def __str__(self) -> str:
        return f"TL[{', '.join(operator for operator in TemporalOperator if operator in self.operators)}]"


def find_fragment(formula: Formula) -> Fragment:
    """The smallest fragment that contains a formula."""
    return Fragment(frozenset().union(*(operators_of_node(part) for part in subformulas(formula))))


def operators_of_node(formula: Formula) -> frozenset[TemporalOperator]:
    """The operators of a node, without those of its parts."""
    match formula:
        case CountComparison(left, _, right):
            return frozenset(
                {TemporalOperator.COMPARISON, *(_count_operator(count) for _, count in left.terms + right.terms)}
            )
        case NumericalPredicate(argument=number):
            own = {TemporalOperator.LENGTH} if formula.depends_on_length else set()
            if isinstance(number, Position):
                return frozenset({TemporalOperator.POSITION_PREDICATE, *own})
            return frozenset({TemporalOperator.COUNT_PREDICATE, _count_operator(number), *own})
        case _:
            return frozenset({OPERATOR_OF_TYPE[type(formula)]} if type(formula) in OPERATOR_OF_TYPE else ())


def _count_operator(count: Count) -> TemporalOperator:
    return TemporalOperator.LEFT_COUNT if isinstance(count, LeftCount) else TemporalOperator.RIGHT_COUNT


def to_core(formula: Formula) -> Formula:
    """Translate a formula to core operators.

    The result is equivalent and has only atoms, not, and, or, prev, next, since and until (in the standard reading),
    comparisons and predicates.
    """
    done: dict[Formula, Formula] = {}
    for part in subformulas(formula):
        done[part] = _to_core(part, done)
    return done[formula]


def _to_core(formula: Formula, done: dict[Formula, Formula]) -> Formula:
    """Translate a node, given the translations of its parts."""

    def linear(side: LinearExpression[Count]) -> LinearExpression[Count]:
        return LinearExpression(
            tuple((factor, type(count)(done[count.formula])) for factor, count in side.terms), side.constant
        )

    match formula:
        case tl.Not(of) | tl.Previous(of) | tl.Next(of):
            return type(formula)(done[of])
        case tl.And(operands) | tl.Or(operands):
            return type(formula)(tuple(done[operand] for operand in operands))
        case tl.Implies(left, right):
            return tl.Or((tl.Not(done[left]), done[right]))
        case tl.Iff(left, right):
            one, two = done[left], done[right]
            return tl.Or((tl.And((one, two)), tl.And((tl.Not(one), tl.Not(two)))))
        case tl.Since(left, right, reading) | tl.Until(left, right, reading):
            one, two = done[left], done[right]
            # In the paper's reading the first argument must also hold at the witness.
            return type(formula)(one, tl.And((one, two)) if reading is tl.WitnessSemantics.PAPER else two)
        case tl.Once(of):
            return tl.Since(tl.TRUE, done[of])
        case tl.Eventually(of):
            return tl.Until(tl.TRUE, done[of])
        case tl.Historically(of):
            return tl.Not(tl.Since(tl.TRUE, tl.Not(done[of])))
        case tl.Always(of):
            return tl.Not(tl.Until(tl.TRUE, tl.Not(done[of])))
        case CountComparison(left, relation, right):
            return CountComparison(linear(left), relation, linear(right))
        case NumericalPredicate(name, LeftCount() | RightCount() as count, parameters):
            return NumericalPredicate(name, type(count)(done[count.formula]), parameters)
        case _:
            return formula


@dataclass(frozen=True, kw_only=True)
class Specification(WordSource):
    """A formula over an alphabet: the language of the words that satisfy it.

    Args:
        name: Name of the specification.
        formula: The formula.
        alphabet: The alphabet of the words; a superset of the symbols of the formula.
        place: Where it was defined.
    """

    language: ClassVar[str] = "temporal"
    default_input: ClassVar[tuple[str, ...]] = ()
    empty_alphabet_note: ClassVar[str] = "empty; list its symbols in a first line, as in: alphabet a b"
    name: str
    formula: Formula
    alphabet: tuple[str, ...]
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = find_name_problems((self.name, *self.alphabet)) or list(_find_problems(self))
        if problems:
            raise InvalidError(f"temporal formula {self.name!r}", problems, place=self.place)

    def with_symbols(self, symbols: Iterable[str]) -> Specification:
        """The same formula over an alphabet with additional symbols."""
        return replace(self, alphabet=tuple(dict.fromkeys((*self.alphabet, *symbols))))

    def __str__(self) -> str:
        text = format_formula(self.formula, unicode=True)
        what = "temporal formula" if self.name in (text, str(self.formula)) else f"temporal formula {self.name}"
        return f"{what}: {text}, over {' '.join(self.alphabet) or 'the empty alphabet'}"

    def _repr_html_(self) -> str:
        rows = (
            ("formula", format_formula(self.formula, unicode=True)),
            ("alphabet", " ".join(self.alphabet) or "empty"),
            ("fragment", str(find_fragment(self.formula))),
        )
        return html_table(rows, f"temporal formula {self.name}")


def _find_problems(specification: Specification) -> Iterator[str]:
    """All problems of a specification, one sentence each."""
    if "" in specification.alphabet:
        yield "the alphabet has an empty symbol; a symbol has at least one character"
    yield from find_repetitions(specification.alphabet, "symbol {!r} is listed {} times in the alphabet")
    for symbol in find_symbols(specification.formula):
        if symbol not in specification.alphabet:
            yield f"symbol {symbol!r} of the formula is not in the alphabet; add it"
