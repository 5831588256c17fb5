"""What is wrong where a body could not be read, in the words of the language."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from softmachine.languages.temporal.mistakes import Mistake, clipped

if TYPE_CHECKING:
    from collections.abc import Collection

    from lark import Token, UnexpectedCharacters
    from lark.parsers.lalr_interactive_parser import InteractiveParser

SYMBOLS = "a symbol a is written Q_a, and one with other characters than letters and digits in quotes: '('"
COUNTS = "a count is written #[Q_a]; a comment begins at the start of a line or after two blanks"
COMPARISONS = "counts and numbers compare, as in #[Q_a] <= 3; join two comparisons with and"
WORDS = (("LPAR", "'('"), ("LSQB", "'['"), ("COMMA", "','"), ("COLON", "':'"), ("RPAR", "')'"), ("RSQB", "']'"))


def unknown_name(token: Token, known: Collection[str], tokens: Collection[str]) -> Mistake:
    """A name that is not defined."""
    name = clipped(token)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    if name in tokens:
        hint = f"to say that the symbol here is {name}, write Q_{name}"
    elif close:
        hint = f"did you mean {close[0]}?"
    else:
        hint = f"define it in a line before, as in {name} := #[Q_a]; a symbol is written Q_{name}"
    return Mistake(f"{name!r} is not defined here", token.line or 1, token.column or 1, hint)


def unexpected_character(error: UnexpectedCharacters, text: str) -> Mistake:
    """A character with which nothing begins that a body may have."""
    character = text[error.pos_in_stream or 0]
    if character in "'\"":
        return Mistake("this quote is not closed on its line", error.line, error.column, SYMBOLS)
    hint = COUNTS if character in "#←" else SYMBOLS
    return Mistake(f"{character!r} does not belong here", error.line, error.column, hint)


def unexpected_token(token: Token, reading: InteractiveParser, text: str) -> Mistake:
    """Something that may stand in a body, but not where the parser is."""
    stack = reading.parser_state.value_stack
    brackets = [entry for entry in stack if getattr(entry, "type", None) in ("LPAR", "LSQB")]
    accepts: set[str] = reading.accepts()  # type: ignore[no-untyped-call]
    if token.type == "$END":
        if brackets and {"RPAR", "RSQB"} & accepts:
            closing = {"LPAR": ")", "LSQB": "]"}[brackets[-1].type]
            place = brackets[-1].line or 1, brackets[-1].column or 1
            return Mistake("this bracket is never closed", *place, f"write {closing} where it ends")
        end = text.rstrip()
        place = end.count("\n") + 1, len(end) - end.rfind("\n")
        return Mistake(f"it ends too early: expected {_expected(accepts)}", *place, _hint(token, accepts))
    place = token.line or 1, token.column or 1
    if token.type in ("RPAR", "RSQB") and not brackets:
        return Mistake("there is no open bracket for this one to close", *place)
    return Mistake(
        f"{clipped(token)!r} cannot stand here: expected {_expected(accepts)}", *place, _hint(token, accepts)
    )


def _expected(terminals: set[str]) -> str:
    """What may come, in words."""
    words = []
    if {"NOT", "INTEGER"} <= terminals:
        words.append("a formula or a term")
    elif "NOT" in terminals:
        words.append("a formula")
    elif "INTEGER" in terminals:
        words.append("a count or a number")
    if "AND" in terminals:
        words.append("an operator such as 'and'")
    if "PLUS" in terminals and "INTEGER" not in terminals:
        words.append("a sign such as '+'")
    if "RELATION" in terminals:
        words.append("a comparison such as '<='")
    words += [word for terminal, word in WORDS if terminal in terminals and not (terminal == "LPAR" and words)]
    if "$END" in terminals:
        words.append("the end")
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _hint(token: Token, accepts: set[str]) -> str | None:
    """What may have been meant."""
    if token.type == "RELATION":
        return COMPARISONS
    if token.type == "IMPLIES" and "RELATION" in accepts:
        return "'at least' is written >="
    if token.type in ("COUNT", "TERM_NAME") and "TIMES" in accepts:
        return "write a product with *, as in 2*#[Q_a]"
    if token.type == "TERM_NAME":
        return f"{clipped(token)} is a term, so compare it, as in {clipped(token)} = 0"
    if token.type == "FORMULA_NAME":
        return f"{clipped(token)} is a formula; as a number it is written ({clipped(token)} ? 1 : 0)"
    if token.type in ("$END", "AND", "OR", "IFF") and "RELATION" in accepts:
        return COMPARISONS
    return None
