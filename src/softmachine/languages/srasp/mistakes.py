"""What is wrong where a definition could not be read, in the words of the language."""

from __future__ import annotations

import re

from softmachine.languages.source import LARGEST_SOURCE
from softmachine.languages.text.mistakes import Case, Explainer, Mistake, Stuck, place_of

READ = re.compile(r"\w\s*\(\s*[ij]\s*$")
ELSEWHERE = "vectors are read at i or j and nowhere else; the position before i is found by 'rightmost j < i'"


def _word_of_the_language(stuck: Stuck) -> Mistake | None:
    if stuck.accepts != {"NAME"} or not stuck.token.isalpha():
        return None
    message = f"{str(stuck.token)!r} is a word of the language; call the vector something else"
    return Mistake(message, *place_of(stuck.token))


explain = Explainer(
    whole="the definition",
    first=_word_of_the_language,
    quote=("this quote is never closed", "a symbol is written like 'a'"),
    character="the character {} means nothing here",
    only={
        "LPAR": "a vector is written with its position, like depth(i)",
        "I J": "a vector is read at i or at j",
        "NAME": "a definition is written like depth(i) = …",
    },
    kinds={"NAME INTEGER QUOTED LPAR": "an expression", "PLUS MINUS": "an operator", "QUOTED": "a symbol like 'a'"},
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
    continued=" (a line that is indented deeper goes on with the one before)",
)  # fmt: skip
