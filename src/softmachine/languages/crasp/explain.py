"""What is wrong where a body could not be read, in the words of the language."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from softmachine.languages.temporal import mistakes as temporal
from softmachine.languages.text.mistakes import Mistake, alternatives, clipped, end_of, place_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from lark import Token, UnexpectedCharacters
    from lark.parsers.lalr_interactive_parser import InteractiveParser

COUNTS = "a count is written #[Q_a]; a comment begins at the start of a line or after two blanks"
COMPARISONS = "counts and numbers compare, as in #[Q_a] <= 3; join two comparisons with and"
SPELLED = {
    "AND": "an operator such as 'and'", "PLUS": "a sign such as '+'", "RELATION": "a comparison such as '<='",
    "LPAR": "'('", "LSQB": "'['", "COMMA": "','", "COLON": "':'", "RPAR": "')'", "RSQB": "']'", "$END": "the end",
}  # fmt: skip


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
    return Mistake(f"{name!r} is not defined here", *place_of(token), hint)


def unexpected_character(error: UnexpectedCharacters, text: str) -> Mistake:
    """A character with which nothing begins that a body may have."""
    return temporal.unexpected_character(error, text, where="here", counts=COUNTS)


def unexpected_token(token: Token, reading: InteractiveParser, text: str) -> Mistake:
    """Something that may stand in a body, but not where the parser is."""
    accepts: set[str] = reading.accepts()  # type: ignore[no-untyped-call]
    unmatched = temporal.unmatched_bracket(token, reading.parser_state.value_stack, accepts)
    if unmatched:
        return unmatched
    ended = token.type == "$END"
    found = "it ends too early" if ended else f"{clipped(token)!r} cannot stand here"
    place = end_of(text) if ended else place_of(token)
    return Mistake(f"{found}: expected {_expected(accepts)}", *place, _hint(token, accepts))


def _expected(terminals: set[str]) -> str:
    """What may come, in words."""
    first = []
    if {"NOT", "INTEGER"} <= terminals:
        first = ["a formula or a term"]
    elif "NOT" in terminals:
        first = ["a formula"]
    elif "INTEGER" in terminals:
        first = ["a count or a number"]
    return alternatives(first, SPELLED, terminals - ({"PLUS"} if "INTEGER" in terminals else set()))


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
