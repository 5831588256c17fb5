"""Temporal logic with counting: formulas, parser, printer and semantics."""

from softmachine.languages.linear import LinearExpression, Relation
from softmachine.languages.temporal.formula import (
    FALSE,
    TRUE,
    Always,
    And,
    BooleanConstant,
    Count,
    CountComparison,
    Eventually,
    First,
    Formula,
    Historically,
    Iff,
    Implies,
    Last,
    LeftCount,
    Next,
    Not,
    NumericalPredicate,
    Once,
    Or,
    Position,
    Previous,
    RightCount,
    Since,
    Symbol,
    Until,
    WitnessSemantics,
    subformulas,
)
from softmachine.languages.temporal.interpreter import satisfies, truth_values
from softmachine.languages.temporal.parser import parse, parse_formula, to_text
from softmachine.languages.temporal.predicates import predicate
from softmachine.languages.temporal.structure import (
    Fragment,
    Specification,
    TemporalOperator,
    conjunction,
    disjunction,
    find_fragment,
    find_symbols,
    operators_of_node,
    to_core,
)

__all__ = [
    "Formula", "Symbol", "BooleanConstant", "TRUE", "FALSE", "First", "Last",
    "Not", "And", "Or", "Implies", "Iff",
    "Previous", "Next", "Since", "Until", "WitnessSemantics", "Once", "Historically", "Eventually", "Always",
    "CountComparison", "Relation", "LinearExpression", "Count", "LeftCount", "RightCount",
    "NumericalPredicate", "Position", "predicate",
    "conjunction", "disjunction", "to_core", "subformulas", "find_symbols",
    "Fragment", "TemporalOperator", "find_fragment", "operators_of_node",
    "Specification", "parse", "parse_formula", "to_text",
    "truth_values", "satisfies",
]  # fmt: skip
