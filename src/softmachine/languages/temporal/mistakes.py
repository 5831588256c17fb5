"""Syntax diagnostics of formulas."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from softmachine.languages.temporal.predicates import RESERVED, predicate_names
from softmachine.languages.text.mistakes import Case, Explainer, Mistake, Stuck, place_of
from softmachine.languages.text.problems import columns
from softmachine.support.errors import Place, SourceError
from softmachine.support.text import clipped

if TYPE_CHECKING:
    from lark import Token

WIDTH = 60
"""Maximum number of characters of the line in an excerpt, on either side of the error."""
QUOTE = "unterminated quote"
SYMBOLS = "write Q_a for the symbol a; quote symbols with characters other than letters and digits, as in '('"
COMPARISONS = "compare counts and numbers, as in #<[Q_a] <= 3; join two comparisons with and"
COUNTS = (
    "write a count as #<[Q_a] or #>[Q_a]; a comment begins at the start of a line or after two spaces, and not with #["
)


def error_of(mistake: Mistake, text: str, source: str) -> SourceError:
    """The exception for a syntax error in a text, with an excerpt."""
    shown = excerpt(text, mistake.line, mistake.column)
    message = f"{mistake.message}\n{shown}" if shown.strip(" \n^") else mistake.message
    return SourceError(message, place=Place(source, mistake.line, mistake.column), hint=mistake.hint)


def excerpt(text: str, line: int, column: int) -> str:
    """The part of a line around a column, and below it a caret at the column."""
    content = text.split("\n")[line - 1].rstrip("\r")
    start, end = max(0, column - 1 - WIDTH), column - 1 + WIDTH
    before = ("…" if start else "") + content[start : column - 1]
    after = content[column - 1 : end] + ("…" if end < len(content) else "")
    # The caret is indented by the width of the text before it in a terminal.
    return f"    {_visible(before + after)}\n    {' ' * sum(map(columns, before))}^"


def _visible(text: str) -> str:
    return "".join(character if character.isprintable() else " " if character == "\t" else "�" for character in text)


def unknown_name(token: Token) -> Mistake:
    """The diagnostic of an unknown name."""
    name = clipped(token)
    close = get_close_matches(name.lower(), [*sorted(RESERVED), *predicate_names()], n=1, cutoff=0.75)
    if name == "i":
        hint = "the position i occurs only in predicates, as in odd(i)"
    elif name in predicate_names():
        hint = f"a predicate takes the position or a count, as in {name}(i) or {name}(#<[Q_a])"
    elif len(name) > 1 and set(name) <= set("YXOHFG"):
        hint = f"put spaces between operators: {' '.join(name)}"
    elif name == "xor":
        hint = "write not (p <-> q) for exclusive or"
    elif close:
        hint = f"did you mean {close[0]}? Write Q_{name} for the symbol {name}"
    else:
        hint = f"write Q_{name} for the symbol {name}"
    return Mistake(f"unknown name {name!r}", *place_of(token), hint)


def bare_q(token: Token) -> Mistake:
    """The diagnostic of ``Q_`` without a symbol."""
    return Mistake("expected a symbol after Q_", *place_of(token), SYMBOLS)


def _no_formula_or_name(stuck: Stuck) -> Mistake | None:
    """The diagnostic of an empty text, or of an unknown name at the error or before it."""
    previous = stuck.stack[-1] if stuck.stack else None
    if stuck.ended and not stuck.stack:
        return Mistake("expected a formula", 1, 1, "write, for example, Q_a since Q_b, or #<[Q_a] = 2*#<[Q_b]")
    if previous is not None and previous.type == "BARE_Q":
        return bare_q(previous)
    if previous is not None and previous.type == "NAME" and "RPAR" not in stuck.accepts:
        return unknown_name(previous)
    if stuck.token.type == "NAME" and not stuck.accepts & {"NOT", "INTEGER"}:
        return unknown_name(stuck.token)
    return None


def _expected(words: list[str]) -> str:
    return "expected " + " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


explain = Explainer(
    whole="the formula",
    first=_no_formula_or_name,
    quote=(QUOTE, SYMBOLS),
    character="unexpected character {}",
    character_hints={"#": COUNTS, "←": COUNTS, "": SYMBOLS},
    kinds={
        "NOT": "a formula",
        "LEFT NAME": "i or a count",
        "LEFT": "a count or a number",
        "INTEGER": "a number",
    },
    spelled={
        "AND": "an operator such as 'and'", "RELATION": "a comparison such as '<='", "LPAR": "'('", "LSQB": "'['",
        "COMMA": "','", "RPAR": "')'", "RSQB": "']'", "$END": "the end",
    },
    expected=_expected,
    cases=(
        Case("RELATION", "", COMPARISONS),
        Case("IMPLIES", "RELATION", "write >= for 'at least'"),
        Case("LEFT RIGHT", "TIMES", "write a product with *, as in 2*#<[Q_a]"),
        Case("$END", "RELATION", COMPARISONS),
    ),
    as_hints=True,
    ending="$END",
    closing="RPAR RSQB",
)  # fmt: skip
