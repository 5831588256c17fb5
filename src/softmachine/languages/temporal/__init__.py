"""Temporal logic with counting: formulas, parser, printer and semantics."""

from softmachine.languages.linear import Linear, Relation
from softmachine.languages.temporal.formula import (
    FALSE,
    TRUE,
    Always,
    And,
    Comparison,
    Constant,
    Count,
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
    Once,
    Or,
    Position,
    Predicate,
    Previous,
    Reading,
    RightCount,
    Since,
    Symbol,
    Until,
    subformulas,
)
from softmachine.languages.temporal.interpreter import satisfies, truth
from softmachine.languages.temporal.parser import parse, parse_formula, to_text
from softmachine.languages.temporal.predicates import predicate
from softmachine.languages.temporal.specification import Specification
from softmachine.languages.temporal.structure import (
    Fragment,
    Operator,
    conjunction,
    core,
    disjunction,
    fragment,
    operators,
    symbols,
)

__all__ = [
    "Formula", "Symbol", "Constant", "TRUE", "FALSE", "First", "Last",
    "Not", "And", "Or", "Implies", "Iff",
    "Previous", "Next", "Since", "Until", "Reading", "Once", "Historically", "Eventually", "Always",
    "Comparison", "Relation", "Linear", "Count", "LeftCount", "RightCount",
    "Predicate", "Position", "predicate",
    "conjunction", "disjunction", "core", "subformulas", "symbols",
    "Fragment", "Operator", "fragment", "operators",
    "Specification", "parse", "parse_formula", "to_text",
    "truth", "satisfies",
]  # fmt: skip
