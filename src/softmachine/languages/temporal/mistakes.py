"""What to say about a formula that cannot be read: what is wrong, where (with a caret), and what is right."""

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
"""So many characters of a line are shown on either side of a mistake."""
QUOTE = "this quote is not closed on its line"
SYMBOLS = "a symbol a is written Q_a, and one with other characters than letters and digits in quotes: '('"
COMPARISONS = "counts and numbers compare, as in #<[Q_a] <= 3; join two comparisons with and"
COUNTS = (
    "a count is written #<[Q_a] or #>[Q_a]; a comment begins at the start of a line or after two blanks, "
    "and not with #["
)


def error_of(mistake: Mistake, text: str, source: str) -> SourceError:
    """The error to raise for a mistake in a text that comes from this source."""
    shown = excerpt(text, mistake.line, mistake.column)
    message = f"{mistake.message}\n{shown}" if shown.strip(" \n^") else mistake.message
    return SourceError(message, place=Place(source, mistake.line, mistake.column), hint=mistake.hint)


def excerpt(text: str, line: int, column: int) -> str:
    """A line of a text, or the part of it around a column, and below it a caret at the column."""
    content = text.split("\n")[line - 1].rstrip("\r")
    start, end = max(0, column - 1 - WIDTH), column - 1 + WIDTH
    before = ("…" if start else "") + content[start : column - 1]
    after = content[column - 1 : end] + ("…" if end < len(content) else "")
    # As many blanks as the text before is wide in a terminal.
    return f"    {_visible(before + after)}\n    {' ' * sum(map(columns, before))}^"


def _visible(text: str) -> str:
    return "".join(character if character.isprintable() else " " if character == "\t" else "�" for character in text)


def unknown_name(token: Token) -> Mistake:
    """A word that means nothing where it stands."""
    name = clipped(token)
    close = get_close_matches(name.lower(), [*sorted(RESERVED), *predicate_names()], n=1, cutoff=0.75)
    if name == "i":
        hint = "only predicates speak of the position i, as in odd(i)"
    elif name in predicate_names():
        hint = f"a predicate is one of the position or of a count, as in {name}(i) or {name}(#<[Q_a])"
    elif len(name) > 1 and set(name) <= set("YXOHFG"):
        hint = f"put blanks between operators: {' '.join(name)}"
    elif name == "xor":
        hint = "either p or q is written not (p <-> q)"
    elif close:
        hint = f"did you mean {close[0]}? A symbol is written Q_{name}"
    else:
        hint = f"to say that the symbol here is {name}, write Q_{name}"
    return Mistake(f"{name!r} means nothing here", *place_of(token), hint)


def bare_q(token: Token) -> Mistake:
    """``Q_`` without a symbol."""
    return Mistake("Q_ needs the name of a symbol", *place_of(token), SYMBOLS)


def _no_formula_or_name(stuck: Stuck) -> Mistake | None:
    """No formula at all, or a word that means nothing, at the place or before it."""
    previous = stuck.stack[-1] if stuck.stack else None
    if stuck.ended and not stuck.stack:
        return Mistake("there is no formula here", 1, 1, "a formula is like Q_a since Q_b, or #<[Q_a] = 2*#<[Q_b]")
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
    character="{} does not belong into a formula",
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
        Case("IMPLIES", "RELATION", "'at least' is written >="),
        Case("LEFT RIGHT", "TIMES", "write a product with *, as in 2*#<[Q_a]"),
        Case("$END", "RELATION", COMPARISONS),
    ),
    as_hints=True,
    ending="$END",
    closing="RPAR RSQB",
)  # fmt: skip
