"""Syntax diagnostics of S-RASP."""

from __future__ import annotations

import re

from softmachine.languages.source import LARGEST_SOURCE
from softmachine.languages.text.mistakes import Case, Explainer, Mistake, Stuck, place_of

READ = re.compile(r"\w\s*\(\s*[ij]\s*$")
ELSEWHERE = "vectors can be read at i or j only; select the position before i by 'rightmost j < i'"


def _word_of_the_language(stuck: Stuck) -> Mistake | None:
    if stuck.accepts != {"NAME"} or not stuck.token.isalpha():
        return None
    message = f"{str(stuck.token)!r} is a keyword; rename the vector"
    return Mistake(message, *place_of(stuck.token))


explain = Explainer(
    whole="the definition",
    first=_word_of_the_language,
    quote=("unterminated quote", "write a symbol as 'a'"),
    character="unexpected character {}",
    only={
        "LPAR": "write a vector with its position, as in depth(i)",
        "I J": "expected 'i' or 'j'",
        "NAME": "write a definition as in depth(i) = …",
    },
    kinds={"NAME INTEGER QUOTED LPAR": "an expression", "PLUS MINUS": "an operator", "QUOTED": "a symbol such as 'a'"},
    covered={
        "an expression": "IN",
        "an operator": "AND OR IN EQUAL SAME UNEQUAL LESS AT_MOST GREATER AT_LEAST",
    },
    spelled={
        "UNEQUAL": "'!='", "RPAR": "')'", "COMMA": "','", "COLON": "':'", "LESS": "'<'", "AT_MOST": "'<='",
        "EQUAL": "'='", "SAME": "'=='", "GREATER": "'>'", "AT_LEAST": "'>='", "AND": "'and'", "ELSE": "'else'",
        "I": "'i'", "IF": "'if'", "IN": "'in'", "J": "'j'", "OR": "'or'", "WHERE": "'where'", "LBRACE": "'{'",
        "RBRACE": "'}'", "$END": "the end of the definition",
    },
    cases=(
        Case("PLUS MINUS", "RPAR", ELSEWHERE, after=READ),
        Case(
            "EQUAL SAME UNEQUAL LESS AT_MOST GREATER AT_LEAST",
            "AND",
            "a comparison has two sides; join comparisons with 'and'",
        ),
    ),
    longest=LARGEST_SOURCE,
    continued=" (a more deeply indented line continues the previous one)",
)  # fmt: skip
