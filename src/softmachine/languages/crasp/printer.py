"""Printer of C-RASP programs: text, and HTML tables for notebooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from softmachine.languages.crasp.terms import Conditional, Count, Maximum, Minimum, NamedTerm, Number, Term, formulas_in
from softmachine.languages.linear import Linear, linear_text
from softmachine.languages.temporal.formula import subformulas
from softmachine.languages.temporal.printer import ASCII, Level, Writer, quoted
from softmachine.support.notebook_html import html_table

if TYPE_CHECKING:
    from softmachine.languages.crasp.program import Program
    from softmachine.languages.temporal.formula import Formula

WIDEST_HEAD = 16


def to_text(program: Program) -> str:
    """Format a program. `parse` is the inverse."""
    names = (entry.name for entry in program.definitions)
    width = min(
        WIDEST_HEAD, max((len(head) for head in (*names, *(_token(rule.token) for rule in program.rules))), default=0)
    )
    lines = [
        f"program {_token(program.name)}",
        f"alphabet {' '.join(_token(letter) for letter in program.alphabet)}",
        *(f"{entry.name:{width}} := {body_text(entry.body)}" for entry in program.definitions),
        *(f"{_token(rule.token):{width}} <- {body_text(rule.body)}" for rule in program.rules),
    ]
    if program.accept is not None:
        lines.append(f"accept {body_text(program.accept)}")
    return "\n".join(lines) + "\n"


def body_text(body: Formula | Term) -> str:
    """Format a formula or a term."""
    if not isinstance(body, Linear):
        return str(body)
    writer = Writer(ASCII)
    for formula in formulas_in(body):
        for part in subformulas(formula):
            writer.write(part)
    return write_term(body, writer)


def write_term(term: Term, writer: Writer) -> str:
    """Format a term whose formulas have been written already."""
    return linear_text(term, lambda number: _number(number, writer))


def _number(number: Number, writer: Writer) -> str:
    match number:
        case Count(of, relation):
            return f"#{relation or ''}[{writer.inside(of, Level.IFF)}]"
        case NamedTerm(name):
            return name
        case Conditional(condition, then, otherwise):
            branches = f"{write_term(then, writer)} : {write_term(otherwise, writer)}"
            return f"({writer.inside(condition, Level.IFF)} ? {branches})"
        case Minimum(of):
            return f"min({', '.join(write_term(each, writer) for each in of)})"
        case Maximum(of):
            return f"max({', '.join(write_term(each, writer) for each in of)})"


def _token(token: str) -> str:
    """Format a token, in quotes if necessary."""
    return token if re.fullmatch(r"\w+", token) else quoted(token)


def program_table(program: Program) -> str:
    """HTML table of the definitions, rules and acceptance formula, one per row."""
    rows = [(entry.name, ":=", body_text(entry.body)) for entry in program.definitions]
    rows += [(rule.token, "←", body_text(rule.body)) for rule in program.rules]
    if program.accept is not None:
        rows.append(("accept", "", body_text(program.accept)))
    return html_table(rows, f"C-RASP program {program.name} over {' '.join(program.alphabet)}")
