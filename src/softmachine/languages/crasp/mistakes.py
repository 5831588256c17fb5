"""What is wrong where a body could not be read, in the words of the language; much is as in temporal logic."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from softmachine.languages.temporal import mistakes as temporal
from softmachine.languages.text.mistakes import Case, Mistake, place_of
from softmachine.support.text import clipped

if TYPE_CHECKING:
    from collections.abc import Collection

    from lark import Token

COUNTS = "a count is written #[Q_a]; a comment begins at the start of a line or after two blanks"
COMPARISONS = "counts and numbers compare, as in #[Q_a] <= 3; join two comparisons with and"


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


explain = replace(
    temporal.explain,
    whole="it",
    first=lambda _: None,
    character="{} does not belong here",
    character_hints={"#": COUNTS, "←": COUNTS, "": temporal.SYMBOLS},
    kinds={"NOT": "a formula or a term", "INTEGER": "a count or a number"},
    covered={"a formula or a term": "PLUS", "a count or a number": "PLUS"},
    spelled={
        "AND": "an operator such as 'and'", "PLUS": "a sign such as '+'", "RELATION": "a comparison such as '<='",
        "LPAR": "'('", "LSQB": "'['", "COMMA": "','", "COLON": "':'", "RPAR": "')'", "RSQB": "']'", "$END": "the end",
    },
    cases=(
        Case("RELATION", "", COMPARISONS),
        Case("IMPLIES", "RELATION", "'at least' is written >="),
        Case("COUNT TERM_NAME", "TIMES", "write a product with *, as in 2*#[Q_a]"),
        Case("TERM_NAME", "", "{token} is a term, so compare it, as in {token} = 0"),
        Case("FORMULA_NAME", "", "{token} is a formula; as a number it is written ({token} ? 1 : 0)"),
        Case("$END AND OR IFF", "RELATION", COMPARISONS),
    ),
)  # fmt: skip
