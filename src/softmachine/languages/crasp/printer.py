"""Printer of C-RASP programs: text, and HTML tables for notebooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from softmachine.languages.crasp.terms import (
    AtomicTerm,
    Conditional,
    Count,
    Maximum,
    Minimum,
    NamedTerm,
    Term,
    find_formulas,
)
from softmachine.languages.linear import LinearExpression, format_linear
from softmachine.languages.temporal.formula import subformulas
from softmachine.languages.temporal.printer import ASCII, FormulaWriter, Level, quote_symbol
from softmachine.support.notebook_html import html_table

if TYPE_CHECKING:
    from softmachine.languages.crasp.program import CraspProgram
    from softmachine.languages.temporal.formula import Formula

MAX_HEAD_WIDTH = 16


def to_text(program: CraspProgram) -> str:
    """Format a program. `parse` is the inverse."""
    names = (entry.name for entry in program.definitions)
    width = min(
        MAX_HEAD_WIDTH,
        max((len(head) for head in (*names, *(_format_token(rule.token) for rule in program.rules))), default=0),
    )
    lines = [
        f"program {_format_token(program.name)}",
        f"alphabet {' '.join(_format_token(letter) for letter in program.alphabet)}",
        *(f"{entry.name:{width}} := {format_body(entry.body)}" for entry in program.definitions),
        *(f"{_format_token(rule.token):{width}} <- {format_body(rule.body)}" for rule in program.rules),
    ]
    if program.accept is not None:
        lines.append(f"accept {format_body(program.accept)}")
    return "\n".join(lines) + "\n"


def format_body(body: Formula | Term) -> str:
    """Format a formula or a term."""
    if not isinstance(body, LinearExpression):
        return str(body)
    writer = FormulaWriter(ASCII)
    for formula in find_formulas(body):
        for part in subformulas(formula):
            writer.write(part)
    return format_term(body, writer)


def format_term(term: Term, writer: FormulaWriter) -> str:
    """Format a term whose formulas have been written already."""
    return format_linear(term, lambda number: _format_atom(number, writer))


def _format_atom(number: AtomicTerm, writer: FormulaWriter) -> str:
    match number:
        case Count(of, relation):
            return f"#{relation or ''}[{writer.parenthesise(of, Level.IFF)}]"
        case NamedTerm(name):
            return name
        case Conditional(condition, then, otherwise):
            branches = f"{format_term(then, writer)} : {format_term(otherwise, writer)}"
            return f"({writer.parenthesise(condition, Level.IFF)} ? {branches})"
        case Minimum(of):
            return f"min({', '.join(format_term(each, writer) for each in of)})"
        case Maximum(of):
            return f"max({', '.join(format_term(each, writer) for each in of)})"


def _format_token(token: str) -> str:
    """Format a token, in quotes if necessary."""
    return token if re.fullmatch(r"\w+", token) else quote_symbol(token)


def program_table(program: CraspProgram) -> str:
    """HTML table of the definitions, rules and acceptance formula, one per row."""
    rows = [(entry.name, ":=", format_body(entry.body)) for entry in program.definitions]
    rows += [(rule.token, "←", format_body(rule.body)) for rule in program.rules]
    if program.accept is not None:
        rows.append(("accept", "", format_body(program.accept)))
    return html_table(rows, f"C-RASP program {program.name} over {' '.join(program.alphabet)}")
