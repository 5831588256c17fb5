"""Syntax diagnostics of C-RASP, derived from those of temporal logic."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from softmachine.languages.temporal.mistakes import QUOTE, SYMBOLS
from softmachine.languages.temporal.mistakes import explain as explain_temporal
from softmachine.languages.text.mistakes import Case, Explainer, Mistake, place_of
from softmachine.support.text import clipped

if TYPE_CHECKING:
    from collections.abc import Collection

    from lark import Token

COUNTS = "write a count as #[Q_a]; a comment begins at the start of a line or after two spaces"
COMPARISONS = "compare counts and numbers, as in #[Q_a] <= 3; join two comparisons with and"


def unknown_name(token: Token, known: Collection[str], tokens: Collection[str]) -> Mistake:
    """The diagnostic of an undefined name."""
    name = clipped(token)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    if name in tokens:
        hint = f"write Q_{name} for the symbol {name}"
    elif close:
        hint = f"did you mean {close[0]}?"
    else:
        hint = f"define it in an earlier line, as in {name} := #[Q_a]; write Q_{name} for a symbol"
    return Mistake(f"undefined name {name!r}", *place_of(token), hint)


explain = Explainer(
    whole="the statement",
    quote=(QUOTE, SYMBOLS),
    character="unexpected character {}",
    character_hints={"#": COUNTS, "←": COUNTS, "": SYMBOLS},
    kinds={"NOT": "a formula or a term", "INTEGER": "a count or a number"},
    covered={"a formula or a term": "PLUS", "a count or a number": "PLUS"},
    spelled={
        "AND": "an operator such as 'and'", "PLUS": "a sign such as '+'", "RELATION": "a comparison such as '<='",
        "LPAR": "'('", "LSQB": "'['", "COMMA": "','", "COLON": "':'", "RPAR": "')'", "RSQB": "']'", "$END": "the end",
    },
    expected=explain_temporal.expected,
    cases=(
        Case("RELATION", "", COMPARISONS),
        Case("IMPLIES", "RELATION", "write >= for 'at least'"),
        Case("COUNT TERM_NAME", "TIMES", "write a product with *, as in 2*#[Q_a]"),
        Case("TERM_NAME", "", "{token} is a term; compare it, as in {token} = 0"),
        Case("FORMULA_NAME", "", "{token} is a formula; write ({token} ? 1 : 0) for a number"),
        Case("$END AND OR IFF", "RELATION", COMPARISONS),
    ),
    as_hints=True,
    ending="$END",
    closing="RPAR RSQB",
)  # fmt: skip
