"""What to say about a formula that cannot be read: what is wrong, where (with a caret), and what is right."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from softmachine.errors import Place, SourceError
from softmachine.languages.temporal.predicates import RESERVED, predicate_names
from softmachine.languages.text.mistakes import Mistake, alternatives, clipped, never_closed, open_brackets, place_of
from softmachine.languages.text.problems import columns

if TYPE_CHECKING:
    from lark import Token, UnexpectedCharacters, UnexpectedToken

WIDTH = 60
"""So many characters of a line are shown on either side of a mistake."""
SYMBOLS = "a symbol a is written Q_a, and one with other characters than letters and digits in quotes: '('"
COMPARISONS = "counts and numbers compare, as in #<[Q_a] <= 3; join two comparisons with and"
COUNTS = (
    "a count is written #<[Q_a] or #>[Q_a]; a comment begins at the start of a line or after two blanks, "
    "and not with #["
)
SPELLED = {
    "AND": "an operator such as 'and'", "RELATION": "a comparison such as '<='", "LPAR": "'('", "LSQB": "'['",
    "COMMA": "','", "RPAR": "')'", "RSQB": "']'", "$END": "the end",
}  # fmt: skip


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
    return f"    {_visible(before)}{_visible(after)}\n    {_blank(before)}^"


def _visible(text: str) -> str:
    return "".join(character if character.isprintable() else " " if character == "\t" else "�" for character in text)


def _blank(text: str) -> str:
    """As many blanks as the text is wide in a terminal."""
    return " " * sum(map(columns, text))


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


def unexpected_character(
    error: UnexpectedCharacters, text: str, *, where: str = "into a formula", counts: str = COUNTS
) -> Mistake:
    """A character with which nothing begins that may stand there; ``counts`` says how counts are written."""
    character = text[error.pos_in_stream or 0]
    if character in "'\"":
        return Mistake("this quote is not closed on its line", error.line, error.column, SYMBOLS)
    hint = counts if character in "#←" else SYMBOLS
    return Mistake(f"{character!r} does not belong {where}", error.line, error.column, hint)


def unexpected_token(error: UnexpectedToken) -> Mistake:
    """Something that may stand in a formula, but not there."""
    token = error.token
    stack = error.interactive_parser.parser_state.value_stack if error.interactive_parser else []
    previous = next(iter(reversed(stack)), None)
    kind = getattr(previous, "type", None)
    ended = token.type == "$END"
    if ended and not stack:
        return Mistake("there is no formula here", 1, 1, "a formula is like Q_a since Q_b, or #<[Q_a] = 2*#<[Q_b]")
    if previous is not None and kind == "BARE_Q":
        return Mistake("Q_ needs the name of a symbol", *place_of(previous), SYMBOLS)
    if previous is not None and kind == "NAME" and "RPAR" not in error.accepts:
        return unknown_name(previous)
    if token.type == "NAME" and "NOT" not in error.accepts and "INTEGER" not in error.accepts:
        return unknown_name(token)
    unmatched = unmatched_bracket(token, stack, error.accepts)
    if unmatched:
        return unmatched
    place = (token.end_line or 1, token.end_column or 1) if ended else place_of(token)
    found = "the formula ends too early" if ended else f"{clipped(token)!r} cannot stand here"
    return Mistake(f"{found}: expected {_expected(error.accepts)}", *place, _hint(token, error.accepts))


def unmatched_bracket(token: Token, stack: Sequence[Any], accepts: set[str]) -> Mistake | None:
    """A bracket that is never closed, or that closes none, if that is what is wrong at a token."""
    brackets = open_brackets(stack)
    if token.type == "$END" and brackets and {"RPAR", "RSQB"} & accepts:
        return never_closed(brackets[-1])
    if token.type in ("RPAR", "RSQB") and not brackets:
        return Mistake("there is no open bracket for this one to close", *place_of(token))
    return None


def _expected(terminals: set[str]) -> str:
    """What may come, in words."""
    first = []
    if "NOT" in terminals:
        first = ["a formula"]
    elif "LEFT" in terminals and "NAME" in terminals:
        first = ["i or a count"]
    elif "LEFT" in terminals:
        first = ["a count or a number"]
    elif "INTEGER" in terminals:
        first = ["a number"]
    return alternatives(first, SPELLED, terminals)


def _hint(token: Token, accepts: set[str]) -> str | None:
    """What may have been meant."""
    if token.type == "RELATION":
        return COMPARISONS
    if token.type == "IMPLIES" and "RELATION" in accepts:
        return "'at least' is written >="
    if token.type in ("LEFT", "RIGHT") and "TIMES" in accepts:
        return "write a product with *, as in 2*#<[Q_a]"
    if token.type == "$END" and "RELATION" in accepts:
        return COMPARISONS
    return None
